"""Algorithms of convolutions tried out, one after another, with a sync after each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Bool, SyncIndex
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.by_place import by_place
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_CONVOLUTIONS = (
    r"aten::(cudnn|miopen)_convolution\w*|aten::convolution(_backward)?|aten::_convolution"
)
_TIMED = r".*EventSynchronize"
_RECURS = (
    "Keep inputs to a few fixed shapes, or set torch.backends.cudnn.benchmark = False: each new "
    "shape is timed again."
)


def _explains(context: Context) -> Bool:
    syncs = context.syncs
    timed = context.rows.matching(_TIMED)[syncs.row] if len(syncs) else np.zeros(0, bool)
    return np.asarray(timed & syncs.inside_matching(_CONVOLUTIONS))


def _find(context: Context) -> Iterator[Occurrence]:
    mine = context.explained_by(RULE)
    yield from by_place(context, mine, fix=_RECURS)
    set_up = np.flatnonzero(mine & ~context.syncs.counted & context.syncs.in_warm_up)
    if len(set_up):
        yield _once(context, set_up)


def _once(context: Context, syncs: SyncIndex) -> Occurrence:
    start, end = context.syncs.start[syncs], context.syncs.end[syncs]
    blocked = float((end - start).sum()) / 1000
    steps = context.analysis.steps
    calls = unique(context.syncs.outermost(_CONVOLUTIONS)[syncs])
    later = "" if (context.explained_by(RULE) & context.syncs.counted).any() else "; none later"
    return Occurrence(
        place="convolutions",
        everywhere=True,
        evidence=f"{format_count(len(syncs), 'sync')} in {format_count(len(calls), 'convolution')} "
        f"of {steps.name[steps.warm_up]}, the host blocked for {format_us(blocked)}{later}",
        count=len(syncs),
        once_us=blocked,
        claims_gain=False,
        examples=start,
        latent="it happens once for each shape, in a step that is in no mean",
    )


RULE = Rule(
    id="convolution-benchmark",
    family="kernels",
    title="Convolution algorithms are benchmarked",
    description="Waits for events (cudaEventSynchronize) inside of convolutions, as cuDNN and "
    "MIOpen time their algorithms with torch.backends.cudnn.benchmark; once for each shape.",
    fix="Leave the first steps out of the trace and of comparisons (torch.profiler.schedule with "
    "wait and warmup). In a training with fixed shapes this pays off.",
    reference="torch.backends.cudnn.benchmark; PyTorch Performance Tuning Guide",
    explains=_explains,
    find=_find,
)
