"""Device rows that no device can have made, and those that the recording lost."""

from __future__ import annotations

import re

import numpy as np

from tb_hookview.analysis.consistency.fault import Fault, counted, measured
from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import running_max
from tb_hookview.arrays.nesting import ROUNDING_NS, lookup
from tb_hookview.arrays.types import Bool, TreeRow

LONGEST_NS = 60 * 10**9
"""No kernel runs for a minute while nothing else is recorded."""
LOST_AT_LEAST = 0.01
"""Share of launches in the middle, or of device time in overlaps, from which on it is a fault."""

_LAUNCH = re.compile(
    r"(cuda|hip|mu|musa)(Ext)?(Module)?Launch(Cooperative)?Kernel\w*"
    r"|(cuda|hip|mu|musa)LaunchCooperativeKernel\w*|cuLaunch(Cooperative)?Kernel\w*"
    r"|(cuda|hip|cu)GraphLaunch\w*"
)
_GRAPH = re.compile(r"\w+GraphLaunch\w*")
_CAPTURE = re.compile(r"(cuda|hip|cu)Stream(Begin|End)Capture\w*")


def impossible_lengths(host: HostRows, device_events: DeviceEvents) -> tuple[Fault, ...]:
    """Device events of `LONGEST_NS` and more that outlast all other rows of the trace together."""
    long = device_events.duration >= LONGEST_NS
    if not long.any():
        return ()
    starts = [
        column.min() for column in (host.call_tree.start, device_events.start[~long]) if len(column)
    ]
    ends = [
        column.max() for column in (host.call_tree.end, device_events.end[~long]) if len(column)
    ]
    rest = int(max(ends) - min(starts)) if starts else 0
    lengths = device_events.duration[long & (device_events.duration > rest)]
    return measured("impossible-length", lengths.tolist())


def overlaps(host: HostRows, device_events: DeviceEvents) -> tuple[Fault, ...]:
    """Device events of one stream that run at the same time.

    Not those of graphs, which may. Few that overlap by microseconds do so by programmatic launch.
    """
    alone = np.flatnonzero(~_of_graphs(host, device_events))
    order = alone[np.argsort(device_events.stream[alone], kind="stable")]  # each by start, as all
    stream = device_events.stream[order]
    last = running_max(stream, device_events.end[order])
    ends = np.minimum(last[:-1], device_events.end[order][1:])
    common = np.where(stream[1:] == stream[:-1], ends - device_events.start[order][1:], 0)
    over = common[common > ROUNDING_NS]
    share = int(over.sum()) / max(int(device_events.duration.sum()), 1)
    if share < LOST_AT_LEAST:
        return ()
    return (Fault("overlap", len(over), time=int(over.max()), share=share),)


def without_launch(device_events: DeviceEvents) -> tuple[Fault, ...]:
    """Device events whose launch is not in the trace, by their share of device time."""
    missing = device_events.launch < 0
    if not missing.any():
        return ()
    time = int(device_events.duration.sum())
    share = int(device_events.duration[missing].sum()) / time if time else 1.0
    return (Fault("no-launch", int(np.count_nonzero(missing)), share=share),)


def lost_device_events(host: HostRows, device_events: DeviceEvents) -> tuple[Fault, ...]:
    """Launches whose device events are not in the trace.

    At the end of a recording some have not begun, and those into a graph that is captured never
    do. At the start and in the middle, or with none at all, the profiler lost them.
    """
    launches = host.named(_LAUNCH.fullmatch)
    launches = launches[np.argsort(host.call_tree.start[launches], kind="stable")]
    launches = launches[~_in_capture(host, launches)]
    if not len(launches):
        return ()
    if not len(device_events):
        return counted("no-device-events", len(launches))
    has = np.zeros(len(host), bool)
    has[device_events.launch[device_events.launch >= 0]] = True
    known = np.flatnonzero(has[launches])
    if not len(known):
        return ()
    between = int(known[-1] - known[0] + 1 - len(known))
    share = between / len(launches)
    lost = (Fault("lost-in-between", between, share=share),) if share >= LOST_AT_LEAST else ()
    return (*counted("lost-at-start", int(known[0])), *lost)


def _in_capture(host: HostRows, rows: TreeRow) -> Bool:
    """Rows between the calls that begin and end the capture of a graph, on any thread."""
    bounds = host.named(_CAPTURE.fullmatch)
    times = np.sort(host.call_tree.start[bounds])
    return np.asarray(np.searchsorted(times, host.call_tree.start[rows]) % 2 == 1)


def _of_graphs(host: HostRows, device_events: DeviceEvents) -> Bool:
    """Device events that a graph's launch made."""
    graph = np.zeros(len(host), bool)
    graph[host.named(_GRAPH.fullmatch)] = True
    numbered = host.trace.events.graph[device_events.event] > 0
    return np.asarray(numbered | (lookup(graph, device_events.launch) > 0))
