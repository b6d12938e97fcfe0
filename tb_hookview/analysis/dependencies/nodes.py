"""Nodes of the graph: points of host threads, and device events, in order of time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.consistency.clocks import LARGEST_SKEW_NS
from tb_hookview.analysis.dependencies.points import LAUNCHES, Points
from tb_hookview.analysis.dependencies.window import Window
from tb_hookview.arrays.joins import running_max
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Int, Nanoseconds, ThreadIndex


class Nodes(NamedTuple):
    """Nodes in the order of `number_nodes`, shape (n,); node 0 is the origin."""

    time: Nanoseconds
    """Since the start of the window."""
    duration: Nanoseconds
    """Of device events; 0 for points of the host."""
    thread: ThreadIndex
    """Thread of a point of the host, -1 for a device event and the origin."""
    event: DeviceEventIndex
    """Device event of each node, -1 for a point of the host."""
    history: Bool
    """Device events launched before the window: they stay as recorded."""
    of_point: Int
    """Node of each point."""
    of_event: Int
    """Node of each of the window's device events."""


def number_nodes(analysis: Analysis, window: Window, points: Points) -> Nodes:
    """Put points and device events in one order of time, after the origin.

    A device event comes after its launch and after the one before it on its stream, where its
    clock says otherwise by no more than clocks differ: edges lead on in that order.
    """
    events = analysis.device_events
    start = np.maximum(events.start[window.events], window.start)
    end = np.maximum(events.end[window.events], start)
    host = len(points.time)
    time = np.concatenate([[window.start], points.time, start])
    rank = np.concatenate([[-1], points.rank, np.full(len(start), LAUNCHES + 1)])
    mine = analysis.trace.events.correlation[events.event[window.events]]
    tie = np.concatenate([np.zeros(host + 1, np.int64), mine])
    moment = np.concatenate([time[: host + 1], _begun(analysis, window, start, mine)])
    order = np.lexsort((tie, rank, moment))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    none = np.zeros(host + 1, np.int64)
    return Nodes(
        time=time[order] - window.start,
        duration=np.concatenate([none, end - start])[order],
        thread=np.concatenate([[-1], points.thread, np.full(len(start), -1)])[order],
        event=np.concatenate([none - 1, window.events])[order],
        history=np.concatenate([none > 0, window.history])[order],
        of_point=number[1 : host + 1],
        of_event=number[host + 1 :],
    )


def _begun(analysis: Analysis, window: Window, start: Nanoseconds, correlation: Int) -> Nanoseconds:
    """Moment by which each device event of the window is put in order."""
    events = analysis.device_events
    launched = lookup(analysis.call_tree.start, events.launch[window.events])
    lead = launched - start
    moment = np.where((lead > 0) & (lead <= LARGEST_SKEW_NS), launched, start)
    stream = events.stream[window.events]
    order = np.lexsort((correlation, start, stream))
    moment[order] = running_max(stream[order], moment[order])
    return moment
