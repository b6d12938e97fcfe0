"""Pauses of a device that replays graphs: before a graph's launch, or within one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule, counted

_LAUNCHES = ("cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch")
_SHARE = 0.02
_SET_UP_NS = 1_000_000
"""Where no steps are marked, longer gaps may be of what is done once, before and after."""
_UNLISTED = (
    "Profilers do not list all kernels of every graph: where they are missing, a device looks idle "
    "that is not."
)


def _match(context: Context) -> Iterator[Occurrence]:
    replayed = _replayed(context)
    if not replayed.any():
        return
    yield from _before(context, replayed)
    yield from _within(context, replayed)


def _before(context: Context, replayed: Bool) -> Iterator[Occurrence]:
    """Gaps that end with a graph launched too late."""
    gaps = context.gaps_of(Cause.LAUNCH)
    if not context.has_steps:
        gaps = gaps[context.analysis.gaps.duration[gaps] <= _SET_UP_NS]
    gaps = gaps[lookup(replayed.astype(np.int64), context.analysis.gaps.device_event[gaps]) == 1]
    time = context.per_step(context.analysis.gaps.duration[gaps].sum())
    if time > _SHARE * context.step_us > 0:
        yield Occurrence(
            place="before graph launches",
            everywhere=True,
            evidence=f"{counted(len(gaps), 'time')} a device waited for the launch of a graph, "
            f"{time:.1f} us a step",
            count=len(gaps),
            gaps=gaps,
            examples=context.analysis.gaps.start[gaps],
        )


def _within(context: Context, replayed: Bool) -> Iterator[Occurrence]:
    """Pauses before work of graphs that had been launched by then; told, not billed."""
    table, work = context.analysis.gaps, context.analysis.device_events
    gaps = context.gaps_of(Cause.DEVICE)
    gaps = gaps[lookup(replayed.astype(np.int64), table.device_event[gaps]) == 1]
    time = context.per_step(table.duration[gaps].sum())
    if time > _SHARE * context.step_us > 0:
        launches = len(unique(work.launch[table.device_event[gaps]]))
        yield Occurrence(
            place="within graphs",
            everywhere=True,
            evidence=f"{counted(len(gaps), 'pause')} before kernels of graphs that had been "
            f"launched by then, {time:.1f} us a step, the longest "
            f"{table.duration[gaps].max() / 1000:.1f} us; {counted(launches, 'launch', 'es')} of "
            "graphs",
            count=len(gaps),
            claims_gain=False,
            examples=table.start[gaps],
            caveats=(_UNLISTED,),
            latent="nothing on the host can shorten them: a graph runs as it was recorded",
        )


def _replayed(context: Context) -> Bool:
    """Work of a graph, by its launch or by the number of its graph, shape (d,)."""
    numbered = context.analysis.trace.events.graph[context.analysis.device_events.event] > 0
    launched = context.work_launched(context.beginning(*_LAUNCHES))
    return np.asarray((numbered | launched) & (context.analysis.device_events.launch >= 0))


RULE = Rule(
    id="graph-pause",
    family="host",
    title="A device pauses before or within the graphs that it replays",
    matches="Work of CUDA or HIP graphs; gaps before a graph that was launched too late, or pauses "
    "before work of a graph that was launched in time, of 2 % of a step or more. Pauses within are "
    "told of and not billed.",
    fix="Launch the next graph before the last one is done: copy its inputs on another stream, and "
    "read results later. Put more into one graph. A pause within a graph comes from the order of "
    "its nodes, or from nodes that the profiler does not list: a newer CUPTI or rocprofiler may.",
    reference="CUDA semantics, CUDA graphs",
    confidence="medium",
    match=_match,
)
