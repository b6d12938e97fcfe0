"""Calls in which the host loaded the code of kernels.

CUDA and HIP load the code of a kernel, often with the whole library that it is in, when it is
launched for the first time (lazy loading). The launching call lasts for as long, up to seconds.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.calls.division import CallTimes
from tb_hookview.analysis.device.launch_timing import LaunchTiming
from tb_hookview.analysis.host.runtime_calls import Call
from tb_hookview.arrays.joins import first_of_each, isin, unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Nanoseconds, TreeRow
from tb_hookview.trace import EventCategory

_LAUNCH = re.compile(r".*(?:Launch(?:Cooperative)?Kernel|KernelLaunch).*")
"""Calls that launch one kernel; the first launch of a graph takes long for other reasons."""
_STALLS = (Call.WAIT, Call.COPY, Call.ALLOCATE)


class KernelLoads(NamedTuple):
    """Calls that loaded code of kernels, ascending; none lies in another, shape (l,)."""

    row: TreeRow
    end: Nanoseconds
    """End of the loading: of the call, or start of the kernel that it launched if that is earlier,
    as in a call that waits for its kernel."""
    duration: Nanoseconds


def find_kernel_loads(timing: LaunchTiming, calls: CallTimes) -> KernelLoads:
    """Find calls that load modules by their names, and first launches that took far too long.

    Such a launch is the first of its kernel, by name and device, that the trace has; until the
    kernel began, it lasted over `SLOW` times the median of the call's later ones (of all where
    there are none); and the host neither waited for a device, copied nor allocated in it.

    Args:
        timing: the device events and their launches.
        calls: how the time of calls divides: one that waited may be slow for that.
    """
    call_tree = timing.call_tree
    first = _first_launches(timing)
    launch, started = timing.device_events.launch[first], timing.device_events.start[first]
    until = np.minimum(call_tree.end[launch], started)
    slow = timing.slow(launch, until - call_tree.start[launch], but_these=True)
    slow &= ~isin(launch, calls.onto_full_queue)
    if slow.any():
        slow &= ~_stalls(timing, calls)[launch]
    end = call_tree.end.copy()
    end[launch[slow]] = until[slow]
    loads = timing.call == Call.LOAD
    loads[launch[slow]] = True
    row = np.flatnonzero(loads)
    if len(row):
        row = row[call_tree.nearest_above(loads)[row] < 0]
    return KernelLoads(row, end[row], end[row] - call_tree.start[row])


def _first_launches(timing: LaunchTiming) -> DeviceEventIndex:
    """The kernel of the first launch of each kernel on each device."""
    events, names = timing.device_events, timing.host.trace.events.name
    rows = np.flatnonzero(timing.first_of_launch & _single_kernels(timing))
    rows = rows[np.argsort(timing.launch_start[rows], kind="stable")]
    devices, device = unique_inverse(events.device[rows])
    name = names[events.event[rows]].astype(np.int64)
    return rows[first_of_each(name * len(devices) + device)]


def _single_kernels(timing: LaunchTiming) -> Bool:
    """Kernels launched by a call that launches one, shape (d,)."""
    host, events = timing.host, timing.device_events
    is_kernel = host.trace.events.kind[events.event] == EventCategory.KERNEL
    name, texts = lookup(host.string, events.launch), host.trace.strings
    launching = [n for n in unique(name[name >= 0]).tolist() if _LAUNCH.fullmatch(texts[n])]
    return np.asarray(is_kernel & isin(name, launching))


def _stalls(timing: LaunchTiming, calls: CallTimes) -> Bool:
    """Rows in or below which the host waited, copied or allocated, shape (n,)."""
    stalling = isin(timing.call, [int(call) for call in _STALLS])
    stalling[calls.row] = True
    before = np.concatenate([[0], np.cumsum(stalling)])
    return np.asarray(before[timing.call_tree.subtree_end] > before[:-1])
