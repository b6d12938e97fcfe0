"""The steps that are replayed as lanes, as recorded and as predicted, on one axis.

Both begin at the start of the first replayed step. A lane of a host thread shows what a replay
knows of it: from one of its moments to the next (a launch, a sync, a hand-over, the end of a step)
its own work first, then, where there is some, the wait for something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.dependencies.graph import EdgeKind
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Int, Nanoseconds, TreeRow, to_us
from tb_hookview.schema import Phase
from tb_hookview.schema.timeline import LaneKind, Minimap, TimelineOverview
from tb_hookview.simulation.changes import Change
from tb_hookview.simulation.critical_path import CriticalPath
from tb_hookview.simulation.simulator import Prediction, Simulator
from tb_hookview.timeline import timeline as wire
from tb_hookview.timeline.lanes import lane
from tb_hookview.timeline.lanes.catalogue import LOADING, LaneEntry, PathLane, thread_label
from tb_hookview.timeline.lanes.lane import OF_PHASE, Colour, LaneItems
from tb_hookview.timeline.lanes.trace_lanes import costly_syncs
from tb_hookview.timeline.merging import LaneSet
from tb_hookview.timeline.timeline import Timeline

MOST_LANES = 12
"""Threads and streams that are shown, the fullest first."""


class Schedule(NamedTuple):
    """When everything in a graph happens, nanoseconds since the start of the first step."""

    title: str
    time: Nanoseconds
    """Of each node."""
    duration: Nanoseconds
    lag: Nanoseconds
    """Of each edge."""
    path: CriticalPath


class ReplayedLanes(LaneSet):
    """Lanes of a prediction below those of the recording.

    Args:
        timeline: of the trace, for names and colours.
        path: of the simulator that predicts.
        prediction: what is shown below.
    """

    def __init__(self, timeline: Timeline, path: PathLane, prediction: Prediction) -> None:
        self._timeline, self._path = timeline, path
        graph, unchanged = prediction.replay.graph, path.simulator.unchanged
        self._graph = graph
        lengths = prediction.replay.lengths
        recorded = unchanged.replay.lengths
        self._schedules = (
            Schedule(
                "as recorded", graph.nodes.time, recorded.duration, recorded.lag, path.recorded
            ),
            Schedule(
                "as predicted",
                prediction.replay.time,
                lengths.duration,
                lengths.lag,
                prediction.path,
            ),
        )
        entries = [entry for schedule in self._schedules for entry in self._entries(schedule)]
        super().__init__(timeline.names, entries, path.simulator.window.start)

    @property
    def length(self) -> int:
        """From the start of the first step to the end of the longer schedule, nanoseconds."""
        return max(int((each.time + each.duration).max()) for each in self._schedules)

    def _entries(self, schedule: Schedule) -> Iterator[LaneEntry]:
        """Lanes of one schedule: steps, critical path, threads, streams."""

        def entry(kind: LaneKind, title: str, items: Callable[[], LaneItems]) -> LaneEntry:
            return LaneEntry(kind, schedule.title, title, schedule.title, items, row_group=None)

        yield entry("steps", "steps", partial(self._steps, schedule))
        yield entry("path", "critical path", partial(self._on_path, schedule))
        for thread in self._fullest(self._graph.nodes.thread):
            label = thread_label(self._timeline.analysis, thread)
            yield entry("host", label, partial(self._host, schedule, thread))
        for stream in self._fullest(self._streams):
            name = self._timeline.analysis.trace.threads[stream].stream
            yield entry("device", f"stream {name}", partial(self._device, schedule, stream))

    @staticmethod
    def _fullest(lanes: Int) -> list[int]:
        count = np.bincount(lanes[lanes >= 0])
        order = np.argsort(-count, kind="stable")[:MOST_LANES]
        return [lane for lane in order.tolist() if count[lane]]

    @cached_property
    def _streams(self) -> Int:
        """Stream of each node, -1 for points of the host."""
        events = self._timeline.analysis.device_events
        return lookup(events.stream, self._graph.nodes.event)

    def _items(self, start: Nanoseconds, end: Nanoseconds, name: Int, colour: Int) -> LaneItems:
        """Items on the trace's clock, without those that take no time."""
        origin, nothing = self._path.simulator.window.start, np.full(len(start), -1)
        taken = end > start
        return LaneItems(
            start[taken] + origin,
            end[taken] + origin,
            name[taken],
            colour[taken].astype(np.uint8),
            nothing[taken],
        )

    def _steps(self, schedule: Schedule) -> LaneItems:
        end = schedule.time[self._graph.step_end]
        start = np.concatenate([[0], end[:-1]])
        name = self.names.step + np.array(self._path.simulator.window.steps)
        return self._items(start, end, name, np.full(len(end), int(Colour.OTHER)))

    def _on_path(self, schedule: Schedule) -> LaneItems:
        items = self._path.items_of(schedule.path, self.names)
        origin = self._path.simulator.window.start
        return self._items(
            items.start - origin, items.end - origin, items.name, items.colour.astype(np.int64)
        )

    def _host(self, schedule: Schedule, thread: int) -> LaneItems:
        """Work of a thread between its moments, and its waits for the device."""
        graph, analysis = self._graph, self._timeline.analysis
        mine = graph.nodes.thread[graph.edges.target] == thread
        edge = np.flatnonzero(mine & (graph.edges.kind == EdgeKind.HOST))
        start, target = schedule.time[graph.edges.source[edge]], graph.edges.target[edge]
        end = schedule.time[target]
        works = np.minimum(start + np.maximum(schedule.lag[edge], 0), end)
        row = self._path.leads_to(edge)
        phase = np.where(row >= 0, analysis.phases.row[row], int(Phase.OTHER))
        working = self._path.working_rows(row)
        events = analysis.trace.events
        name = np.where(working >= 0, events.name[analysis.call_tree.event[working]], 0)
        name = np.where(working >= 0, name, self.names.path + EdgeKind.HOST)
        loading = graph.loading[edge]
        name = np.where(loading, self.names.path + LOADING, name)
        colour = np.where(loading, Colour.DATA, OF_PHASE[phase])
        sync = edge[isin(target, graph.sync_end)]
        waits = isin(edge, sync)
        return self._items(
            np.concatenate([start, works[waits]]),
            np.concatenate([works, end[waits]]),
            np.concatenate([name, name[waits]]),
            np.concatenate([colour, self._wait_colours(row[waits])]),
        )

    def _wait_colours(self, row: TreeRow) -> Int:
        """Colours of waits by their syncs' rows: `WAIT` where the device was idle when recorded."""
        analysis = self._timeline.analysis
        costly = analysis.syncs.row[costly_syncs(analysis)]
        return np.where(isin(row, costly), int(Colour.WAIT), int(Colour.IDLE))

    def _device(self, schedule: Schedule, stream: int) -> LaneItems:
        """Device events of a stream."""
        nodes = np.flatnonzero(self._streams == stream)
        events = self._timeline.analysis.trace.events
        row = self._timeline.analysis.device_events.event[self._graph.nodes.event[nodes]]
        start = schedule.time[nodes]
        colour = self._timeline.rows.colour[row].astype(np.int64)
        name = events.name[row].astype(np.int64)
        return self._items(start, start + schedule.duration[nodes], name, colour)


def overview(lanes: ReplayedLanes) -> TimelineOverview:
    """The lanes, as long as the longer schedule; times count from the start of the first step."""
    return TimelineOverview(
        start_us=to_us(lanes.origin),
        duration_us=to_us(lanes.length),
        events=sum(len(lanes.lane(number)) for number in range(len(lanes.entries))),
        lanes=[wire.lane_row(lanes, number) for number in range(len(lanes.entries))],
        minimap=Minimap([], [], []),
        colours=list(lane.NAMES),
    )


def replayed_lanes(timeline: Timeline, simulator: Simulator, change: Change) -> ReplayedLanes:
    """Lanes of the steps of a simulator, as recorded and with a change."""
    path = timeline.path
    if path.simulator is not simulator:
        path = PathLane(timeline.analysis, simulator)
    return ReplayedLanes(timeline, path, simulator.predict(change))
