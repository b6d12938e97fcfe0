"""Rows of a table as far as they lie in a window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_hookview.arrays.nesting import lookup, self_time
from tb_hookview.arrays.types import Int


@dataclass(frozen=True)
class Clipped:
    """The rows that touch a window; arrays of shape (k,), times in nanoseconds."""

    row: Int
    """Which rows of the table these are, ascending."""
    start: Int
    end: Int

    @property
    def time(self) -> Int:
        """How long each lies in the window."""
        return self.end - self.start

    def own_time(self, above: Int) -> Int:
        """The same, less what the rows inside take of it.

        Args:
            above: for each row of the table the row around it, -1 for none.
        """
        inside = np.full(len(above), -1, np.int64)
        inside[self.row] = np.arange(len(self.row))
        return self_time(self.start, self.end, lookup(inside, above[self.row]))


def clip(start: Int, end: Int, window: tuple[int, int]) -> Clipped:
    """Take the rows that touch a window; one without length takes a nanosecond to touch it."""
    first, last = window
    row = np.flatnonzero((start < last) & (np.maximum(end, start + 1) > first))
    return Clipped(row, np.maximum(start[row], first), np.minimum(end[row], last))


def sums(group: Int, nanoseconds: Int, size: int) -> Int:
    """Sum per group; doubles hold every sum of nanoseconds below a hundred days exactly."""
    return np.bincount(group, nanoseconds, minlength=size).astype(np.int64)
