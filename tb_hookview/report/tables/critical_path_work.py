"""The critical path of the measured steps by what ran: device events, phases, named host work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import reduce

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.compiled.graphs import GRAPH_CALL
from tb_hookview.analysis.host.activity import (
    activity_events,
    closure_of,
    cut_by_activity,
    event_names,
    held_by,
    operators_within,
)
from tb_hookview.analysis.host.rows import HostRows, Role
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import index_of, isin, mask_of, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import EventRow, Nanoseconds, ThreadIndex, TimeSet
from tb_hookview.rules.evidence.host import LONG_NS
from tb_hookview.schema.host import PROFILER
from tb_hookview.schema.terms import KINDS, Phase
from tb_hookview.simulation.path_rows import PARTS, path_parts
from tb_hookview.simulation.recording_cost import buffer_requests
from tb_hookview.simulation.simulator import Simulator
from tb_hookview.trace import EventCategory

MOST = 30
"""Rows of an answer; the others are summed up by part and phase."""
LOADING = "kernel loading"
"""Name of the host time in which kernels are loaded, in whatever phase."""
_LONG = 0.02
"""Share of the unnamed host time from which on an event divides it."""
_WORTH_A_NAME = 0.05
"""Share of the host's time from which on work in a phase, without any operator, has a row."""
_HOST = PARTS.index("host")
_PHASES = tuple(Phase)[: Phase.OTHER]

Work = tuple[str, str | None, str | None]
"""Part of the path, phase, and name of what ran."""


def critical_path_work_rows(simulator: Simulator) -> list[schema.PathWork]:
    """What passed the time of the critical path of a step, the longest first."""
    if simulator.refused:
        return []
    path, steps = simulator.unchanged.path, len(simulator.window.steps)
    part, length = path_parts(simulator.unchanged), path.end - path.start
    time: defaultdict[Work, float] = defaultdict(float)
    _add_device(simulator, time)
    _add_host(simulator, float(length[part == _HOST].sum()), time)
    for number, name in enumerate(PARTS):
        if name not in ("host", "device"):
            time[name, None, None] += float(length[part == number].sum())
    rows = [_row(work, ns / 1000 / steps) for work, ns in _cut(time).items() if ns > 0]
    return sorted(rows, key=lambda row: (-row.us, row.id))


def _row(work: Work, us: float) -> schema.PathWork:
    return schema.PathWork(_id(work), *work, us)


def _id(work: Work) -> str:
    return ":".join(text or "" for text in work)


def _cut(time: dict[Work, float]) -> dict[Work, float]:
    """The longest by name; the names of the others are left out."""
    ranked = sorted(time, key=lambda work: (-time[work], _id(work)))
    kept = defaultdict(float, {work: time[work] for work in ranked[:MOST]})
    for part, phase, name in ranked[MOST:]:
        kept[part, phase, None] += time[part, phase, name]
    return kept


def _add_device(simulator: Simulator, time: defaultdict[Work, float]) -> None:
    """Add device events that are no collectives, by phase of the launch and kind."""
    analysis, path = simulator.analysis, simulator.unchanged.path
    rows = np.flatnonzero(path_parts(simulator.unchanged) == PARTS.index("device"))
    event = path.event[rows]
    phase = lookup(analysis.phases.row, lookup(analysis.device_events.launch, event))
    kind, length = lookup(analysis.kinds.kind, event), (path.end - path.start)[rows]
    phases, kinds = len(Phase) + 1, len(KINDS) + 1  # -1, of none, is the last
    sums = sum_by(phase % phases * kinds + kind % kinds, length, phases * kinds)
    for place in np.flatnonzero(sums).tolist():
        row, column = divmod(place, kinds)
        time["device", _phase(row), _kind(column)] += float(sums[place])


def _phase(phase: int) -> str | None:
    return Phase(phase).name.lower() if phase < Phase.OTHER else None


def _kind(kind: int) -> str | None:
    return KINDS[kind] if kind < len(KINDS) else None


def _add_host(simulator: Simulator, whole: float, time: defaultdict[Work, float]) -> None:
    """Add lazy kernel loading and the profiler, then the host's time by phase; outside of phases,
    and where it runs no operator in one, by what the thread was in.

    Times are as recorded. They are scaled to the replay, which is off by its error.
    """
    found: defaultdict[Work, float] = defaultdict(float)
    quiet: defaultdict[Work, float] = defaultdict(float)
    analysis = simulator.analysis
    phases = analysis.phases.time
    requests = buffer_requests(analysis.host, analysis.bounds[0])
    for thread, worked in _host_times(simulator):
        for name, taken in _in_any_phase(analysis, thread, requests):
            found["host", None, name] += intervals.length(intervals.intersect(worked, taken))
            worked = intervals.subtract(worked, taken)
        for phase in _PHASES:
            inside = intervals.intersect(worked, phases[phase])
            found["host", phase.name.lower(), None] += intervals.length(inside)
            for name, length in _without_operators(analysis, thread, inside):
                what = name if phase is Phase.OPTIMIZER else closure_of(name)
                quiet["host", phase.name.lower(), what] += length
        outside = reduce(intervals.subtract, phases[: Phase.OTHER], worked)
        for name, length in _named(analysis, thread, outside):
            found["host", None, closure_of(name) or None] += length
    total = sum(found.values())
    for work, length in quiet.items():
        if length >= _WORTH_A_NAME * total:
            found[work] = length
            found["host", work[1], None] -= length
    for work, length in found.items():
        time[work] += length * whole / total


def _in_any_phase(
    analysis: Analysis, thread: int, requests: tuple[ThreadIndex, Nanoseconds, Nanoseconds]
) -> Iterator[tuple[str, TimeSet]]:
    """When a thread loaded kernels, and when the profiler held it: `buffer_requests`, and the
    first launch after it started."""
    loads, tree = analysis.kernel_loads, analysis.call_tree
    mine = tree.thread[loads.row] == thread
    time = [
        intervals.of(loads.start[each], loads.end[each])
        for each in (mine & ~loads.by_profiler, mine & loads.by_profiler)
    ]
    yield LOADING, time[0]
    of, start, end = requests
    held = intervals.of(start[of == thread], end[of == thread])
    yield PROFILER, intervals.normal(np.concatenate([held, time[1]]))


def _host_times(simulator: Simulator) -> list[tuple[int, TimeSet]]:
    """Time of the path in which each thread worked, without data loaders, as recorded."""
    on_path = path_parts(simulator.unchanged) == _HOST
    edges = simulator.host_edges
    passed = mask_of(simulator.unchanged.path.edge[on_path], len(simulator.graph.edges.lag))
    mine = passed[edges.edge]
    thread, times = edges.thread[mine], edges.time[mine]
    return [(each, intervals.normal(times[thread == each])) for each in unique(thread).tolist()]


def _named(analysis: Analysis, thread: int, spans: TimeSet) -> list[tuple[str, float]]:
    """Name and length of each time.

    What names a time has the part that it holds. The rest is cut by what is long in it, and what
    then has no name is divided among the operators that ran in it, as is that of compiled graphs.
    """
    names, held = _names(analysis, thread, spans)
    unnamed = intervals.subtract(spans, held[[name != "" for name in names]])
    pieces = cut_by_activity(analysis.host, thread, unnamed, _LONG)
    whole = isin(pieces[:, 0], unnamed[:, 0]) & isin(pieces[:, 1], unnamed[:, 1])
    parts = pieces[~whole]
    inner, _ = _names(analysis, thread, parts)
    many = np.sort(np.concatenate([pieces[whole], parts[[name == "" for name in inner]]]), axis=0)
    both = zip([*names, *inner], [*held.tolist(), *parts.tolist()], strict=True)
    graphs: defaultdict[str, list[list[int]]] = defaultdict(list, {"": many.tolist()})
    found = []
    for name, (start, end) in both:
        if GRAPH_CALL.fullmatch(name):
            graphs[name].append([start, end])
        elif name:
            found.append((name, float(end - start)))
    for name, times in graphs.items():
        ran = np.sort(np.array(times, np.int64).reshape(-1, 2), axis=0)
        operators = operators_within(analysis.host, thread, ran, name)
        rest = intervals.length(ran) - sum(length for _, length in operators)
        found += [*operators, (name, float(rest))]
    return found


def _without_operators(analysis: Analysis, thread: int, spans: TimeSet) -> list[tuple[str, float]]:
    """Name and length of long times in which a thread ran neither operator nor call."""
    host, tree = analysis.host, analysis.call_tree
    ran = (host.kind == EventCategory.OPERATOR) & isin(host.role, [int(Role.NONE), int(Role.NODE)])
    ran |= host.kind == EventCategory.RUNTIME
    rows = np.flatnonzero(ran & (tree.thread == thread))
    left = intervals.subtract(spans, tree.time_of(rows))
    left = left[left[:, 1] - left[:, 0] >= LONG_NS]
    named = zip(*_names(analysis, thread, left), strict=True)
    return [(name, float(end - start)) for name, (start, end) in named if name]


def _names(analysis: Analysis, thread: int, spans: TimeSet) -> tuple[list[str], TimeSet]:
    """What a thread was in at each time, and the part of the time that this holds."""
    if not len(spans):
        return [], spans
    host = analysis.host
    event = _as_called(host, activity_events(host, np.full(len(spans), thread), spans))
    return event_names(host, event), held_by(host, event, spans)


def _as_called(host: HostRows, event: EventRow) -> EventRow:
    """Events, but the operator that was called in place of one of those of torch inside of it."""
    tree = host.call_tree
    torch = mask_of(host.named(lambda name: name.startswith("aten::")), len(host))
    called = torch & (lookup(torch, tree.parent) != 1)
    row = lookup(index_of(tree.event, len(host.trace.events)), event)
    inside = np.flatnonzero(lookup(torch, row) == 1)
    event[inside] = tree.event[tree.nearest(called)[row[inside]]]
    return event
