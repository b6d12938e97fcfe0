"""Rows of a table as far as they lie in a window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_hookview.arrays.joins import index_of
from tb_hookview.arrays.nesting import lookup, self_time
from tb_hookview.arrays.types import Int, Nanoseconds


@dataclass(frozen=True)
class Clipped:
    """The rows that touch a window; arrays of shape (k,), times in nanoseconds."""

    row: Int
    """Rows of the table, ascending."""
    start: Nanoseconds
    end: Nanoseconds

    @property
    def time(self) -> Nanoseconds:
        """Time of each in the window."""
        return self.end - self.start

    def own_time(self, above: Int) -> Nanoseconds:
        """Time of each in the window, less that of the rows inside.

        Args:
            above: for each row of the table the row around it, -1 for none.
        """
        inside = index_of(self.row, len(above))
        return self_time(self.start, self.end, lookup(inside, above[self.row]))


def clip(start: Nanoseconds, end: Nanoseconds, window: tuple[int, int]) -> Clipped:
    """Take the rows that touch a window.

    One without length touches it as one of a nanosecond would.
    """
    first, last = window
    row = np.flatnonzero((start < last) & (np.maximum(end, start + 1) > first))
    return Clipped(row, np.maximum(start[row], first), np.minimum(end[row], last))


def sums(group: Int, time: Nanoseconds, size: int) -> Nanoseconds:
    """Sum of the times of each group."""
    # Doubles hold every sum of nanoseconds below a hundred days exactly.
    return np.bincount(group, time, minlength=size).astype(np.int64)
