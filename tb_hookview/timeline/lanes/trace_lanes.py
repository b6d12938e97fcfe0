"""Lanes of the trace's own rows: host threads, streams of devices, the rest.

Every row of `Events` is in exactly one of them.
"""

from __future__ import annotations

from enum import IntEnum
from functools import cached_property

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.arrays.joins import grouped
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, EventRow, Nanoseconds
from tb_hookview.schema import Phase
from tb_hookview.timeline.lanes.colours import OF_PHASE, Colour, Colours
from tb_hookview.timeline.lanes.lane import LaneItems
from tb_hookview.timeline.lanes.module_lanes import costly_syncs
from tb_hookview.trace import EventCategory
from tb_hookview.trace.format.vocabulary import DEVICE_CATEGORIES


class RowGroup(IntEnum):
    """Lanes of a thread, by the category of their rows."""

    HOST = 0
    PYTHON = 1
    DEVICE = 2
    REST = 3


_GROUPS = {
    EventCategory.OPERATOR: RowGroup.HOST,
    EventCategory.ANNOTATION: RowGroup.HOST,
    EventCategory.RUNTIME: RowGroup.HOST,
    EventCategory.PYTHON: RowGroup.PYTHON,
    **dict.fromkeys(DEVICE_CATEGORIES, RowGroup.DEVICE),
}
_GROUP_OF_CATEGORY = np.array(
    [_GROUPS.get(kind, RowGroup.REST) for kind in EventCategory], np.int64
)


class TraceRows:
    """The rows of a trace by thread and group, with their colours."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        events = analysis.trace.events
        key = events.thread.astype(np.int64) * len(RowGroup) + _GROUP_OF_CATEGORY[events.kind]
        self._order = np.argsort(key, kind="stable")
        present, first, _ = grouped(key[self._order])
        last = np.append(first, len(key))[1:]
        self._span = {
            (int(k) // len(RowGroup), RowGroup(int(k) % len(RowGroup))): (int(a), int(b))
            for k, a, b in zip(present, first, last, strict=True)
        }

    def groups(self, group: RowGroup) -> dict[int, int]:
        """Number of rows of a group, by thread."""
        return {t: b - a for (t, g), (a, b) in self._span.items() if g is group}

    def rows(self, thread: int, group: RowGroup) -> EventRow:
        """Rows of `Events` of one thread and group, ascending."""
        first, last = self._span[thread, group]
        return self._order[first:last]

    def items(self, thread: int, group: RowGroup) -> LaneItems:
        """Items of the lane of a thread and group.

        The source of an item is its row.
        """
        rows, events = self.rows(thread, group), self._analysis.trace.events
        colour = self.colour[rows]
        if group is RowGroup.PYTHON:
            colour = self._colour_of_frames(thread, events.start[rows])
        start = events.start[rows]
        name = events.name[rows].astype(np.int64)
        return LaneItems(start, start + events.duration[rows], name, colour, rows)

    @cached_property
    def colour(self) -> Colours:
        """Colour of each row of `Events` but Python frames."""
        analysis = self._analysis
        device_events = analysis.device_events
        colour = np.full(len(analysis.trace.events), Colour.OTHER, np.uint8)
        of_row = OF_PHASE[analysis.phases.row]
        of_row[analysis.syncs.row] = np.where(costly_syncs(analysis), Colour.WAIT, Colour.IDLE)
        colour[analysis.call_tree.event] = of_row
        phase = lookup(analysis.phases.row, device_events.launch)
        of_device_event = OF_PHASE[np.where(phase < 0, Phase.OTHER, phase)]
        of_device_event[analysis.kinds.kind == COMMUNICATION] = Colour.COMMUNICATION
        colour[device_events.event] = of_device_event
        return colour

    def _colour_of_frames(self, thread: int, moment: Nanoseconds) -> Colours:
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
