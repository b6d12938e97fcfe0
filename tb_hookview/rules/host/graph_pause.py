"""Idle time of a device that replays graphs: before a graph's launch, or within one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.host import uncut

_SHARE = 0.02
_UNLISTED = (
    "Profilers do not list all kernels of every graph: where they are missing, a device looks idle "
    "that is not."
)
_LATE = (
    "Launch the next graph before the last one is done: copy its inputs on another stream, and "
    "read results later. Put more into one graph."
)
_LISTED = (
    "A gap within a graph comes from the order of its nodes, or from nodes that the profiler does "
    "not list: a newer CUPTI or rocprofiler may."
)


def _find(context: Context) -> Iterator[Occurrence]:
    replayed = _replayed(context)
    if not replayed.any():
        return
    yield from _before(context, replayed)
    yield from _within(context, replayed)


def _before(context: Context, replayed: Bool) -> Iterator[Occurrence]:
    """Gaps that end with a graph launched too late."""
    gaps = context.gaps.in_steps(Cause.LAUNCH)
    gaps = gaps[lookup(replayed, context.analysis.gaps.device_event[gaps]) == 1]
    time, (spans, _) = context.gaps.us_per_step(gaps), uncut(context, gaps)
    before = context.steps.us_per_step(context.analysis.idle_before_call[gaps].sum())
    if time > _SHARE * context.steps.measured_us > 0:
        yield Occurrence(
            place="before graph launches",
            evidence=f"{format_count(len(spans), 'time')} a device waited for the launch of a "
            f"graph in {context.steps.text}, {context.us_text(time)}, "
            f"{context.us_text(time - before)} of it in the launching call",
            gaps=gaps,
            examples=spans[:, 0],
            title="The device waits for the launch of CUDA or HIP graphs",
            fix=_LATE,
        )


def _within(context: Context, replayed: Bool) -> Iterator[Occurrence]:
    """Gaps before events of graphs that were launched by then; reported, not charged."""
    table, work = context.analysis.gaps, context.analysis.device_events
    gaps = context.gaps.of(Cause.DEVICE)
    gaps = gaps[lookup(replayed, table.device_event[gaps]) == 1]
    time, (spans, _) = context.gaps.us_per_step(gaps), uncut(context, gaps)
    if time > _SHARE * context.steps.measured_us > 0:
        launches = len(unique(work.launch[table.device_event[gaps]]))
        yield Occurrence(
            place="within graphs",
            evidence=f"{format_count(len(spans), 'gap')} before kernels of graphs that had been "
            f"launched by then in {context.steps.text}, {context.us_text(time)}, the longest "
            f"{format_us((spans[:, 1] - spans[:, 0]).max() / 1000)}; "
            f"{format_count(launches, 'graph launch', 'graph launches')}",
            claims_gain=False,
            examples=spans[:, 0],
            caveats=(_UNLISTED,),
            latent="nothing on the host can shorten them: a graph runs as it was recorded",
            title="The device idles within CUDA or HIP graphs",
            fix=_LISTED,
        )


def _replayed(context: Context) -> Bool:
    """Device events of a graph whose launch is known, shape (d,)."""
    known = context.analysis.device_events.launch >= 0
    return np.asarray(context.device_events.of_graph & known)


RULE = Rule(
    id="graph-pause",
    family="host",
    title="The device idles before or within CUDA or HIP graphs",
    description="Device events of CUDA or HIP graphs; gaps before a graph that was launched too "
    "late, or gaps before events of a graph that was launched in time, of 2% of a step or more. "
    "Gaps within graphs are reported and cost nothing here.",
    fix=f"{_LATE} {_LISTED}",
    reference="CUDA semantics, CUDA graphs",
    confidence="medium",
    find=_find,
)
