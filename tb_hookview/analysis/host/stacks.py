"""Python frames around a moment, from traces recorded with stacks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import numpy as np
from msgspec import Struct

from tb_hookview.arrays.joins import dense_rank, pair_key, unique, unique_inverse
from tb_hookview.arrays.nesting import CallTree, build, innermost_at, lookup
from tb_hookview.arrays.sums import ranges
from tb_hookview.arrays.types import (
    Bool,
    EventRow,
    Int,
    Intervals,
    Nanoseconds,
    StringIndex,
    ThreadIndex,
    TreeRow,
)
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


_FRAME = re.compile(r".+\(\d+\): .+")


def stacks_at(trace: Trace, thread: ThreadIndex, time: Nanoseconds) -> list[list[str]]:
    """Frames open on a thread at each moment, innermost first; empty lists without stacks.

    Built-in calls and module rows are left out: a frame is `file.py(line): function`.
    """
    events = trace.events
    python = np.flatnonzero(events.kind == EventCategory.PYTHON)
    rows = python[around_any(events.start[python], events.duration[python], time)]
    call_tree = build(rows, events.thread[rows], events.start[rows], events.duration[rows])
    innermost = innermost_at(call_tree, thread, time)
    strings = events.name[call_tree.event].astype(np.int64)
    texts = {name: trace.strings[name] for name in unique(strings).tolist()}
    frames = {name: text for name, text in texts.items() if is_frame(text)}
    parents, names = call_tree.parent.tolist(), strings.tolist()
    return [list(_frames_at(row, parents, names, frames)) for row in innermost.tolist()]


class StackNumbers(Struct, frozen=True):
    """Distinct stacks as a tree of frames: number 0 is the empty one, its caller none."""

    trace: Trace
    of: Int
    """Number of the stack at each moment asked for."""
    caller: Int
    """The stack without its innermost frame, by number."""
    frame: StringIndex
    """The innermost frame, by number; -1 for the empty stack."""

    def frames(self, number: int) -> list[str]:
        """Frames of a stack, innermost first."""
        found = []
        while number > 0:
            found.append(self.trace.strings[int(self.frame[number])])
            number = int(self.caller[number])
        return found


def number_stacks(trace: Trace, thread: ThreadIndex, time: Nanoseconds) -> StackNumbers:
    """Number the distinct stacks open on a thread at each moment; frames as in `stacks_at`."""
    events = trace.events
    rows = np.flatnonzero(events.kind == EventCategory.PYTHON)
    rows = rows[trace.strings.map(events.name[rows], is_frame, bool)]
    tree = build(rows, events.thread[rows], events.start[rows], events.duration[rows])
    string, number = events.name[tree.event].astype(np.int64), np.zeros(len(rows), np.int64)
    callers, strings, count = [np.full(1, -1)], [np.full(1, -1)], 1
    level = np.flatnonzero(tree.parent < 0)
    child, parent = _children(tree.parent)
    while len(level):
        caller = np.where(tree.parent[level] >= 0, number[tree.parent[level]], 0)
        pairs, place = unique_inverse(pair_key(caller, string[level]))
        number[level] = count + place
        callers.append(pairs >> 32)
        strings.append(pairs & 0xFFFFFFFF)
        count += len(pairs)
        level = _below(level, child, parent)
    found = innermost_at(tree, thread, time)
    return StackNumbers(
        trace,
        np.where(found >= 0, number[found] if len(number) else 0, 0),
        np.concatenate(callers),
        np.concatenate(strings),
    )


def _children(parent: TreeRow) -> tuple[TreeRow, TreeRow]:
    """Rows with a parent by that, and these parents."""
    child = np.flatnonzero(parent >= 0)
    child = child[np.argsort(parent[child], kind="stable")]
    return child, parent[child]


def _below(rows: TreeRow, child: TreeRow, parent: TreeRow) -> TreeRow:
    """All direct children of some rows."""
    first, last = np.searchsorted(parent, rows), np.searchsorted(parent, rows, side="right")
    return child[ranges(first, last)[0]]


def rows_holding(
    trace: Trace, rows: EventRow, thread: ThreadIndex, span: Intervals, share: float
) -> EventRow:
    """Innermost of some events that holds a share of each span; -1 for none.

    Args:
        trace: the trace.
        rows: the host events to choose from.
        thread: the thread on which each span is asked for, shape (s,).
        span: start and end of each, nanoseconds, shape (s, 2).
        share: above one half, so that such an event holds the middle of the span.
    """
    start, end = span.T
    middle, events = (start + end) // 2, trace.events
    rows = np.sort(rows[around_any(events.start[rows], events.duration[rows], middle)])
    tree = call_tree_of(trace, rows)
    found = innermost_at(tree, thread, middle)
    active = np.flatnonzero(found >= 0)
    while len(active):
        row = found[active]
        held = np.minimum(tree.end[row], end[active]) - np.maximum(tree.start[row], start[active])
        active = active[held < share * (end - start)[active]]
        found[active] = tree.parent[found[active]]
        active = active[found[active] >= 0]
    return lookup(tree.event, found)


def is_frame(name: str) -> bool:
    """Whether a Python row's name is a frame's, not a built-in's or module's."""
    return _FRAME.fullmatch(name) is not None


def around_any(start: Nanoseconds, duration: Nanoseconds, moments: Nanoseconds) -> Bool:
    """Whether each interval holds any of the moments."""
    ordered = np.append(np.sort(moments), np.iinfo(np.int64).max)
    return np.asarray(ordered[np.searchsorted(ordered, start)] < start + duration)


def _frames_at(
    row: int, parents: list[int], names: list[int], frames: dict[int, str]
) -> Iterator[str]:
    while row >= 0:
        if (frame := frames.get(names[row])) is not None:
            yield frame
        row = parents[row]
