"""Iterations of a training loop that marks no steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.host.rows import Role
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.types import EventRow, Int, Intervals, Nanoseconds
from tb_hookview.trace import EventCategory, Trace

_OPTIMIZER_STEP = "Optimizer.step#"


class Iterations(Struct, frozen=True):
    """Iterations in order of time, at least two."""

    window: Intervals
    thread: int
    """Row of `Trace.threads` that shows them."""
    each: str
    """Phrase of what each is."""


def find_iterations(trace: Trace, role: Int, bounds: tuple[int, int]) -> Iterations | None:
    """Find iterations by the optimizer's steps, else by what repeats; None for neither."""
    for way in (_by_optimizer, _by_annotation, _by_repetition):
        if (found := way(trace, role, bounds)) is not None:
            return found
    return None


def _by_optimizer(trace: Trace, role: Int, bounds: tuple[int, int]) -> Iterations | None:
    """Each to the end of the optimizer's step, on the thread that has most of these.

    Several optimizers, or one around another, end one iteration: no node is evaluated between.
    """
    events, texts = trace.events, trace.strings.texts
    named = np.array([text.startswith(_OPTIMIZER_STEP) for text in texts] or [False])
    on_host = events.kind != EventCategory.DEVICE_ANNOTATION
    rows = np.flatnonzero((role == Role.OPTIMIZER) & on_host & named[events.name])
    if not len(rows):
        return None
    rows = rows[events.thread[rows] == np.bincount(events.thread[rows]).argmax()]
    rows = rows[np.argsort(events.start[rows], kind="stable")]
    before = np.searchsorted(_node_starts(trace, role), events.start[rows])
    opens = np.flatnonzero(np.diff(before, prepend=-1) > 0)
    ends = np.maximum.reduceat(events.start[rows] + events.duration[rows], opens)
    if len(ends) < 2:
        return None
    window = np.stack([np.append(bounds[0], ends[:-1]), ends], axis=1)
    return Iterations(window, int(events.thread[rows[0]]), "each to the end of Optimizer.step")


def _by_annotation(trace: Trace, role: Int, bounds: tuple[int, int]) -> Iterations | None:
    """Each from one annotation to the next: equal ones, in which all operators of a thread lie.

    Only data loaders may be outside. If there is a backward pass, it runs in every one.
    """
    events = trace.events
    threads = unique(events.thread[role == Role.LABEL])
    if len(threads) != 1:
        return None
    named = isin(events.kind, [int(EventCategory.OPERATOR), int(EventCategory.ANNOTATION)])
    named &= (events.thread == threads[0]) & (role != Role.DATA)
    rows = _outermost(trace, np.flatnonzero(named))
    if len(rows) < 2 or (role[rows] != Role.LABEL).any() or len(unique(events.name[rows])) > 1:
        return None
    start, nodes = np.append(events.start[rows], bounds[1]), _node_starts(trace, role)
    if len(nodes) and not _in_each(nodes, start):
        return None
    window = _between(start, bounds)
    return Iterations(window, int(threads[0]), "each from an annotation to the next equal one")


def _by_repetition(trace: Trace, role: Int, bounds: tuple[int, int]) -> Iterations | None:
    """Each from the first operator of a sequence that makes up a whole thread, over and over.

    A backward pass runs in every one: equal layers of a single forward are no iterations.
    """
    events = trace.events
    operator = events.kind == EventCategory.OPERATOR
    forward = np.flatnonzero(operator & (role == Role.NONE))
    if not len(forward):
        return None
    thread = np.bincount(events.thread[forward]).argmax()
    rows = _outermost(trace, np.flatnonzero(operator & (events.thread == thread)))
    nodes, name = _node_starts(trace, role), events.name[rows].astype(np.int64)
    for length in _periods(name):
        start = np.append(events.start[rows[::length]], bounds[1])
        if _in_each(nodes, start):
            each = "each a repetition of the same operators"
            return Iterations(_between(start, bounds), int(thread), each)
    return None


def _in_each(times: Nanoseconds, start: Nanoseconds) -> bool:
    """Whether some times lie between any two successive starts."""
    return bool((np.diff(np.searchsorted(times, start)) > 0).all())


def _between(start: Nanoseconds, bounds: tuple[int, int]) -> Intervals:
    """Windows from one start to the next, of which the first has the start of the trace."""
    return np.stack([np.append(bounds[0], start[1:-1]), start[1:]], axis=1)


def _outermost(trace: Trace, rows: EventRow) -> EventRow:
    """Those of some rows of a thread that lie in no other, by start."""
    start, end = trace.events.start[rows], trace.events.start[rows] + trace.events.duration[rows]
    order = np.lexsort((-end, start))
    start, end = start[order], end[order]
    before = np.maximum.accumulate(np.append(np.iinfo(np.int64).min, end[:-1]))
    return np.asarray(rows[order[start >= before]])


def _periods(name: Int) -> Iterator[int]:
    """Lengths of sequences of which a column is a whole number of repetitions, shortest first."""
    lengths = np.arange(1, len(name) // 2 + 1)
    for length in lengths[len(name) % lengths == 0].tolist():
        if np.array_equal(name[:-length], name[length:]):
            yield length


def _node_starts(trace: Trace, role: Int) -> Nanoseconds:
    return np.sort(trace.events.start[role == Role.NODE])
