"""Attention computed by its parts, where one fused kernel would do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.types import Bool
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.devices import Attention, attention, device_events_of, misaligned
from tb_hookview.rules.evidence.host import inputs_of

_CAVEATS = (
    "The gain is an upper bound: the fused kernel that replaces all of this takes time, too.",
    "The backward of these operators is not in the figures.",
)


_SHARE = 0.03
"""Part of a step from which on it counts on the CPU."""
_SAVED = 0.4
_ASSUMED = (
    "Assumes that 40% of this time can be saved, as measured for 256 keys and heads of 32 on one "
    "core; more with more keys, less with fewer."
)


def _find(context: Context) -> Iterator[Occurrence]:
    found = attention(context)
    if not len(found):
        return
    if context.on_host:
        yield from _on_host(context, found)
        return
    events = device_events_of(context, found)
    rows = np.flatnonzero(found.rows)
    module = context.rows.common_module(rows)
    products = events & context.device_events.of_kinds("matrix")
    whole, multiplying = map(context.device_events.us_per_step, (events, products))
    yield Occurrence(
        place="aten::softmax",
        module=module,
        everywhere=module < 0,
        evidence=f"{format_count(len(found), 'time')} in {context.steps.text} a product, a "
        f"softmax and a product in a row{_sizes(context, found)}, {context.us_text(whole)}: "
        f"{format_us(multiplying)} in the products{_misaligned(context, events)}, "
        f"{format_us(whole - multiplying)} in the softmax and what lies between, in the forward "
        "alone",
        count=len(found),
        wasted=np.flatnonzero(events),
        examples=context.call_tree.start[found.first],
        caveats=_CAVEATS,
    )


def _on_host(context: Context, found: Attention) -> Iterator[Occurrence]:
    """Yield one occurrence for the chains that the CPU runs, with their nodes."""
    analysis = context.analysis
    made = isin(analysis.nodes.forward_op, np.flatnonzero(context.rows.inside(found.rows)))
    nodes = np.zeros(len(context.call_tree), bool)
    nodes[analysis.nodes.row[made]] = True
    forward, whole = context.rows.host_us(found.rows), context.rows.host_us(found.rows | nodes)
    if whole <= _SHARE * context.steps.duration_us:
        return
    module = context.rows.common_module(np.flatnonzero(found.rows))
    yield Occurrence(
        place="aten::softmax",
        module=module,
        everywhere=module < 0,
        evidence=f"{format_count(len(found), 'time')} in {context.steps.text} a product, a softmax "
        f"and a product in a row{_sizes(context, found)}, {context.us_text(whole)}, "
        f"{format_us(forward)} of it in the forward",
        count=len(found),
        host=context.rows.host_time(found.rows | nodes),
        saved=_SAVED,
        examples=context.call_tree.start[found.first],
        caveats=(_ASSUMED,),
    )


def _misaligned(context: Context, events: Bool) -> str:
    """Phrase of the products whose kernels load too little at once, "" for none."""
    slow = events & misaligned(context)
    if not slow.any():
        return ""
    time, kernels = context.device_events.us_per_step(slow), int(np.count_nonzero(slow))
    return (
        f" ({format_us(time)} of it in {format_count(kernels, 'kernel')} that load less than 16 "
        "bytes at once)"
    )


def _sizes(context: Context, found: Attention) -> str:
    """Phrase of the numbers of keys, "" without recorded shapes."""
    distinct, place = inputs_of(context, found.softmax)
    sizes = {
        inputs[0][0][-1]
        for inputs in (distinct[index] for index in set(place.tolist()) if index >= 0)
        if inputs and inputs[0][0]
    }
    if not sizes or not all(isinstance(size, int) for size in sizes):
        return ""
    least, most = min(sizes), max(sizes)
    return f" over {least} keys" if least == most else f" over {least} to {most} keys"


RULE = Rule(
    id="attention-unfused",
    family="kernels",
    title="Attention runs as separate matrix products and softmax",
    description="A batched matrix product, a softmax and a batched product in a row, with nothing "
    "but scaling, masks, casts and dropout between them; inside scaled_dot_product_attention as "
    "well, where it falls back to its own parts. The cost is all of that, products included; where "
    "the model runs on the CPU with its nodes, over 3% of a step.",
    fix="Call torch.nn.functional.scaled_dot_product_attention, in float16 or bfloat16, with a "
    "head size that is supported, and is_causal=True instead of a dense mask (transformers: "
    'attn_implementation="sdpa"). Use FlexAttention for custom masks. Its kernels also take '
    "any number of tokens without a loss of alignment.",
    reference="PyTorch, scaled_dot_product_attention tutorial",
    find=_find,
)
