"""Long work of the host for which the device idles: preprocessing, logging, anything else."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import GapIndex
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.host_activity import activity_in

_LONG_NS = 1_000_000
"""Gaps from this length on: no operator takes that long to launch."""
_SHARE = 0.02
"""Part of a step from which on such gaps of one name count."""
_LITTLE = 10
"""Device events a step; a trace with no more is a snippet."""
_BEFORE = (
    "What the device did before its first event is not in the trace; it is taken to have idled."
)


def _find(context: Context) -> Iterator[Occurrence]:
    gaps = context.gaps.in_steps(Cause.LAUNCH)
    gaps = gaps[context.analysis.gaps.duration[gaps] >= _LONG_NS]
    little = np.count_nonzero(context.device_events.counted) <= _LITTLE * len(context.steps)
    if not len(gaps) or little:
        return
    names = np.array(activity_in(context, gaps), object)
    for name in dict.fromkeys(names.tolist()):
        mine = gaps[names == name]
        if context.gaps.us_per_step(mine) > _SHARE * context.steps.duration_us:
            yield _occurrence(context, name, mine)


def _occurrence(context: Context, name: str, gaps: GapIndex) -> Occurrence:
    what = name or "nothing that the trace names"
    table, time = context.analysis.gaps, context.gaps.us_per_step(gaps)
    first = _first_events(context)
    return Occurrence(
        place=f"host work: {name}" if name else "host work that the trace does not name",
        everywhere=True,
        evidence=f"for {format_us(time)} a step, {time / context.steps.duration_us:.0%} of it, "
        f"the thread that launches was in {what} and launched nothing: "
        f"{format_count(len(gaps), 'gap')} of 1 ms or more, the longest "
        f"{format_us(table.duration[gaps].max() / 1000)}",
        count=len(gaps),
        gaps=gaps,
        examples=table.start[gaps],
        confidence=None if name else "low",
        caveats=(_BEFORE,) if np.isin(table.device_event[gaps], first).any() else (),
    )


def _first_events(context: Context) -> list[int]:
    """The first event of each device."""
    device = context.analysis.device_events.device
    return [int(np.flatnonzero(device == one)[0]) for one in unique(device).tolist()]


RULE = Rule(
    id="host-work",
    family="host",
    title="Host work keeps the device idle",
    description="Gaps of 1 ms or more before an event that was launched too late, with the "
    "launching thread for four fifths of each in one operator, annotation, module or Python "
    "function, or in nothing that has a name; over 2 % of a marked step by name. Data loaders, "
    "syncs, copies, allocations and the first use of kernels have causes of their own.",
    fix="Take it out of the way of launches. Prepare data in DataLoader workers (num_workers above "
    "0, in the dataset or collate_fn), and prefetch the next batch while the device works on this "
    "one. Log, compute metrics and write checkpoints after the next step is launched, or less "
    "often. Where it has no name, record with with_stack=True, which names Python functions.",
    reference="PyTorch Performance Tuning Guide: asynchronous data loading",
    find=_find,
    advice=("cpu-preprocess-format", "host-cpu-tuning"),
)
