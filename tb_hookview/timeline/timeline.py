"""The timeline of one trace: its lanes, made when they are first asked for, and kept."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.timeline.catalogue import Entry, list_lanes
from tb_hookview.timeline.curves import Curve
from tb_hookview.timeline.lanes import Lane
from tb_hookview.timeline.merging import Blocks, Window, blocks, resolution_of
from tb_hookview.timeline.names import Names
from tb_hookview.timeline.trace_lanes import TraceRows
from tb_hookview.trace.columns import Int

LANE_SHIFT = 32
"""Ids above 2**32 are items of our own: the lane's number plus one, then the place in it."""
MINIMAP_WIDTH = 1500


@dataclass(frozen=True)
class LaneBlocks:
    """Blocks of one lane in a window, with the id of each, -1 for merged ones."""

    lane: int
    blocks: Blocks
    ids: Int


class Timeline:
    """Lanes of one trace. Safe to use from many threads; lanes are numbered from 0."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.names = Names(analysis)
        self._rows = TraceRows(analysis)
        self.entries: list[Entry] = list_lanes(analysis, self.names, self._rows)
        self._locks = [Lock() for _ in self.entries]
        self._lanes: dict[int, Lane] = {}
        self._curves: dict[int, Curve] = {}

    @property
    def origin(self) -> int:
        """Start of the trace, nanoseconds: where the page's times begin."""
        return self.analysis.bounds[0]

    def lane(self, number: int) -> Lane:
        """One lane with items, made on first use."""
        with self._locks[number]:
            if number not in self._lanes:
                make = self.entries[number].items
                assert make is not None, "a queue is a curve"
                self._lanes[number] = Lane(make())
            return self._lanes[number]

    def curve(self, number: int) -> Curve:
        """One queue, made on first use."""
        with self._locks[number]:
            if number not in self._curves:
                make = self.entries[number].curve
                assert make is not None, "only a queue is a curve"
                self._curves[number] = make()
            return self._curves[number]

    def window(self, start: int, end: int, width: int) -> Window:
        """A window of the timeline.

        Args:
            start, end: nanoseconds from `origin`, end behind start.
            width: pixels.
        """
        resolution = resolution_of(end - start, width)
        return Window(self.origin + start, self.origin + end, self.origin, resolution)

    def blocks(self, number: int, window: Window) -> LaneBlocks:
        """What to draw of a lane with items."""
        lane = self.lane(number)
        found = blocks(lane, window)
        return LaneBlocks(number, found, np.where(found.count == 1, self._ids(number, found), -1))

    def _ids(self, number: int, found: Blocks) -> Int:
        if self.entries[number].sort is not None:
            return self.lane(number).source[found.first]
        return ((number + 1) << LANE_SHIFT) + found.first

    def minimap(self) -> Blocks:
        """The phases of all steps, merged to what a minimap can show."""
        length = max(self.analysis.bounds[1] - self.origin, 1)
        found = blocks(self.lane(0), self.window(0, length, MINIMAP_WIDTH))
        return found.of_row(1)
