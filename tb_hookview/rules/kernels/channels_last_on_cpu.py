"""Pooling, resizing and depthwise convolutions in the order NCHW, on the CPU."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.rows import node_name
from tb_hookview.arrays.joins import unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import TreeRow
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.host import Inputs, with_inputs

_SAVED = {
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
_SHARE = 0.03
_NAMED = 3
"""Operators in the evidence."""


def _find(context: Context) -> Iterator[Occurrence]:
    manifest = context.analysis.trace.manifest
    if manifest is None or manifest.layouts != ("contiguous",) or not context.on_host:
        return
    tree, saved = context.call_tree, np.zeros(len(context.call_tree))
    for name, part in _SAVED.items():
        saved[context.rows.named(name)] = part
    wide = context.rows.named(_DEPTHWISE) & context.rows.counted
    saved[with_inputs(context, wide, _is_wide_depthwise)] = _DEPTHWISE_SAVED
    saved[lookup(context.rows.inside(saved > 0), tree.parent) == 1] = 0  # an overload of another
    rows = (saved > 0) & context.rows.counted
    gained = float((tree.duration * saved)[rows].sum())
    if context.steps.us_per_step(gained) <= _SHARE * context.steps.duration_us:
        return
    held = context.rows.host_us(rows)
    yield Occurrence(
        place="pooling, resizing and depthwise convolutions",
        evidence=f"{context.part_text(held)}, in "
        f"{_named(context, np.flatnonzero(rows))}; the weights of all convolutions are in the "
        "order NCHW",
        host=context.rows.host_time(rows),
        saved=gained / max(int(tree.duration[rows].sum()), 1),
        examples=tree.start[rows],
        caveats=("It saves at most that: other convolutions may take longer in channels-last.",),
    )


def _is_wide_depthwise(inputs: Inputs) -> bool:
    """Whether inputs (gradient, input, weight, ...) are those of a wide depthwise convolution."""
    shape = inputs[2][0] if len(inputs) > 2 else []
    return len(shape) == 4 and shape[0] > 1 and shape[1] == 1 and shape[2] >= _WIDE


def _named(context: Context, rows: TreeRow) -> str:
    names, place = unique_inverse(context.host.string[rows])
    time = np.bincount(place, context.call_tree.duration[rows])
    texts = context.analysis.trace.strings
    most = np.argsort(-time)[:_NAMED].tolist()
    return context.listed((node_name(texts[int(names[i])]), time[i]) for i in most)


RULE = Rule(
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
    find=_find,
)
