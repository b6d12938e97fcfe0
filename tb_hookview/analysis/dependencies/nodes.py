"""Nodes of the graph: points of host threads, and device events, in order of time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.dependencies.points import LAUNCHES, Points
from tb_hookview.analysis.dependencies.window import Window
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Int, Nanoseconds, ThreadIndex


class Nodes(NamedTuple):
    """Nodes in order of recorded time, shape (n,); node 0 is the origin."""

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
    """Put points and device events in one order of time, after the origin."""
    events = analysis.device_events
    start = np.maximum(events.start[window.events], window.start)
    end = np.maximum(events.end[window.events], start)
    host = len(points.time)
    time = np.concatenate([[window.start], points.time, start])
    rank = np.concatenate([[-1], points.rank, np.full(len(start), LAUNCHES + 1)])
    mine = analysis.trace.events.correlation[events.event[window.events]]
    tie = np.concatenate([np.zeros(host + 1, np.int64), mine])
    order = np.lexsort((tie, rank, time))
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
