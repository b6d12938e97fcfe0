"""Idle time of the devices, cut and billed: every nanosecond of it has one cause.

    device     |== work ==|                                   |== work ==|
    gap                    <--------------------------------->
    wait          [            ]        host waits, billed up to its own length
    loader                       [          ]
    launch                                               [  ]
    billed                 sync  data_loading   launch

Causes *claim* time (`idle.py` says which, and why); the claims of a gap are heard in order, and a
moment is billed to the first that holds it. What no claim holds is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Int


class Cause(IntEnum):
    """Why a device was idle; lower-case names are the fields of `Step.idle` in the report."""

    SYNC = 0
    """The host waited for the device, and so launched nothing behind what it waited for."""
    DATA_LOADING = 1
    """The host was inside a `DataLoader`."""
    COPY = 2
    """The host was inside a copy of unpinned memory that was no wait for the device."""
    ALLOCATOR = 3
    """The host was allocating or freeing device or pinned memory."""
    LAUNCH = 4
    """The next work was launched too late: the host had other things to do."""
    COMMUNICATION = 5
    """The host was in a collective call, or work already launched lay next to a collective."""
    PROFILER = 6
    """The profiler was at work."""
    DEVICE = 7
    """The next work had been launched in time: the device's own pause between two pieces."""
    UNKNOWN = 8
    """Before the first launch, after the last work, and before work whose launch is unknown."""


class Claims(NamedTuple):
    """Time claimed by one cause, shape (c,) each."""

    cause: Cause
    start: Int
    end: Int
    """Nanoseconds; end at or before start claims nothing."""
    source: Int
    """What the claim is about: an index into the waits for SYNC, else a forest row; -1 for none."""


class Gaps(Struct, frozen=True):
    """Idle time of the devices, by device and start; shape (g,). A gap may be of many rows."""

    start: Int
    end: Int
    """Nanoseconds; rows of one device do not overlap."""
    device: Int
    """Device index as the trace numbers it."""
    cause: Int
    """`Cause`."""
    work: Int
    """Index into `DeviceEvents` of the work that ended the gap, -1 after the last."""
    row: Int
    """Forest row of the call (or loader's range) that caused it; for LAUNCH, DEVICE and
    COMMUNICATION the launch of the work that ended the gap. -1 for none."""
    sync: Int
    """Index into `Syncs` of the wait that caused it, -1 where it is no wait's."""

    def __len__(self) -> int:
        return len(self.start)

    @property
    def duration(self) -> Int:
        """Nanoseconds."""
        return self.end - self.start

    def by_sync(self, count: int) -> Int:
        """Idle time caused by each of `count` waits, nanoseconds, shape (count,)."""
        caused = self.sync >= 0
        total = np.zeros(count, np.int64)
        np.add.at(total, self.sync[caused], self.duration[caused])
        return total

    def within(self, windows: Int) -> dict[Cause, Int]:
        """Idle time of each cause in each window, summed over the devices, nanoseconds.

        Args:
            windows: start and end of each, shape (w, 2); they may overlap.
        """
        total = {cause: np.zeros(len(windows), np.int64) for cause in Cause}
        for device in unique(self.device):
            for cause, sums in total.items():
                mine = (self.device == device) & (self.cause == cause)
                pieces = np.stack([self.start[mine], self.end[mine]], axis=1)
                sums += intervals.lengths_within(pieces, windows)
        return total


class Pieces(NamedTuple):
    """Idle time cut at the bounds of what claims it; ordered by start."""

    start: Int
    end: Int
    cause: Int
    source: Int


def cut(idle: Int, claims: Sequence[Claims]) -> Pieces:
    """Bill idle time: every moment of it to the first of the claims that holds it.

    Of claims of one cause that overlap, the one that reaches furthest among those that have begun
    is billed.

    Args:
        idle: a normal set (see `intervals`).
        claims: in the order in which they are heard.
    """
    bounds = [idle.ravel(), *(claim.start for claim in claims), *(claim.end for claim in claims)]
    edge = np.sort(np.concatenate(bounds))
    start, end = edge[:-1], edge[1:]
    inside = (start < end) & (_holder(idle[:, 0], idle[:, 1], start) >= 0)
    start, end = start[inside], end[inside]
    cause = np.full(len(start), Cause.UNKNOWN, np.int64)
    source = np.full(len(start), -1, np.int64)
    for claim in reversed(claims):
        order = np.argsort(claim.start, kind="stable")
        holder = _holder(claim.start[order], claim.end[order], start)
        held = holder >= 0
        cause[held] = claim.cause
        source[held] = claim.source[order][holder[held]]
    return _joined(Pieces(start, end, cause, source))


def _holder(start: Int, end: Int, time: Int) -> Int:
    """The interval, of those begun the one that reaches furthest, that holds each moment; or -1.

    Intervals are ordered by start.
    """
    if not len(start):
        return np.full(len(time), -1, np.int64)
    reach = np.maximum.accumulate(end)
    grows = np.concatenate([[True], end[1:] > reach[:-1]])
    furthest = np.maximum.accumulate(np.where(grows, np.arange(len(start)), 0))
    place = np.searchsorted(start, time, side="right") - 1
    holds = (place >= 0) & (reach[place] > time)
    return np.where(holds, furthest[place], -1)


def _joined(pieces: Pieces) -> Pieces:
    """Pieces that touch and are billed alike, as one."""
    start, end, cause, source = pieces
    if not len(start):
        return pieces
    like = (cause[1:] == cause[:-1]) & (source[1:] == source[:-1]) & (start[1:] == end[:-1])
    opens = np.concatenate([[True], ~like])
    closes = np.concatenate([~like, [True]])
    return Pieces(start[opens], end[closes], cause[opens], source[opens])
