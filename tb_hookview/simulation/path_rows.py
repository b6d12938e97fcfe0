"""The critical path of a prediction by module and by kernel kind, with slack."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_hookview import schema
from tb_hookview.analysis.dependencies.graph import EdgeKind
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import ranges
from tb_hookview.arrays.types import (
    DeviceEventIndex,
    Float,
    Int,
    ModuleIndex,
    Nanoseconds,
    ThreadIndex,
)
from tb_hookview.simulation.changes import kept_share
from tb_hookview.simulation.critical_path import UNBOUND, CriticalPath, Part
from tb_hookview.simulation.simulator import Prediction

# The critical path in pieces of one step, one part of the path and one module each.


PARTS = ("host", "device", "communication", "wait", "data", "unexplained")
"""Parts of the path, as `schema.PathTime` has them."""
_HOST, _DEVICE, _COMMUNICATION, _WAIT, _DATA, _UNEXPLAINED = range(len(PARTS))


class PathPieces(Struct, frozen=True):
    """Pieces of a path in order, shape (k,); each begins where the one before ends."""

    part: Int
    """Index into `PARTS`."""
    start: Nanoseconds
    end: Nanoseconds
    """Times in the replay, since the start of the window."""
    step: Int
    """Index into `Window.steps` of the step that it is part of."""
    module: ModuleIndex
    """Of the device event, or that was open on the thread; of a latency, that of the device event
    that it leads to, or of the one that it follows. -1 outside modules."""
    event: DeviceEventIndex
    """Device event that ran, -1 for none."""
    thread: ThreadIndex
    """Host thread that worked, -1 for none."""


def path_pieces(prediction: Prediction) -> PathPieces:
    """Cut the critical path of a prediction by module and step."""
    path = prediction.path
    parts, module = path_parts(prediction), _modules(prediction)
    within, start, of_span = _cut_by_module(prediction, parts == _HOST)
    ends = _step_ends(prediction)
    cuts = unique(ends[:-1])
    at = np.searchsorted(start, cuts, side="right") - 1
    inside = (at >= 0) & (start[at] != cuts) if len(start) else np.zeros(len(cuts), bool)
    cuts, at = cuts[inside], at[inside]
    begin = np.concatenate([start, cuts])
    order = np.argsort(begin, kind="stable")
    begin, row = begin[order], np.concatenate([np.arange(len(start)), at])[order]
    piece = within[row]
    return PathPieces(
        part=parts[piece],
        start=begin,
        end=np.append(begin[1:], path.end[-1:]),
        step=np.minimum(np.searchsorted(ends, begin, side="right"), len(ends) - 1),
        module=np.where(of_span[row] >= -1, of_span[row], module[piece]),
        event=path.event[piece],
        thread=path.thread[piece],
    )


def path_parts(prediction: Prediction) -> Int:
    """Index into `PARTS` of each piece of the path."""
    path, simulator = prediction.path, prediction.simulator
    collective = np.append(simulator.analysis.kinds.kind == COMMUNICATION, False)[path.event]
    loading = np.append(simulator.graph.loading, False)[path.edge]
    part = np.array([_HOST, _DEVICE, _WAIT, _UNEXPLAINED, _COMMUNICATION])[path.part]
    part[(path.part == Part.DEVICE) & collective] = _COMMUNICATION
    part[(path.part == Part.HOST) & loading] = _DATA
    return np.asarray(part)


def _modules(prediction: Prediction) -> ModuleIndex:
    """Module of each piece of the path that is no host's."""
    path, simulator = prediction.path, prediction.simulator
    nodes, edges = simulator.graph.nodes, simulator.graph.edges
    to = lookup(nodes.event, lookup(edges.target, path.edge))
    since = lookup(nodes.event, lookup(edges.source, path.edge))
    event = np.where(path.event >= 0, path.event, np.where(to >= 0, to, since))
    event[path.part == Part.HOST] = -1
    return lookup(simulator.analysis.device_attribution.module, event)


def _cut_by_module(prediction: Prediction, host: np.ndarray) -> tuple[Int, Nanoseconds, Int]:
    """Cut pieces of the host's where the module changes: by what is left of each in the replay.

    Returns:
        Piece of the path, start, and module of each part; -2 for what is not the host's.
    """
    path, simulator = prediction.path, prediction.simulator
    spans = simulator.host_spans
    first = np.where(host, np.searchsorted(spans.edge, path.edge), 0)
    last = np.where(host, np.searchsorted(spans.edge, path.edge, side="right"), 1)
    span, piece = ranges(first, last)
    mine = host[piece]
    time = spans.time[span[mine]]
    weight = np.ones(len(piece))
    thread = path.thread[piece[mine]]
    length = time[:, 1] - time[:, 0]
    weight[mine] = length * kept_share(prediction.change.host, thread, time)
    start = _divided(path, piece, weight)
    module = np.full(len(piece), -2)
    module[mine] = spans.module[span[mine]]
    whole = np.append(start[1:], path.end[-1:]) > start
    return piece[whole], start[whole], module[whole]


def _divided(path: CriticalPath, piece: Int, weight: np.ndarray) -> Nanoseconds:
    """Start of each part of pieces that are divided in proportion to weights."""
    total = np.bincount(piece, weight, minlength=len(path.start))
    before = np.cumsum(weight) - weight
    opens = np.flatnonzero(np.diff(piece, prepend=-1))
    before = before - before[opens][piece]
    share = before / np.where(total > 0, total, 1)[piece]
    length = path.end - path.start
    done = np.minimum(np.round(share * length[piece]), length[piece])
    return np.asarray(path.start[piece] + done.astype(np.int64))


def _step_ends(prediction: Prediction) -> Nanoseconds:
    """Moment in the replay at which each step ends.

    That is on the host where it sets the pace, else when host and device are done with the step.
    """
    measure, replay, path = prediction.simulator.measure, prediction.replay, prediction.path
    host = replay.time[measure.graph.step_end]
    by_host = prediction.pace.last == measure.graph.step_end[-1]
    ends = np.maximum.accumulate(host if by_host else measure.completions(replay))
    last = int(path.end[-1]) if len(path.end) else 0
    ends = np.asarray(np.minimum(ends, last))
    ends[-1] = last
    return ends


_ON_PATH, _OFF_PATH = 100, 50
"""Modules on the path, and off it, that an answer lists."""


class PathSums(Struct, frozen=True):
    """Time on the path of each module and step, and by how much it may grow."""

    time: Nanoseconds
    """Shape (steps, modules + 1, parts); the last module is "not in a module"."""
    slack: Nanoseconds
    """Shape (steps, modules + 1); `UNBOUND` where nothing waits for it, and without any part."""
    there: np.ndarray
    """Whether a module has device events or host time in a step, shape (steps, modules + 1)."""


def path_sums(prediction: Prediction) -> PathSums:
    """Sum up the path by step and module."""
    simulator, pieces = prediction.simulator, path_pieces(prediction)
    size = len(simulator.window.steps), len(simulator.analysis.modules) + 1
    time = np.zeros((*size, len(PARTS)), np.int64)
    np.add.at(time, (pieces.step, pieces.module, pieces.part), pieces.end - pieces.start)
    step, module, least = _parts(prediction)
    slack, there = np.full(size, UNBOUND), np.zeros(size, bool)
    np.minimum.at(slack, (step, module), least)
    there[step, module] = True
    return PathSums(time, slack, there | time.any(axis=2))


def _parts(prediction: Prediction) -> tuple[Int, Int, Nanoseconds]:
    """Step, module and slack of each device event and of each module's part of a host edge."""
    simulator, graph = prediction.simulator, prediction.replay.graph
    window, spans, slack = simulator.window, simulator.host_spans, prediction.slack
    events = np.flatnonzero((window.step >= 0) & ~window.history)
    of_event = simulator.analysis.device_attribution.module[window.events[events]]
    worked = (spans.time[:, 1] > spans.time[:, 0]) & ~graph.loading[spans.edge]
    ends = graph.nodes.time[graph.step_end] + window.start
    step = np.searchsorted(ends, spans.time[worked, 1], side="left")
    return (
        np.concatenate([window.step[events], np.minimum(step, len(ends) - 1)]),
        np.concatenate([of_event, spans.module[worked]]),
        np.concatenate(
            [slack.duration[graph.nodes.of_event[events]], slack.edge[spans.edge[worked]]]
        ),
    )


class PathModules(NamedTuple):
    """Modules of an answer."""

    listed: list[schema.PathModule]
    """The longest on the path, then those off it with the least slack."""
    left_out: int
    """Number of the others."""
    rest: schema.PathTime
    """Time on the path of the others."""


def path_modules(prediction: Prediction) -> PathModules:
    """Choose the modules of an answer."""
    sums = path_sums(prediction)
    steps, paths = len(sums.time), prediction.simulator.analysis.modules.path
    time, slack = sums.time.sum(axis=0), sums.slack.min(axis=0)
    rows = np.flatnonzero(sums.there.any(axis=0))
    total = time[rows].sum(axis=1)
    rows = rows[np.lexsort((rows, slack[rows], -total))]
    on_path = int(np.count_nonzero(total))
    shown = np.concatenate([rows[:on_path][:_ON_PATH], rows[on_path:][:_OFF_PATH]])
    rest = time.sum(axis=0) - time[shown].sum(axis=0)
    listed = [
        schema.PathModule(
            module=paths[row] if row < len(paths) else None,
            module_id=row if row < len(paths) else None,
            path=schema.PathTime(*us),
            slack_us=slack_us(least, steps),
        )
        for row, us, least in zip(
            shown.tolist(),
            (time[shown] / 1000 / steps).tolist(),
            slack[shown].tolist(),
            strict=True,
        )
    ]
    return PathModules(listed, len(rows) - len(listed), in_us(rest, steps))


def in_us(time: Float | Nanoseconds, steps: int) -> schema.PathTime:
    """Nanoseconds of each of `PARTS` over some steps, as microseconds per step."""
    return schema.PathTime(*(np.asarray(time) / 1000 / steps).tolist())


def path_kinds(prediction: Prediction) -> list[schema.PathKind]:
    """Kinds of device events, those first that are longest on the path, then by slack."""
    simulator, path = prediction.simulator, prediction.path
    window, steps = simulator.window, len(simulator.window.steps)
    kinds = simulator.analysis.kinds.kind
    ran = path.event >= 0
    time = np.bincount(
        kinds[path.event[ran]], (path.end - path.start)[ran], minlength=len(schema.KINDS)
    )
    events = np.flatnonzero((window.step >= 0) & ~window.history)
    slack = np.full(len(schema.KINDS), UNBOUND)
    kind = kinds[window.events[events]]
    nodes = prediction.replay.graph.nodes.of_event[events]
    np.minimum.at(slack, kind, prediction.slack.duration[nodes])
    whole = np.bincount(kind, prediction.replay.lengths.duration[nodes], minlength=len(slack))
    there = np.flatnonzero((np.bincount(kind, minlength=len(slack)) > 0) | (time > 0))
    return [
        schema.PathKind(
            kind=schema.KINDS[row],
            device_us=float(whole[row]) / 1000 / steps,
            path_us=float(time[row]) / 1000 / steps,
            slack_us=slack_us(int(slack[row]), steps),
        )
        for row in there[np.lexsort((there, slack[there], -time[there]))].tolist()
    ]


def slack_us(slack: int, steps: int) -> float | None:
    """Slack in microseconds per step; None where nothing waits."""
    return None if slack >= UNBOUND else slack / 1000 / steps


# The critical path at the times of the recording, so that it lies next to what was recorded.
#
# The chain is that of the replay with nothing changed. Its pieces begin where their nodes were
# recorded, and each goes on until the next: so they have no holes, and differ from the replay's by
# the replay's error.


def recorded_path(unchanged: Prediction) -> CriticalPath:
    """Critical path of the replay with nothing changed, at recorded times since the origin."""
    path, pace = unchanged.path, unchanged.pace
    nodes = unchanged.replay.graph.nodes
    end = int(nodes.time[pace.last] + nodes.duration[pace.last])
    begins = np.clip(_begins(unchanged), pace.since, end)
    start = np.maximum.accumulate(begins)
    return replace(path, start=start, end=np.append(start[1:], end)[: len(start)])


def _begins(unchanged: Prediction) -> Nanoseconds:
    """Recorded moment at which each piece begins."""
    path, graph = unchanged.path, unchanged.replay.graph
    nodes, edges, lengths = graph.nodes, graph.edges, unchanged.replay.lengths
    last = path.edge < 0
    source = np.where(last, unchanged.pace.last, edges.source[path.edge])
    target = np.where(last, unchanged.pace.last, edges.target[path.edge])
    begins = nodes.time[source]
    left = np.where(edges.from_end[path.edge], nodes.duration[source], 0)
    left = left + np.minimum(lengths.lag[path.edge], 0)
    runs = np.minimum(begins + left, nodes.time[target])
    rests = np.maximum(runs, nodes.time[target] - lengths.pause[target])
    late = (path.part == Part.PEERS) & (edges.kind[path.edge] != EdgeKind.COLLECTIVE)
    rested = (path.part == Part.PAUSE) | late
    return np.where((path.part == Part.DEVICE) | last, begins, np.where(rested, rests, runs))
