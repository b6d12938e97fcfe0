"""Search for events by a text in their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Bool, Int, ItemIndex, Nanoseconds
from tb_hookview.schema.timeline import EventSummary, SearchResult
from tb_hookview.timeline.event.reference import summaries
from tb_hookview.timeline.merging import touching
from tb_hookview.timeline.timeline import LanePosition, Timeline

MOST_HITS = 500


@dataclass(frozen=True)
class Question:
    """Text to search for, and where; times are nanoseconds from the trace's start."""

    text: str
    lanes: Sequence[int]
    start: int | None
    end: int | None
    """None for the bounds of all that is in the lanes."""
    width: int
    """Number of parts in which hits are counted."""


def search(timeline: Timeline, question: Question) -> SearchResult:
    """Count all events found, and list the first of them by start."""
    named = _named(timeline, question.text)
    found = {
        number: _matches(timeline, number, named, question)
        for number in question.lanes
        if timeline.entries[number].items and not timeline.entries[number].late
    }
    number = np.concatenate([np.full(len(p), n) for n, p in found.items()] or [_NONE])
    position = np.concatenate([*found.values(), _NONE])
    starts = [timeline.lane(n).start[p] for n, p in found.items()]
    start = np.concatenate([*starts, _NONE])
    return SearchResult(
        total=len(start),
        hits=_hits(timeline, number, position, start),
        density=_density(timeline, start, question),
    )


_NONE: Int = np.zeros(0, np.int64)


def _named(timeline: Timeline, text: str) -> Bool:
    """Names that hold the text."""
    # Each is looked at once, however many events have it.
    wanted = text.lower()
    return np.array([wanted in name for name in timeline.names.lower] or [False], bool)


def _matches(timeline: Timeline, number: int, named: Bool, question: Question) -> ItemIndex:
    lane = timeline.lane(number)
    wanted = named[lane.name]
    if question.start is not None and question.end is not None:
        inside = np.zeros(len(lane), bool)
        window = (timeline.origin + question.start, timeline.origin + question.end)
        for row in range(lane.rows):
            low, high = touching(lane, row, *window)
            inside[low:high] = True
        wanted &= inside
    return np.flatnonzero(wanted)


def _hits(
    timeline: Timeline, number: Int, position: ItemIndex, start: Nanoseconds
) -> list[EventSummary]:
    first = _earliest(start)
    hits: dict[LanePosition, EventSummary] = {}
    for lane in unique(number[first]).tolist():
        mine = position[first][number[first] == lane]
        for item, event in zip(mine.tolist(), summaries(timeline, lane, mine), strict=True):
            hits[LanePosition(lane, item)] = event
    order = zip(number[first].tolist(), position[first].tolist(), strict=True)
    return [hits[LanePosition(lane, item)] for lane, item in order]


def _earliest(start: Nanoseconds) -> Int:
    """The first `MOST_HITS` of some events, in order of their starts."""
    if len(start) <= MOST_HITS:
        return np.argsort(start, kind="stable")
    latest = np.partition(start, MOST_HITS - 1)[MOST_HITS - 1]
    early = np.flatnonzero(start <= latest)
    return early[np.argsort(start[early], kind="stable")][:MOST_HITS]


def _density(timeline: Timeline, start: Nanoseconds, question: Question) -> list[int]:
    """Number of hits that begin in each part; those beyond count at its edge."""
    begin = 0 if question.start is None else question.start
    end = timeline.analysis.bounds[1] - timeline.origin if question.end is None else question.end
    part = (start - timeline.origin - begin) / max(end - begin, 1) * question.width
    part = np.clip(part, 0, question.width - 1).astype(np.int64)
    counts: list[int] = np.bincount(part, minlength=question.width).tolist()
    return counts
