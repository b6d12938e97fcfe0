"""What is changed in a replay: device events, host time, syncs, pauses."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from msgspec import Struct, field

from tb_hookview.analysis.dependencies.graph import EdgeKind, Graph
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.types import (
    DeviceEventIndex,
    Float,
    Int,
    Nanoseconds,
    SyncIndex,
    TimeSet,
)
from tb_hookview.simulation.replay import NEVER, Lengths


class DeviceChange(Struct, frozen=True):
    """Durations of some device events."""

    events: DeviceEventIndex
    factor: float = 0.0
    ns: Nanoseconds | None = None
    """Nanoseconds of each that `factor` applies to; None for all of it."""


class HostChange(Struct, frozen=True):
    """Time of one host thread, or of all (-1)."""

    thread: int
    time: TimeSet | None
    """On the trace's clock; None for all of it."""
    factor: float = 0.0


class Change(Struct, frozen=True):
    """Anything that can be changed, together."""

    device: tuple[DeviceChange, ...] = ()
    host: tuple[HostChange, ...] = ()
    syncs: SyncIndex = field(default_factory=lambda: np.zeros(0, np.int64))
    """Syncs that are not there: they neither wait nor take time by themselves."""
    pauses: DeviceEventIndex = field(default_factory=lambda: np.zeros(0, np.int64))
    """Device events before which there is no unexplained pause."""


def together(changes: Iterable[Change]) -> Change:
    """One change of several."""
    listed = list(changes)
    none = np.zeros(0, np.int64)
    return Change(
        device=tuple(each for change in listed for each in change.device),
        host=tuple(each for change in listed for each in change.host),
        syncs=unique(np.concatenate([none, *(change.syncs for change in listed)])),
        pauses=unique(np.concatenate([none, *(change.pauses for change in listed)])),
    )


class Changer(Struct, frozen=True, dict=True):
    """Applies changes to the lengths of a graph."""

    graph: Graph
    start: int
    """Start of the window on the trace's clock."""

    def apply(self, change: Change) -> Lengths:
        """Lengths of nodes and edges with a change."""
        graph = self.graph
        duration = self._durations(change.device) if change.device else graph.nodes.duration
        lag = self._host(change.host) if change.host else graph.edges.lag
        if len(change.syncs):
            free = np.zeros(len(graph.nodes.time), bool)
            free[graph.sync_end[isin(graph.sync, change.syncs)]] = True
            of_sync = free[graph.edges.target]
            lag = np.where(of_sync & graph.edges.of(EdgeKind.SYNC), NEVER, lag)
            lag = np.where(of_sync & graph.edges.of(EdgeKind.HOST), 0, lag)
        pause = graph.pause
        if len(change.pauses):
            pause = np.where(
                (graph.nodes.event >= 0) & isin(graph.nodes.event, change.pauses), 0, pause
            )
        return Lengths(duration, lag, pause)

    def _durations(self, changes: Iterable[DeviceChange]) -> Nanoseconds:
        """Durations; of several changes of one event, the parts taken off add up."""
        graph = self.graph
        size = int(graph.nodes.event.max(initial=-1)) + 1
        whole, off = np.zeros(size), np.zeros(size)
        whole[graph.nodes.event[graph.nodes.event >= 0]] = graph.nodes.duration[
            graph.nodes.event >= 0
        ]
        factor = np.ones(size)
        for change in changes:
            inside = change.events < size
            events = change.events[inside]
            if change.ns is None:
                factor[events] *= change.factor
            else:
                np.add.at(off, events, change.ns[inside] * (1 - change.factor))
        left = np.maximum(whole * factor - off, 0)
        mine = (graph.nodes.event >= 0) & ~graph.nodes.history
        changed = graph.nodes.duration.copy()
        changed[mine] = left[graph.nodes.event[mine]].astype(np.int64)
        return changed

    def _host(self, changes: Iterable[HostChange]) -> Nanoseconds:
        """Lags of the host's edges."""
        kept = np.ones(len(self.graph.edges.lag))
        gone: dict[int, list[TimeSet]] = {}
        for change in changes:
            if change.factor == 0 and change.time is not None:
                gone.setdefault(change.thread, []).append(change.time)
            else:
                kept *= 1 - (1 - change.factor) * self._covered(change.thread, change.time)
        for thread, times in gone.items():
            kept *= 1 - self._covered(thread, intervals.normal(np.concatenate(times)))
        return np.where(
            kept == 1, self.graph.edges.lag, (self.graph.edges.lag * kept).astype(np.int64)
        )

    def _covered(self, thread: int, time: TimeSet | None) -> Float:
        """Share of each edge that is a thread's, and lies in some time."""
        edges, spans, threads = self._host_edges
        share = np.zeros(len(self.graph.edges.lag))
        mine = edges if thread < 0 else edges[threads == thread]
        if time is None:
            share[mine] = 1
            return share
        windows = spans if thread < 0 else spans[threads == thread]
        length = np.maximum(windows[:, 1] - windows[:, 0], 1)
        share[mine] = intervals.lengths_within(time, windows) / length
        return share

    @cached_property
    def _host_edges(self) -> tuple[Int, Int, Int]:
        """Edges that are the host's work, the time each spans on the trace's clock, its thread."""
        graph = self.graph
        edges = np.flatnonzero(graph.edges.of(EdgeKind.HOST, EdgeKind.HANDOVER, EdgeKind.QUEUE))
        end = graph.nodes.time[graph.edges.target[edges]] + self.start
        begin = np.where(
            graph.edges.kind[edges] == EdgeKind.QUEUE,
            end - graph.edges.lag[edges],
            graph.nodes.time[graph.edges.source[edges]] + self.start,
        )
        return edges, np.stack([begin, end], axis=1), graph.nodes.thread[graph.edges.target[edges]]
