"""A lane in memory: items row by row, with the running sums that merging needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Index, Int, ItemIndex, NameIndex, Nanoseconds
from tb_hookview.timeline.lanes.colours import Colour, Colours
from tb_hookview.timeline.lanes.layout import MOST_ROWS, by_row, by_start, depths


@dataclass(frozen=True)
class LaneItems:
    """Items of a lane, in any order; arrays of shape (n,)."""

    start: Nanoseconds
    end: Nanoseconds
    name: NameIndex
    colour: Colours
    source: Int
    """Row of the item in the table that the lane was made from."""


class Lane:
    """Items by row, then by start; arrays of shape (n,).

    Within a row starts and ends both ascend, so that what touches a window is one range of it.
    """

    def __init__(self, items: LaneItems) -> None:
        order = by_start(items.start, items.end)
        depth = depths(items.start[order], items.end[order])
        rowed = by_row(depth)
        order, self.depth = order[rowed], depth[rowed].astype(np.int16)
        self.start = items.start[order]
        self.end = items.end[order]
        self.name = items.name[order].astype(np.int32)
        self.colour = items.colour[order]
        self.source = items.source[order].astype(np.int32)
        rows = int(self.depth[-1]) + 1 if len(order) else 0
        self.bounds = np.searchsorted(self.depth, np.arange(rows + 1))
        """Where each row begins, and after the last one the end; shape (rows + 1,)."""

    def __len__(self) -> int:
        return len(self.start)

    @property
    def rows(self) -> int:
        """Rows that nest."""
        return len(self.bounds) - 1

    @cached_property
    def _by_source(self) -> tuple[ItemIndex, Index]:
        order = np.argsort(self.source, kind="stable")
        return order, self.source[order]

    def position_of(self, source: Int) -> ItemIndex:
        """Position of the first item of each source, -1 where there is none."""
        order, sources = self._by_source
        if not len(order):
            return np.full(len(source), -1, np.int64)
        place = np.minimum(np.searchsorted(sources, source), len(sources) - 1)
        return np.where(sources[place] == source, order[place], -1)

    @cached_property
    def until(self) -> Nanoseconds:
        """End of each item as a window sees it: one without length takes a nanosecond.

        On the last of as many rows as there may be, items lie over each other: there it is the
        latest end so far.
        """
        if self.rows < MOST_ROWS and (self.end > self.start).all():
            return self.end  # the same array, not a copy
        until = np.maximum(self.end, self.start + 1)
        if self.rows == MOST_ROWS:
            until[self.bounds[-2] :] = np.maximum.accumulate(until[self.bounds[-2] :])
        return until

    def room(self, position: ItemIndex) -> Nanoseconds:
        """Time that some items have their row for themselves.

        It ends with the item, or where rounding lets the next of its row begin.
        """
        following = np.minimum(position + 1, len(self) - 1)
        until = np.minimum(self.end[position], self.start[following])
        alone = (following == position) | (self.depth[following] != self.depth[position])
        return np.where(alone, self.end[position], until) - self.start[position]

    @cached_property
    def changes(self) -> NDArray[np.int32]:
        """Changes of the name up to each item.

        They are equal for two items where all between have one name.
        """
        changed = np.zeros(len(self), np.int32)
        changed[1:] = self.name[1:] != self.name[:-1]
        return np.cumsum(changed, dtype=np.int32)

    @cached_property
    def syncs_before(self) -> NDArray[np.int32] | None:
        """Syncs before each item, shape (n + 1,); None where the lane has none."""
        return _before(self.colour == Colour.WAIT) if Colour.WAIT in self.palette else None

    @cached_property
    def palette(self) -> Colours:
        """The colours that items have, ascending."""
        return unique(self.colour)

    @cached_property
    def time(self) -> Nanoseconds:
        """Time of the items before each, by colour of `palette`; shape (n + 1, colours).

        An item without length counts as a nanosecond, so that it has a colour too.
        """
        total = np.zeros((len(self) + 1, len(self.palette)), np.int64)
        for column, colour in enumerate(self.palette):
            spent = np.maximum(self.end - self.start, 1) * (self.colour == colour)
            np.cumsum(spent, out=total[1:, column])
        return total


def _before(wanted: NDArray[np.bool_]) -> NDArray[np.int32]:
    total = np.zeros(len(wanted) + 1, np.int32)
    np.cumsum(wanted, out=total[1:])
    return total
