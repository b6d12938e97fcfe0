"""The critical path in pieces of one step, one part of the path and one module each."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import DeviceEventIndex, Int, ModuleIndex, Nanoseconds, ThreadIndex
from tb_hookview.simulation.changes import kept_share
from tb_hookview.simulation.critical_path import CriticalPath, Part
from tb_hookview.simulation.simulator import Prediction

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
    count = last - first
    piece = np.repeat(np.arange(len(count)), count)
    span = np.arange(len(piece)) - np.repeat(np.cumsum(count) - count, count) + first[piece]
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
