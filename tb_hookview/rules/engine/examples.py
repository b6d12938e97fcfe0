"""Moments at which a finding was seen, and what begins there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import numpy as np

from tb_hookview import schema
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import EventRow, Int, Nanoseconds
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence

_EXAMPLES = 20


class _Spans(NamedTuple):
    """Some of what a rule may give as an example."""

    start: Nanoseconds
    end: Nanoseconds
    event: EventRow
    """Rows of the trace, -1 for what has none."""


def starts(occurrence: Occurrence) -> list[int]:
    """The first starts of an occurrence's examples, nanoseconds."""
    if occurrence.examples is None:
        return []
    return [int(start) for start in np.sort(occurrence.examples)[:_EXAMPLES]]


def with_lengths(
    found: list[tuple[schema.Finding, Occurrence]], context: Context
) -> list[schema.Finding]:
    """Findings with what their examples are, in one walk over the trace's tables for all."""
    begun = [start for _, occurrence in found for start in starts(occurrence)]
    moments = unique(np.array(begun, np.int64))
    longest = np.full(len(moments), -1, np.int64)
    event = np.full(len(moments), -1, np.int64)
    for spans in _spans(context) if len(moments) else ():
        _longer(moments, spans, longest, event)
    lengths = dict(zip(moments.tolist(), longest.tolist(), strict=True))
    events = dict(zip(moments.tolist(), event.tolist(), strict=True))
    return [
        msgspec.structs.replace(
            finding,
            examples_us=[_us(lengths[start]) for start in starts(occurrence)],
            examples_event_id=[_id(events[start]) for start in starts(occurrence)],
        )
        for finding, occurrence in found
    ]


def _longer(moments: Nanoseconds, spans: _Spans, longest: Nanoseconds, event: Int) -> None:
    """Note the spans that are longer than what is known to begin at their moments."""
    place = np.minimum(np.searchsorted(moments, spans.start), len(moments) - 1)
    for at in np.flatnonzero(moments[place] == spans.start):
        length = spans.end[at] - spans.start[at]
        if length > longest[place[at]]:
            longest[place[at]], event[place[at]] = length, spans.event[at]


def _us(length: int) -> float | None:
    return None if length < 0 else length / 1000


def _id(event: int) -> int | None:
    return None if event < 0 else event


def _spans(context: Context) -> Iterator[_Spans]:
    """Everything that a rule may give as an example."""
    analysis, tree, syncs = context.analysis, context.call_tree, context.syncs
    yield _Spans(tree.start, tree.end, tree.event)
    yield _Spans(
        analysis.device_events.start, analysis.device_events.end, analysis.device_events.event
    )
    yield _Spans(syncs.start, syncs.end, tree.event[syncs.row])
    gaps, windows = analysis.gaps, analysis.steps.window
    yield _Spans(gaps.start, gaps.end, np.full(len(gaps.start), -1))
    yield _Spans(windows[:, 0], windows[:, 1], np.full(len(windows), -1))
