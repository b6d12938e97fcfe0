"""Rules about kernels of layers: attention and convolutions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import asof, mask_of, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, SyncIndex, TreeRow
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.by_place import by_place
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.devices import (
    ADDS,
    LAYOUTS,
    Attention,
    attention,
    device_events_of,
    misaligned,
    of_convolutions,
    without_operator,
)
from tb_hookview.rules.evidence.host import Inputs, inputs_of, with_inputs, with_value

# Attention computed by its parts, where one fused kernel would do.


_CAVEATS = (
    "The gain is an upper bound: the fused kernel that replaces all of this takes time, too.",
    "The backward of these operators is not in the figures.",
)


_SHARE = 0.03
"""Part of a step from which on it counts on the CPU."""
_SAVED = 0.4
_ASSUMED = (
    "Assumes that 40% of this time can be saved, as measured for 256 keys and heads of 32 on one "
    "core; with other sizes it differs."
)
_CALL = "Call torch.nn.functional.scaled_dot_product_attention."
_MASKS = (
    "Pass is_causal=True instead of a dense causal mask, a bias as attn_mask, and scale=1.0 where "
    'products are not scaled, as in T5 (transformers: attn_implementation="sdpa", for models that '
    "have it; nn.MultiheadAttention: need_weights=False)."
)


def _find_attention_unfused(context: Context) -> Iterator[Occurrence]:
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
        module=module if module >= 0 else None,
        evidence=f"{format_count(len(found), 'time')} in {context.steps.text} a product, a "
        f"softmax and a product in a row{_sizes(context, found)}{_that_ran(context, found)}, "
        f"{context.us_text(whole)}: {format_us(multiplying)} in the products"
        f"{_misaligned(context, events)}, "
        f"{format_us(whole - multiplying)} in the softmax and what lies between, in the forward "
        "alone",
        wasted=np.flatnonzero(events),
        examples=context.call_tree.start[found.first],
        caveats=_CAVEATS,
    )


def _on_host(context: Context, found: Attention) -> Iterator[Occurrence]:
    """Yield one occurrence for the chains that the CPU runs, with their nodes."""
    both = found.rows | context.rows.nodes_of(found.rows)
    forward, whole = context.rows.host_us(found.rows), context.rows.host_us(both)
    if whole <= _SHARE * context.steps.duration_us:
        return
    module = context.rows.common_module(np.flatnonzero(found.rows))
    yield Occurrence(
        place="aten::softmax",
        module=module if module >= 0 else None,
        evidence=f"{format_count(len(found), 'time')} in {context.steps.text} a product, a softmax "
        f"and a product in a row{_sizes(context, found)}, {context.us_text(whole)}, "
        f"{format_us(forward)} of it in the forward",
        host=context.rows.host_time(both),
        saved=_SAVED,
        examples=context.call_tree.start[found.first],
        caveats=(_ASSUMED,),
        fix=f"{_CALL} {_MASKS}",
    )


def _that_ran(context: Context, found: Attention) -> str:
    """Phrase of how many of the softmaxes have device events, "" for all."""
    tree, events = context.call_tree, context.device_events
    around = tree.nearest(mask_of(found.softmax, len(tree)))
    launch = context.analysis.device_events.launch[events.counted]
    ran = unique(lookup(around, launch))
    number = np.count_nonzero(ran >= 0)
    return "" if number == len(found) else f" ({number:,} of them with device events)"


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


ATTENTION_UNFUSED = Rule(
    id="attention-unfused",
    family="kernels",
    title="Attention runs as separate matrix products and softmax",
    description="A batched matrix product, a softmax and a batched product in a row, with nothing "
    "but scaling, masks, biases of positions, casts and dropout between them; inside "
    "scaled_dot_product_attention, where it falls back to its own parts, and the fast path of "
    "nn.MultiheadAttention as well. The cost is all of that, products included; where the model "
    "runs on the CPU with its nodes, over 3% of a step.",
    fix=f"{_CALL} Flash attention needs float16 or bfloat16 and a head size that it supports; the "
    "memory-efficient kernel takes float32, too. Both take any number of tokens without a loss of "
    f"alignment. {_MASKS} Use FlexAttention for custom masks.",
    reference="PyTorch, scaled_dot_product_attention tutorial",
    find=_find_attention_unfused,
)


# A convolution adds a bias that the batch norm after it subtracts again.


_CONVOLUTION = ("aten::conv1d", "aten::conv2d", "aten::conv3d")
_TRAINING = 5
"""Place of that argument of `aten::batch_norm`."""


def _find_conv_bias_before_bn(context: Context) -> Iterator[Occurrence]:
    if not context.rows.named("aten::batch_norm").any():
        return
    adding = _biases(context)
    rows = np.flatnonzero(adding)
    work = context.work_of(adding)
    if not work.any():
        return
    module = context.rows.common_module(rows)
    yield Occurrence(
        place="convolution and batch norm",
        module=module,
        evidence=f"{format_count(len(rows), 'time')} a bias is added and a batch norm follows, "
        f"{context.us_text(context.device_events.us_per_step(work))} for adding alone; its "
        "gradient is not in this figure",
        count=len(rows),
        wasted=np.flatnonzero(work),
    )


def _biases(context: Context) -> Bool:
    """Rows that add the bias of a convolution which a batch norm follows."""
    normed = np.zeros(len(context.call_tree), bool)
    outer = np.flatnonzero(context.rows.named(*_CONVOLUTION) & context.rows.counted)
    norms = context.rows.named("aten::batch_norm")
    norms &= ~with_value(context, norms, _TRAINING, "False")  # it subtracts a mean of long ago
    normed[outer] = norms[_following(context, outer)]
    parent = context.call_tree.parent
    adds = context.rows.named(*ADDS) & (parent >= 0) & context.rows.inside(normed)
    return np.asarray(adds & context.rows.named("aten::_convolution")[parent])


def _following(context: Context, rows: TreeRow) -> TreeRow:
    """First operator after each row on its thread, the outermost one of that start.

    The counter of batches that a batch norm raises before all else is passed over. A row that
    nothing follows gets itself.
    """
    call_tree = context.call_tree
    operators = np.flatnonzero(context.rows.beginning("aten::") & ~context.rows.named(*ADDS))[::-1]
    found = asof(
        call_tree.thread[operators],
        -call_tree.start[operators],
        call_tree.thread[rows],
        -call_tree.end[rows],
    )
    return np.where(found >= 0, lookup(operators, found), rows)


CONV_BIAS_BEFORE_BN = Rule(
    id="conv-bias-before-bn",
    family="kernels",
    title="Convolution bias before batch norm has no effect",
    description="aten::_convolution adds a bias in a separate kernel, and the next operator is "
    "aten::batch_norm, in training as far as its inputs were recorded.",
    fix="Create convolutions that feed a batch norm with bias=False.",
    reference="PyTorch, Performance Tuning Guide: disable bias for convolutions before batch norm",
    find=_find_conv_bias_before_bn,
)


# Convolutions convert the memory layout of their tensors back and forth.


_SHARE_CONV_LAYOUT_TRANSPOSE = 0.01


def _find_conv_layout_transpose(context: Context) -> Iterator[Occurrence]:
    events = context.device_events
    found = events.containing(*LAYOUTS)
    found |= events.matching(r"cudnn::ops::.*[Tt]ranspose", "cudnn::ops::")
    found |= events.matching(r"^batched_transpose_\d+x\d+", "batched_transpose_")
    found &= events.counted
    if found.any() and context.analysis.launches_known:
        found &= of_convolutions(context) | without_operator(context)
    share, time = context.device_events.share(found), context.device_events.us_per_step(found)
    if share > _SHARE_CONV_LAYOUT_TRANSPOSE:
        yield Occurrence(
            place="convolutions",
            evidence=f"{format_count(found.sum() / len(context.steps), 'kernel')}{context.each} "
            f"that turn NCHW into NHWC or back, {format_us(time)} ({share:.1%} of device work)",
            wasted=np.flatnonzero(found),
        )


CONV_LAYOUT_TRANSPOSE = Rule(
    id="conv-layout-transpose",
    family="kernels",
    title="Convolutions transpose between NCHW and channels-last",
    description="Kernels of cuDNN or MIOpen that transpose NCHW and NHWC, launched by "
    "convolutions, in replayed graphs or where the trace lacks the operator, in more than 1% of "
    "device work.",
    fix="Convert model and input to channels-last: .to(memory_format=torch.channels_last). Then "
    "check that no operator falls back. On ROCm before torch 2.9 also set "
    "PYTORCH_MIOPEN_SUGGEST_NHWC=1.",
    reference="PyTorch, Channels Last Memory Format",
    find=_find_conv_layout_transpose,
    advice=("cudnn-autotune",),
)


# Algorithms of convolutions tried out, one after another, with a sync after each.


_CONVOLUTIONS = (
    r"aten::(cudnn|miopen)_convolution\w*|aten::convolution(_backward)?|aten::_convolution"
)
_RECURS = (
    "Keep inputs to a few fixed shapes, or set torch.backends.cudnn.benchmark = False: each new "
    "shape is timed again."
)


def _explains_convolution_benchmark(context: Context) -> Bool:
    syncs = context.syncs
    timed = context.rows.containing("EventSynchronize")[syncs.row]
    return timed & syncs.inside_matching(_CONVOLUTIONS) if timed.any() else timed


def _find_convolution_benchmark(context: Context) -> Iterator[Occurrence]:
    mine = context.explained_by(CONVOLUTION_BENCHMARK)
    yield from by_place(context, mine, fix=_RECURS)
    set_up = np.flatnonzero(mine & ~context.syncs.counted & context.syncs.in_warm_up)
    if len(set_up):
        yield _once(context, set_up)


def _once(context: Context, syncs: SyncIndex) -> Occurrence:
    start, end = context.syncs.start[syncs], context.syncs.end[syncs]
    blocked = float((end - start).sum()) / 1000
    steps = context.analysis.steps
    calls = unique(context.syncs.outermost_matching(_CONVOLUTIONS)[syncs])
    later = (
        ""
        if (context.explained_by(CONVOLUTION_BENCHMARK) & context.syncs.counted).any()
        else "; none later"
    )
    return Occurrence(
        place="convolutions",
        evidence=f"{format_count(len(syncs), 'sync')} in {format_count(len(calls), 'convolution')} "
        f"of {steps.name[steps.warm_up]}, the host blocked for {format_us(blocked)}{later}",
        once_us=blocked,
        claims_gain=False,
        examples=start,
        latent="it happens once for each shape, in a step that is in no mean",
    )


CONVOLUTION_BENCHMARK = Rule(
    id="convolution-benchmark",
    family="kernels",
    title="Convolution algorithms are benchmarked",
    description="Waits for events (cudaEventSynchronize) inside of convolutions, as cuDNN and "
    "MIOpen time their algorithms with torch.backends.cudnn.benchmark; once for each shape.",
    fix="Leave the first steps out of the trace and of comparisons (torch.profiler.schedule with "
    "wait and warmup). With fixed shapes this pays off in a longer run.",
    reference="torch.backends.cudnn.benchmark; PyTorch Performance Tuning Guide",
    explains=_explains_convolution_benchmark,
    find=_find_convolution_benchmark,
)


# Pooling, resizing and depthwise convolutions in the order NCHW, on the CPU.


_SAVED_BY_LAYOUT = {
    "aten::max_pool2d_with_indices": 0.85,
    "aten::max_pool2d_with_indices_backward": 0.25,
    "aten::avg_pool2d": 0.78,
    "aten::avg_pool2d_backward": 0.68,
    "aten::upsample_bilinear2d": 0.79,
    "aten::upsample_bilinear2d_backward": 0.77,
    "aten::upsample_nearest2d": 0.85,
    "aten::upsample_nearest2d_backward": 0.5,
}
"""Part of their time, as timed on one thread of an AMD EPYC (torch 2.13, batches of 4, 16 to 256
channels of 32 x 32, 48 x 48, 16 x 16 and 8 x 8, process time): the medians of these were 0.87,
0.29, 0.78, 0.68, 0.79, 0.77, 0.85 and 0.52. Other convolutions, batch norms and bicubic resizing
took 0.7 to 1.3 of their time in either order; pooling to one pixel takes longer in channels-last,
and is short."""
_DEPTHWISE = "aten::convolution_backward"
_DEPTHWISE_SAVED = 0.64
"""The same for 5 x 5 filters (0.57 to 0.70), and for 7 x 7."""
_WIDE = 5
_SHARE_OF_LAYOUT = 0.03
_NAMED = 3
"""Operators in the evidence."""


def _find_channels_last_on_cpu(context: Context) -> Iterator[Occurrence]:
    manifest = context.analysis.trace.manifest
    if manifest is None or manifest.layouts != ("contiguous",) or not context.on_host:
        return
    tree, saved = context.call_tree, np.zeros(len(context.call_tree))
    for name, part in _SAVED_BY_LAYOUT.items():
        saved[context.rows.named(name)] = part
    wide = context.rows.named(_DEPTHWISE) & context.rows.counted
    saved[with_inputs(context, wide, _is_wide_depthwise)] = _DEPTHWISE_SAVED
    saved[lookup(context.rows.inside(saved > 0), tree.parent) == 1] = 0  # an overload of another
    rows = (saved > 0) & context.rows.counted
    gained = float((tree.duration * saved)[rows].sum())
    if context.steps.us_per_step(gained) <= _SHARE_OF_LAYOUT * context.steps.duration_us:
        return
    held = context.rows.host_us(rows)
    yield Occurrence(
        place="pooling, resizing and depthwise convolutions",
        evidence=f"{context.part_text(held)}, in "
        f"{context.listed(context.rows.times_by_name(rows)[:_NAMED])}; the weights of all "
        "convolutions are in the order NCHW",
        host=context.rows.host_time(rows),
        saved=gained / max(int(tree.duration[rows].sum()), 1),
        examples=tree.start[rows],
        caveats=("It saves at most that: other convolutions may take longer in channels-last.",),
    )


def _is_wide_depthwise(inputs: Inputs) -> bool:
    """Whether inputs (gradient, input, weight, ...) are those of a wide depthwise convolution."""
    shape = inputs[2][0] if len(inputs) > 2 else []
    return len(shape) == 4 and shape[0] > 1 and shape[1] == 1 and shape[2] >= _WIDE


CHANNELS_LAST_ON_CPU = Rule(
    id="channels-last-on-cpu",
    family="kernels",
    title="Pooling and resizing run in the order NCHW on the CPU",
    description="Where the model runs on the CPU and the recorder found the weights of all its "
    "convolutions in the order NCHW: max_pool2d, avg_pool2d, bilinear and nearest resizing, and "
    "the backward of depthwise convolutions of 5 x 5 or wider (where input shapes were recorded), "
    "if channels-last saves over 3% of a step.",
    fix="Convert model and input to channels-last: .to(memory_format=torch.channels_last). On the "
    "CPU these operators then go through memory in order; other convolutions take about as long as "
    "before, some of them longer: measure both.",
    reference="PyTorch, Channels Last Memory Format",
    confidence="medium",
    find=_find_channels_last_on_cpu,
)
