"""Rows of Python functions left out, where only few of them are wanted."""

from __future__ import annotations

from collections.abc import Callable
from itertools import compress

import numpy as np

from tb_hookview.trace.columns.times import LONGEST_NS, are_starts
from tb_hookview.trace.format.events import Event
from tb_hookview.trace.format.vocabulary import PYTHON_CATEGORY


def without_functions(complete: list[Event], wanted: Callable[[str], bool]) -> list[Event]:
    """Leave out rows of Python functions, but for two sorts.

    Those of a wanted name are read, and those that may be the first to begin or the last to end of
    all rows, since the bounds of the trace depend on them.
    """
    functions = [event for event in complete if event.cat == PYTHON_CATEGORY]
    start = np.fromiter([event.ts for event in functions], np.float64, len(functions))
    duration = np.fromiter([event.dur for event in functions], np.float64, len(functions))
    plain = are_starts(start) & (start != 0) & (duration >= 0) & (duration < LONGEST_NS / 1000)
    if not plain.any():
        return complete
    end = start + duration
    # Doubles round by less than a microsecond; the rows themselves are compared exactly.
    left = ~plain | (start < start[plain].min() + 1) | (end > end[plain].max() - 1)
    ends = {id(event) for event in compress(functions, left.tolist())}
    names = set(filter(wanted, {event.name for event in functions}))
    return [
        event
        for event in complete
        if event.cat != PYTHON_CATEGORY or event.name in names or id(event) in ends
    ]
