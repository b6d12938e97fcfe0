"""Iterations of a training loop that marks no steps."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.host.rows import Role
from tb_hookview.arrays.joins import isin, running_max, unique
from tb_hookview.arrays.sums import greatest_by, least_by
from tb_hookview.arrays.types import EventRow, Float, Int, Intervals, Nanoseconds
from tb_hookview.trace import EventCategory, Trace

_OPTIMIZER_STEP, _ZERO_GRAD = "Optimizer.step#", "Optimizer.zero_grad#"
SCALER_CHECK = "aten::_amp_foreach_non_finite_check_and_unscale_"
_READS = {"aten::item", "aten::is_nonzero", "aten::detach", "aten::to", "detach"}
"""Operators by which values are read and logged."""
_LONGEST = 40
"""Characters of an annotation's name that are shown."""
_BETWEEN = 0.05
"""Part of an iteration from which on what lies between two is too much for the last one to end
where its operators do."""
_AROUND = (Role.LABEL, Role.MODULE_LABEL, Role.LIGHTNING, Role.FORWARD_MARK)


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

    Several optimizers, or one around another, end one iteration: no node is evaluated between. So
    do those of a GAN, that take turns: as many gradients are accumulated in every second backward
    pass. An iteration whose step is skipped, as a scaler of gradients does, ends with its backward.
    """
    events, texts = trace.events, trace.strings.texts
    named = np.array([text.startswith(_OPTIMIZER_STEP) for text in texts] or [False])
    on_host = events.kind != EventCategory.DEVICE_ANNOTATION
    rows = np.flatnonzero((role == Role.OPTIMIZER) & on_host & named[events.name])
    if not len(rows):
        return None
    rows = rows[events.thread[rows] == np.bincount(events.thread[rows]).argmax()]
    rows = rows[np.argsort(events.start[rows], kind="stable")]
    nodes = np.sort(events.start[role == Role.NODE])
    opens = np.flatnonzero(np.diff(np.searchsorted(nodes, events.start[rows]), prepend=-1) > 0)
    ends = np.maximum.reduceat(events.start[rows] + events.duration[rows], opens)
    passes = _passes(trace, role)
    before = np.searchsorted(passes.start, events.start[rows[opens]])
    count = np.diff(before, prepend=0)
    gradients = np.diff(np.append(0, np.cumsum(passes.gradients))[before], prepend=0)
    turns = _turns(gradients // np.maximum(count, 1))  # gradients of inputs count for none
    ends, before = ends[turns - 1 :: turns], before[turns - 1 :: turns]
    zeroed = np.array([text.startswith(_ZERO_GRAD) for text in texts])[events.name]
    zeroed = np.sort(events.start[zeroed & on_host & (role == Role.OPTIMIZER)])
    skipped = _skipped(trace, zeroed, rows, passes) if turns == 1 else ends[:0]
    ends = np.sort(np.append(ends, skipped))
    if len(ends) < 2:
        return None
    window = np.stack([np.append(bounds[0], ends[:-1]), ends], axis=1)
    last = f"the last of {turns} optimizer steps" if turns > 1 else "Optimizer.step"
    last += ", or of the backward where that is skipped" if len(skipped) else ""
    return Iterations(window, int(events.thread[rows[0]]), f"each to the end of {last}")


def _skipped(trace: Trace, zeroed: Nanoseconds, steps: EventRow, passes: _Passes) -> Nanoseconds:
    """Ends of backward passes whose gradients a scaler checked, and no step used before they were
    zeroed.

    Args:
        trace: the trace.
        zeroed: when gradients were.
        steps: the optimizer's steps, by start; closures that run in them are none.
        passes: the backward passes.
    """
    events = trace.events
    start, end = events.start[steps], events.end[steps]
    zeroed = zeroed[np.searchsorted(start, zeroed) == np.searchsorted(np.sort(end), zeroed)]
    following = unique(np.searchsorted(passes.start, zeroed))
    following = following[(following > 0) & (following < len(passes.start))]
    between = np.stack([passes.end[following - 1], passes.start[following]])
    checks = np.array([text == SCALER_CHECK for text in trace.strings.texts])[events.name]
    checked = np.diff(np.searchsorted(np.sort(events.start[checks]), between), axis=0)[0] > 0
    unused = np.diff(np.searchsorted(start, between), axis=0)[0] == 0
    return np.asarray(between[0][unused & checked])


def _by_annotation(trace: Trace, role: Int, bounds: tuple[int, int]) -> Iterations | None:
    """Each from one annotation to the next: equal ones, in which all operators of a thread lie.

    Only data loaders may be outside, and with a backward pass in every one what runs before the
    first, as a trace can begin in the middle of one; but no optimizer's step: they are microbatches
    of one. Annotations inside the call of a module are its layers.
    """
    events = trace.events
    threads = unique(events.thread[role == Role.LABEL])
    if len(threads) != 1:
        return None
    shown = isin(events.kind, [int(EventCategory.OPERATOR), int(EventCategory.ANNOTATION)])
    shown |= role == Role.MODULE_LABEL
    shown &= (events.thread == threads[0]) & (role != Role.DATA)
    rows, nodes = _outermost(trace, np.flatnonzero(shown)), np.sort(events.start[role == Role.NODE])
    labels, opens = np.flatnonzero(role[rows] == Role.LABEL), bounds[0]
    if len(labels) < 3:
        return None
    updates = (role[rows[: labels[0]]] == Role.OPTIMIZER).any()
    if len(nodes) and labels[0] > 0 and not updates:
        opens, rows = int(events.start[rows[labels[0]]]), rows[labels[0] :]
    start = events.start[rows]
    if len(labels) < len(rows) or len(unique(events.name[rows])) > 1:
        return None
    if len(nodes) and not _in_each(nodes, start):
        return None
    window = _between(trace, role, start, opens)
    name = trace.strings.texts[events.name[rows[0]]][:_LONGEST]
    return Iterations(window, int(threads[0]), f"each from one {name!r} to the next")


def _by_repetition(trace: Trace, role: Int, bounds: tuple[int, int]) -> Iterations | None:
    """Each from the first operator of a sequence that makes up a whole thread, over and over.

    The thread is the one with most operators that lie in no other, and so in no node. A backward
    pass runs in every one: equal layers of a single forward are not iterations. Operators by which
    values are read and logged do not count, as not every iteration may do so.
    """
    events = trace.events
    rows, thread = _operators(trace, role)
    reads = np.array([text in _READS for text in trace.strings.texts] or [False])
    rows = rows[(events.thread[rows] == thread) & ~reads[events.name[rows]]]
    nodes = np.sort(events.start[role == Role.NODE])
    period = _period(events.name[rows])
    for length in range(period, (len(rows) + 1) // 2, period) if period and len(nodes) else ():
        if not _in_each(nodes, events.start[rows[::length]]):
            continue
        start = _starts(trace, role, rows, length)
        if len(start) > 2 and _in_each(nodes, start):
            passes = np.diff(np.searchsorted(_passes(trace, role).start, start[:2]))[0]
            each = "each a repetition of the same operators"
            each += f" with {passes} backward passes" if passes > 1 else ""
            window = _between(trace, role, start, bounds[0])
            return Iterations(window, int(thread), each)
    return None


def _starts(trace: Trace, role: Int, rows: EventRow, length: int) -> Nanoseconds:
    """Starts of iterations: of their first operator, or of the outermost annotation or call of a
    module around it that begins after the operator before.

    Args:
        trace: the trace.
        role: of each event.
        rows: operators of a thread that lie in no other, by start.
        length: how many of them an iteration has.
    """
    events = trace.events
    opens = events.start[rows[::length]]
    before = np.append(-1, events.end[rows[length - 1 : -1 : length]])[: len(opens)]
    around = np.flatnonzero(
        isin(role, [int(each) for each in _AROUND]) & (events.thread == events.thread[rows[0]])
    )
    at = np.searchsorted(opens, events.start[around])
    around, at = around[at < len(opens)], at[at < len(opens)]
    holds = (events.start[around] >= before[at]) & (events.end[around] > opens[at])
    return np.minimum(opens, least_by(at[holds], events.start[around[holds]], len(opens)))


class _Passes(Struct, frozen=True):
    """Backward passes by time, shape (p,): nodes without operators of the forward between."""

    start: Nanoseconds
    end: Nanoseconds
    gradients: Int
    """How many gradients each accumulates."""


def _passes(trace: Trace, role: Int) -> _Passes:
    events, (rows, thread) = trace.events, _operators(trace, role)
    is_node = role[rows] == Role.NODE
    forward = isin(role[rows], [int(Role.NONE), int(Role.FORWARD_MARK)])
    rows = rows[is_node | (forward & (events.thread[rows] == thread))]
    rows = rows[np.argsort(events.start[rows], kind="stable")]
    is_node = role[rows] == Role.NODE
    opens = is_node & ~np.append(False, is_node[:-1])
    start, nodes = events.start[rows[opens]], rows[is_node]
    end = greatest_by(np.cumsum(opens)[is_node] - 1, events.end[nodes], len(start))
    sinks = np.searchsorted(start, events.start[role == Role.GRADIENT_SINK], side="right") - 1
    return _Passes(start, end, np.bincount(sinks[sinks >= 0], minlength=len(start)))


def _operators(trace: Trace, role: Int) -> tuple[EventRow, int]:
    """Operators that lie in no other, and the thread with most of them that are in no node."""
    events = trace.events
    rows = _outermost(trace, np.flatnonzero(events.kind == EventCategory.OPERATOR))
    forward = rows[role[rows] == Role.NONE]
    return rows, int(np.bincount(events.thread[forward]).argmax()) if len(forward) else -1


def _in_each(times: Nanoseconds, start: Nanoseconds) -> bool:
    """Whether some times lie between any two successive starts."""
    return bool((np.diff(np.searchsorted(times, start)) > 0).all())


def _between(trace: Trace, role: Int, start: Nanoseconds, opens: int) -> Intervals:
    """Windows from one start to the next, of which the first opens earlier, as what leads to it.

    The last one ends with its operators, where it has as many as another, and next to nothing is
    between the others. Else it has no window: its end is not in the trace.
    """
    window = np.stack([np.append(opens, start[1:-1]), start[1:]], axis=1)
    events, kinds = trace.events, (EventCategory.OPERATOR, EventCategory.ANNOTATION)
    shown = isin(events.kind, [int(kind) for kind in kinds]) & (role != Role.DATA)
    rows = np.flatnonzero(shown & (events.start >= start[0]))
    of = np.searchsorted(start, events.start[rows], side="right") - 1
    is_operator = events.kind[rows] == EventCategory.OPERATOR
    *others, last = np.bincount(of[is_operator], minlength=len(start)).tolist()
    ends = greatest_by(of, events.end[rows], len(start))
    between = (start[1:] - ends[:-1]) / np.diff(start)
    if last < min(others) or np.median(between[1:]) > _BETWEEN:
        return window
    return np.concatenate([window, [[start[-1], ends[-1]]]])


def _outermost(trace: Trace, rows: EventRow) -> EventRow:
    """Those of some rows that lie in no other of their thread, by thread and start."""
    events = trace.events
    order = np.lexsort((-events.duration[rows], events.start[rows], events.thread[rows]))
    rows = rows[order]
    thread, start = events.thread[rows].astype(np.int64), events.start[rows]
    ended = running_max(thread, start + events.duration[rows])
    first = np.diff(thread, prepend=-1) != 0
    return np.asarray(rows[first | (start >= np.append(0, ended[:-1]))])


def _turns(column: Int | Float) -> int:
    """After how many values a column repeats, of which the first may be cut off; 1 if never."""
    return _period(column) or _period(column[1:]) or 1


def _period(column: Int | Float) -> int:
    """Least length after which a column repeats, twice at least; its end may be cut. 0 for none.

    Whatever is at the end of a column and its start leaves a period (Knuth, Morris and Pratt).
    """
    values, borders, border = column.tolist(), [0] * len(column), 0
    for place in range(1, len(values)):
        while border and values[place] != values[border]:
            border = borders[border - 1]
        border += values[place] == values[border]
        borders[place] = border
    length = len(values) - border
    return length if 2 * length <= len(values) else 0
