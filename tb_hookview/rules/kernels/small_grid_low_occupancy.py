"""Kernels with fewer blocks than the device has multiprocessors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.trace import EventCategory

_BY_DESIGN = ("matrix", "convolution", "attention", "communication")
"""Kinds whose kernels run with few blocks for good reasons."""
_OCCUPANCY = 25.0
_LONG_NS = 20_000
_SHARE = 0.2
_SAVED = 0.5
_LITTLE = 10
"""Device events per step; a trace with no more is a snippet."""


def _find(context: Context) -> Iterator[Occurrence]:
    work, events = context.analysis.device_events, context.analysis.trace.events
    blocks, occupancy = events.blocks_per_sm[work.event], events.occupancy[work.event]
    counted = context.device_events.counted & (events.kind[work.event] == EventCategory.KERNEL)
    counted &= ~context.device_events.of_kinds(*_BY_DESIGN)
    few = counted & (blocks < 1)
    thin = counted & ~few & (occupancy < _OCCUPANCY) & (work.duration > _LONG_NS)
    share = context.device_events.share(few | thin)
    if share <= _SHARE or np.count_nonzero(context.device_events.counted) <= _LITTLE * len(
        context.steps
    ):
        return
    rows = np.flatnonzero(few)
    yield Occurrence(
        place="kernels with few blocks",
        everywhere=True,
        evidence=f"{format_count(few.sum(), 'kernel')} with fewer blocks than the device has "
        f"multiprocessors take {context.us_text(context.device_events.us_per_step(few))}, and "
        f"{np.count_nonzero(thin)} longer ones of an occupancy below {_OCCUPANCY:.0f}% "
        f"{format_us(context.device_events.us_per_step(thin))}: {share:.0%} of the busy time",
        count=int(np.count_nonzero(few | thin)),
        wasted=rows,
        wasted_ns=np.rint(work.duration[rows] * (1 - blocks[rows])).astype(np.int64),
        saved=_SAVED,
        examples=context.device_events.starts(few | thin),
        caveats=("Assumes that half of the time of empty multiprocessors can be saved.",),
        latent="occupancy alone does not show what a larger grid would save",
    )


RULE = Rule(
    id="small-grid-low-occupancy",
    family="kernels",
    title="Kernels fill only part of the device",
    description="Kernels with less than one block for each multiprocessor, or longer than 20 us "
    "with an estimated occupancy below 25%, in more than 20% of the busy time; matrix products, "
    "convolutions, attention and communication do not count, nor do traces of ten device events "
    "per step. The cost is that part of their time in which multiprocessors have no block.",
    fix="Use a larger batch, pack sequences, merge parallel branches, or run small independent "
    "operators on several streams.",
    reference="torch_tb_profiler, GPU metrics; NVIDIA, Matrix Multiplication Background",
    confidence="medium",
    find=_find,
)
