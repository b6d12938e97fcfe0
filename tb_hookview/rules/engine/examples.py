"""Moments at which a finding was seen, and how long what begins there lasts."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from tb_hookview import schema
from tb_hookview.arrays.types import Nanoseconds
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence

_EXAMPLES = 20


def starts(occurrence: Occurrence) -> list[int]:
    """The first starts of an occurrence's examples, nanoseconds."""
    if occurrence.examples is None:
        return []
    return [int(start) for start in np.sort(occurrence.examples)[:_EXAMPLES]]


def with_lengths(
    found: list[tuple[schema.Finding, Occurrence]], context: Context
) -> list[schema.Finding]:
    """Findings with `examples_us`, in one walk over the trace's tables for all of them."""
    moments = np.unique([start for _, occurrence in found for start in starts(occurrence)])
    longest = np.full(len(moments), -1, np.int64)
    for start, end in _spans(context) if len(moments) else ():
        place = np.minimum(np.searchsorted(moments, start), len(moments) - 1)
        there = moments[place] == start
        np.maximum.at(longest, place[there], (end - start)[there])
    lengths = dict(zip(moments.tolist(), longest.tolist(), strict=True))
    return [
        msgspec.structs.replace(
            finding, examples_us=[_us(lengths[start]) for start in starts(occurrence)]
        )
        for finding, occurrence in found
    ]


def _us(length: int) -> float | None:
    return None if length < 0 else length / 1000


def _spans(context: Context) -> Iterator[tuple[Nanoseconds, Nanoseconds]]:
    """Starts and ends of everything that a rule may give as an example."""
    analysis = context.analysis
    for table in (context.call_tree, analysis.device_events, context.syncs, analysis.gaps):
        yield table.start, table.end
    yield analysis.steps.window[:, 0], analysis.steps.window[:, 1]
