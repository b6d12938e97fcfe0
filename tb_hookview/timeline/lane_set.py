"""Lanes on one axis of time, made on first use and cached."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np

from tb_hookview.arrays.types import Int, ItemIndex
from tb_hookview.timeline.lanes.catalogue import LaneEntry
from tb_hookview.timeline.lanes.device_lanes import Curve
from tb_hookview.timeline.lanes.lane import Lane
from tb_hookview.timeline.lanes.names import LaneNames
from tb_hookview.timeline.merging import DrawnBlocks, Window, blocks, resolution_of


@dataclass(frozen=True)
class DrawnLane:
    """Blocks of one lane in a window, and their ids; -1 for merged ones."""

    number: int
    blocks: DrawnBlocks
    ids: Int


class LaneSet:
    """Lanes, numbered from 0. Safe to use from many threads.

    Args:
        names: texts of the lanes' items.
        entries: the lanes.
        origin: nanoseconds on the trace's clock at which the page's times begin.
    """

    def __init__(self, names: LaneNames, entries: Sequence[LaneEntry], origin: int) -> None:
        self.names, self.entries, self.origin = names, list(entries), origin
        self._locks = [Lock() for _ in entries]
        self._lanes: dict[int, Lane] = {}
        self._curves: dict[int, Curve] = {}

    def lane(self, number: int) -> Lane:
        """One lane with items, made on first use."""
        with self._locks[number]:
            if number not in self._lanes:
                make = self.entries[number].items
                assert make is not None, "a curve has no items"
                self._lanes[number] = Lane(make())
            return self._lanes[number]

    def curve(self, number: int) -> Curve:
        """One curve, made on first use."""
        with self._locks[number]:
            if number not in self._curves:
                make = self.entries[number].curve
                assert make is not None, "a lane of items is no curve"
                self._curves[number] = make()
            return self._curves[number]

    def lanes_of(self, *kinds: str) -> list[int]:
        """Numbers of the lanes of some kinds."""
        return [number for number, entry in enumerate(self.entries) if entry.kind in kinds]

    def window(self, start: int, end: int, width: int) -> Window:
        """A window of the lanes.

        Args:
            start, end: nanoseconds from `origin`, end after start.
            width: pixels.
        """
        resolution = resolution_of(end - start, width)
        return Window(self.origin + start, self.origin + end, self.origin, resolution)

    def blocks(self, number: int, window: Window) -> DrawnLane:
        """Blocks to draw of a lane with items."""
        found = blocks(self.lane(number), window)
        return DrawnLane(
            number, found, np.where(found.count == 1, self.ids(number, found.first), -1)
        )

    def ids(self, number: int, position: ItemIndex) -> Int:
        """Ids of items of a lane: the rows of the trace that they were made from, -1 for none."""
        return self.lane(number).source[position].astype(np.int64)
