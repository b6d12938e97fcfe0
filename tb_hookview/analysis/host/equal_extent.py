"""Which of the rows of equal start and duration on a thread is around the others."""

from __future__ import annotations

from functools import partial

import numpy as np

from tb_hookview.arrays.joins import dense_rank, unique_inverse
from tb_hookview.arrays.nesting import CallTree, build
from tb_hookview.arrays.types import EventRow, Int
from tb_hookview.trace import EventCategory, Trace


def call_tree_of(trace: Trace, rows: EventRow) -> CallTree:
    """Nest events of the host, whatever their order in the file."""
    events = trace.events
    extent = events.thread[rows], events.start[rows], events.duration[rows]
    return build(rows, *extent, rank=partial(_rank_equals, trace))


def _rank_equals(trace: Trace, rows: EventRow) -> Int:
    """A number for each row: lower for one that is around another of its extent.

    Modules of Python stacks come first, then operators and annotations by `External id`, which
    torch counts up as they begin, then runtime calls by correlation. Names decide between the rest.
    """
    events = trace.events
    kind = events.kind[rows]
    level = np.where(kind == EventCategory.PYTHON, 0, np.where(kind == EventCategory.RUNTIME, 2, 1))
    number = np.where(level == 2, events.correlation[rows], events.external[rows])
    names, place = unique_inverse(events.name[rows])
    texts = [trace.strings[name] for name in names.tolist()]
    alphabetic = np.argsort(np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64))
    return dense_rank(alphabetic[place], number, level)
