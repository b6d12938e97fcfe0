"""The blocking event of each sync: the device event that took most of it."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.arrays.joins import asof
from tb_hookview.arrays.nesting import ROUNDING_NS, CallTree, lookup
from tb_hookview.arrays.types import DeviceEventIndex, Nanoseconds, ThreadIndex


def blocking_events(
    call_tree: CallTree,
    device_events: DeviceEvents,
    thread: ThreadIndex,
    start: Nanoseconds,
    end: Nanoseconds,
) -> DeviceEventIndex:
    """Device event that each sync waited for, -1 where none ended in it; shape (w,).

    A copy that waits launches a device event of its own, which begins when what is ahead of it has
    ended. The sync waited for that or for the copy itself, whichever took the longer part of it.
    Any other sync waited for the device event that ended last before it returned, on any device.

    Args:
        call_tree: nested host rows.
        device_events: all of the trace.
        thread, start, end: of each sync, shape (w,).
    """
    own = _own_event(call_tree, device_events, thread, start, end)
    until = np.where(own >= 0, lookup(device_events.start, own), end + ROUNDING_NS)
    ahead = np.full(len(start), -1, np.int64)
    anywhere = np.zeros(len(device_events), np.int64)
    for chosen, key in ((own >= 0, device_events.device), (own < 0, anywhere)):
        asked = np.where(own[chosen] >= 0, lookup(device_events.device, own[chosen]), 0)
        ahead[chosen] = asof(key, device_events.end, asked, until[chosen])
    waited = np.maximum(lookup(device_events.end, ahead) - start, 0)
    ahead[waited == 0] = -1
    itself = (own >= 0) & (lookup(device_events.duration, own) > waited)
    return np.where(itself | (ahead < 0), own, ahead)


def _own_event(
    call_tree: CallTree,
    device_events: DeviceEvents,
    thread: ThreadIndex,
    start: Nanoseconds,
    end: Nanoseconds,
) -> DeviceEventIndex:
    """The last device event that the sync's own calls launched, -1 for none."""
    launched = np.flatnonzero(device_events.launch >= 0)
    launch = device_events.launch[launched]
    began = call_tree.start[launch]
    found = asof(call_tree.thread[launch], began, thread, end - 1)
    return np.where(lookup(began, found) >= start, lookup(launched, found), -1)
