"""Names for the arrays of the analyzer, by what their numbers are.

All of whole numbers are the same type to a checker: `NDArray[np.int64]`. A name says of which table
a number is the row, or in which unit it counts; -1 stands for none in an index.
"""

from __future__ import annotations

from typing import Any, SupportsInt, TypeAlias

import numpy as np
from numpy.typing import NDArray

Int: TypeAlias = NDArray[np.int64]
"""Whole numbers that are none of what follows: counts, codes, keys."""
Index: TypeAlias = NDArray[np.int32]
"""An index in the columns of a trace, which are long."""
Code: TypeAlias = NDArray[np.int8]
"""A member of an enumeration in the columns of a trace."""
Bool: TypeAlias = NDArray[np.bool_]
Float: TypeAlias = NDArray[np.float64]

# Units

Nanoseconds: TypeAlias = NDArray[np.int64]
"""Moments on the trace's clock, or durations."""
Intervals: TypeAlias = NDArray[np.int64]
"""Starts and ends in nanoseconds, shape (n, 2), in any order."""
TimeSet: TypeAlias = NDArray[np.int64]
"""A normal set of time (see `intervals`): sorted, disjoint, none empty; shape (n, 2)."""

# Rows of the trace's columns

EventRow: TypeAlias = NDArray[np.int64]
"""Rows of `Events`."""
StringIndex: TypeAlias = NDArray[np.int64]
"""Index into `Trace.strings`."""
ThreadIndex: TypeAlias = NDArray[np.int64]
"""Index into `Trace.threads`; of a device event, its stream."""

# Rows of what the analysis makes

TreeRow: TypeAlias = NDArray[np.int64]
"""Rows of the call tree, which columns over host rows share."""
NodeIndex: TypeAlias = NDArray[np.int64]
"""Index into `Nodes`."""
ModuleIndex: TypeAlias = NDArray[np.int64]
"""Index into `Modules`."""
DeviceEventIndex: TypeAlias = NDArray[np.int64]
"""Index into `DeviceEvents`."""
GapIndex: TypeAlias = NDArray[np.int64]
"""Index into `Gaps`."""
SyncIndex: TypeAlias = NDArray[np.int64]
"""Index into `Syncs`."""
StepIndex: TypeAlias = NDArray[np.int64]
"""Index into `Steps`."""
DeviceNumber: TypeAlias = NDArray[np.int64]
"""Devices as the trace numbers them."""

# Rows of what the timeline makes

ItemIndex: TypeAlias = NDArray[np.int64]
"""Positions of items in a lane."""
NameIndex: TypeAlias = NDArray[np.int64]
"""Index into the texts of `LaneNames`."""


# Units of time: whole nanoseconds inside, microseconds in answers.


def to_us(nanoseconds: SupportsInt) -> float:
    """One time in nanoseconds as microseconds."""
    return int(nanoseconds) / 1000


def microseconds(nanoseconds: Nanoseconds) -> list[Any]:
    """Times in nanoseconds as microseconds, in lists as deep as the array."""
    times: list[Any] = (nanoseconds / 1000).tolist()
    return times
