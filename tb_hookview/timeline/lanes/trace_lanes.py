"""Lanes of the trace's own rows: host threads, streams of devices, and whatever else there is.

Every row of `Events` is in exactly one of them.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cached_property

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.schema import Phase
from tb_hookview.timeline.lanes.colours import OF_PHASE, Colour, Colours
from tb_hookview.timeline.lanes.lane import LaneItems
from tb_hookview.trace import EventCategory
from tb_hookview.trace.format.vocabulary import DEVICE_WORK


class RowGroup(IntEnum):
    """Which lane of its thread a row is in."""

    HOST = 0
    PYTHON = 1
    DEVICE = 2
    REST = 3


_SORTS = {
    EventCategory.OPERATOR: RowGroup.HOST,
    EventCategory.ANNOTATION: RowGroup.HOST,
    EventCategory.RUNTIME: RowGroup.HOST,
    EventCategory.PYTHON: RowGroup.PYTHON,
    **dict.fromkeys(DEVICE_WORK, RowGroup.DEVICE),
}
_SORT_OF_KIND = np.array([_SORTS.get(kind, RowGroup.REST) for kind in EventCategory], np.int64)


class TraceRows:
    """The rows of a trace by thread and sort, and what the analysis says of their colour."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        events = analysis.trace.events
        key = events.thread.astype(np.int64) * len(RowGroup) + _SORT_OF_KIND[events.kind]
        self._order = np.argsort(key, kind="stable")
        present, first = np.unique(key[self._order], return_index=True)
        last = np.append(first, len(key))[1:]
        self._stretch = {
            (int(k) // len(RowGroup), RowGroup(int(k) % len(RowGroup))): (int(a), int(b))
            for k, a, b in zip(present, first, last, strict=True)
        }

    def groups(self, sort: RowGroup) -> dict[int, int]:
        """Number of rows of a sort, by thread."""
        return {t: b - a for (t, s), (a, b) in self._stretch.items() if s is sort}

    def rows(self, thread: int, sort: RowGroup) -> Int:
        """Rows of `Events` of one thread and sort, ascending."""
        first, last = self._stretch[thread, sort]
        return self._order[first:last]

    def items(self, thread: int, sort: RowGroup) -> LaneItems:
        """What the lane of a thread and sort shows; the source of an item is its row."""
        rows, events = self.rows(thread, sort), self._analysis.trace.events
        colour = self._colour[rows]
        if sort is RowGroup.PYTHON:
            colour = self._colour_of_frames(thread, events.start[rows])
        start = events.start[rows]
        name = events.name[rows].astype(np.int64)
        return LaneItems(start, start + events.duration[rows], name, colour, rows)

    @cached_property
    def _colour(self) -> Colours:
        """Colour of each row of `Events`; those of frames are found elsewhere."""
        analysis = self._analysis
        work = analysis.device_events
        colour = np.full(len(analysis.trace.events), Colour.OTHER, np.uint8)
        of_row = OF_PHASE[analysis.phases.row]
        of_row[analysis.syncs.row] = Colour.WAIT
        colour[analysis.call_tree.event] = of_row
        phase = lookup(analysis.phases.row, work.launch)
        of_work = OF_PHASE[np.where(phase < 0, Phase.OTHER, phase)]
        of_work[analysis.kinds.kind == COMMUNICATION] = Colour.COMMUNICATION
        colour[work.event] = of_work
        return colour

    def _colour_of_frames(self, thread: int, moment: Int) -> Colours:
        """Colour of the phase in which each moment of a thread lies."""
        call_tree = self._analysis.call_tree
        first, last = np.searchsorted(call_tree.thread, [thread, thread + 1])
        row = first - 1 + np.searchsorted(call_tree.start[first:last], moment, side="right")
        row[row < first] = -1
        open_rows = np.flatnonzero(row >= 0)
        while len(open_rows):
            over: Bool = call_tree.end[row[open_rows]] <= moment[open_rows]
            open_rows = open_rows[over]
            row[open_rows] = call_tree.parent[row[open_rows]]
            open_rows = open_rows[row[open_rows] >= 0]
        phase = lookup(self._analysis.phases.row, row)
        return OF_PHASE[np.where(phase < 0, Phase.OTHER, phase)]
