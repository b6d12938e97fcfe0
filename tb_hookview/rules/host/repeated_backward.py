"""Backward passes that go through one graph again and again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import mask_of, pair_key, unique_inverse
from tb_hookview.formats import format_count
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_TIMES = 4
"""Evaluations of a node from which on they count: penalties and a second loss take two or three."""
_SHARE = 0.03
"""Part of a step, or of device work, in such evaluations."""
_CAVEAT = (
    "The gain takes each node to be evaluated once, in its usual time. Where gradients of many "
    "outputs are needed, one batched evaluation takes longer than one of a single output."
)


def _find(context: Context) -> Iterator[Occurrence]:
    nodes, rows = context.analysis.nodes, context.rows
    known = np.flatnonzero((nodes.forward_op >= 0) & rows.counted[nodes.row])
    key = pair_key(nodes.forward_op[known], context.host.string[nodes.row[known]])
    distinct, which = unique_inverse(key)
    times = np.bincount(which, minlength=len(distinct))
    again = times >= _TIMES
    if not again.any():
        return
    evaluated = mask_of(nodes.row[known[again[which]]], len(context.call_tree))
    made = rows.inside(evaluated)[nodes.forward_op[known]]  # with create_graph=True
    evaluated |= mask_of(nodes.row[known[made]], len(context.call_tree))
    work = context.work_of(evaluated)
    held = rows.host_us(evaluated)
    least = _SHARE * context.steps.duration_us
    if context.device_events.share(work) <= _SHARE and not (context.on_host and held > least):
        return
    count = int(times[again].sum())
    yield Occurrence(
        place="the backward pass",
        evidence=f"{format_count(int(again.sum()), 'node')} of autograd are evaluated "
        f"{format_count(count, 'time')} in {context.steps.text}, up to {times.max()} times each; "
        f"their evaluations take the host {context.us_text(held)}",
        count=count,
        host=rows.host_time(evaluated) if context.on_host else (),
        wasted=np.flatnonzero(work),
        saved=1 - int(again.sum()) / count,
        examples=context.call_tree.start[evaluated],
        caveats=(_CAVEAT,),
    )


RULE = Rule(
    id="repeated-backward",
    family="host",
    title="The backward runs through one graph several times",
    description="Autograd nodes of one forward operator that are evaluated four times or more, "
    "which takes 3% of a step where the model runs on the CPU, or of device work.",
    fix="Call torch.autograd.grad once, with all inputs. Add up losses before backward(). For "
    "gradients of several outputs use torch.func.jacrev, vmap, or grad with is_grads_batched=True. "
    "In truncated backpropagation through time detach the state.",
    reference="PyTorch, torch.autograd.grad: retain_graph, is_grads_batched; torch.func.jacrev",
    confidence="medium",
    find=_find,
)
