"""Kernels that something else interrupted: they ran far longer than equal launches."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import dense_rank, isin
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int, Nanoseconds

_EQUAL = 10
"""Launches from which on their usual time is known."""
_SPREAD = 1.25
"""Times the median that most of them take at most."""
_MOST, _MOST_PRODUCTS = 90, 75
"""Percent of them. Shapes leave no room for another size of work in matrix products."""
_PRODUCTS = frozenset(
    {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::_addmm_activation"}
)
_NEVER = 1 << 62
_LONGER = 2.0
_LONGER_NS = 100_000
"""An interrupted one takes this many times the median, and so much more than it."""
_FEWEST = 3
"""Launches, where fewer than `_EQUAL` are equal: all others have to take about the same time."""
_FEW_LONGER, _FEW_LONGER_NS = 20.0, 1_000_000
"""The same of few launches: a time slice, and not another size of work."""


def find_preempted(host: HostRows, events: DeviceEvents, counted: Bool) -> Nanoseconds:
    """Time of each device event beyond that of equal launches; 0 for most, shape (d,).

    Equal are kernels of one name, grid and block that were launched with inputs of the same
    shapes. Where nine tenths of them take the same time, three quarters of matrix products, one
    that takes twice as long did not compute for longer. Of few equal launches only one may differ,
    and by far more; not the first of them, which may load code or move memory. Those that ran while
    another event of their device did are left out.

    Args:
        host: the host rows.
        events: the device events.
        counted: those that may be interrupted: no collective, which waits for its peers.
    """
    rows, none = host.trace.events, np.broadcast_to(np.int64(0), len(events))
    operator = lookup(host.call_tree.parent, events.launch)
    shapes = lookup(rows.shapes, lookup(host.call_tree.event, operator))
    wanted = counted & events.is_kernel & (shapes > 0)
    chosen = np.flatnonzero(wanted & ~_shared(events))
    if not len(chosen):
        return none
    event = events.event[chosen]
    key = dense_rank(
        *(each[event].astype(np.int64) for each in (rows.name, rows.grid, rows.block)),
        shapes[chosen],
        events.device[chosen],
    )
    order = np.lexsort((events.duration[chosen], key))
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    duration, start = events.duration[chosen][order], events.start[chosen][order]
    product = isin(operator[chosen][order][first], host.named(_PRODUCTS.__contains__))
    usual = _usual(duration, first, np.where(product, _MOST_PRODUCTS, _MOST))
    few = (np.diff(first, append=len(order)) < _EQUAL)[key[order]]
    beyond = _beyond(duration, usual[key[order]], few)
    beyond[few & (start == np.minimum.reduceat(start, first)[key[order]])] = 0
    if not beyond.any():
        return none
    found = none.copy()
    found[chosen[order]] = beyond
    return found


def _usual(duration: Nanoseconds, first: Int, most: Int) -> Nanoseconds:
    """Median of each group of equal launches; a time that nothing takes where they differ.

    Args:
        duration: by group, ascending.
        first: index of the first of each group.
        most: percent of each that have to take about the same time.
    """
    size = np.diff(first, append=len(duration))
    few, usual = size < _EQUAL, duration[first + size // 2]
    alike = np.where(few, size - 1, -(-most * size // 100))
    known = duration[first + alike - 1] <= _SPREAD * usual
    known &= ~few | ((size >= _FEWEST) & (usual <= _SPREAD * duration[first]))
    return np.where(known, usual, _NEVER)


def _beyond(duration: Nanoseconds, usual: Nanoseconds, few: Bool) -> Nanoseconds:
    """Time of each beyond the usual where that is much longer, else 0.

    Args:
        duration: of launches.
        usual: of those that are equal to each.
        few: which have few of them.
    """
    beyond = duration - usual
    times, least = np.where(few, _FEW_LONGER, _LONGER), np.where(few, _FEW_LONGER_NS, _LONGER_NS)
    return np.where((duration >= times * usual) & (beyond >= least), beyond, 0)


def _shared(events: DeviceEvents) -> Bool:
    """Events that ran while another one of their device did."""
    shared = np.zeros(len(events), bool)
    for device in events.busy:
        rows = np.flatnonzero(events.device == device)
        start, end = events.start[rows], np.maximum.accumulate(events.end[rows])
        later = start[1:] < end[:-1]
        shared[rows[1:]] |= later
        shared[rows[:-1]] |= events.end[rows[:-1]] > start[1:]
    return shared
