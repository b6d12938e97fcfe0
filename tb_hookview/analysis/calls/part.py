"""Calls of one sort with their division, and what they wait for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview.arrays.types import DeviceEventIndex, Int, Nanoseconds, TreeRow


class Part(NamedTuple):
    """Calls of one sort, shape (c,), and events that they cannot return before, shape (w,)."""

    row: TreeRow
    waited: Nanoseconds
    transfer: Nanoseconds
    ahead: DeviceEventIndex
    """The event that each waited for, -1 for none."""
    copy: DeviceEventIndex
    """The copy that held the host, -1 for none."""
    waiting: Int
    """Index of the call that cannot return before an event; it may have several."""
    event: DeviceEventIndex
    """That event."""


def none(row: TreeRow) -> DeviceEventIndex:
    """No device event for each row."""
    return np.full(len(row), -1, np.int64)
