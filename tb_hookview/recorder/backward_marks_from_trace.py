"""Finds the marks on the backward pass when `profile` writes its file.

While it records, a call only notes the sequence numbers of the autograd nodes it made. A thread
numbers the nodes that it makes, the profiler's events have the number of each node that ran, and a
backward runs the nodes of one thread from the highest number down. So the backward of a call begins
with the first node of its numbers and is over when another follows:

    made in forward by       embed   block    block.fc   block   loss
    number of the node        1 2     3        4 5        6       7
    backward runs             <-------------------------------------
    marks                    aa      b a      b  a       b       b a     (b before, a after)
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from math import inf
from operator import attrgetter
from typing import Any, NamedTuple

import torch

from tb_hookview.markers import VERSION
from tb_hookview.recorder.ranges import FinishedCall, ThreadCalls

_EVALUATE = "autograd::engine::evaluate_function: "
_FORWARD = f" forward ~hv{VERSION}"
_NODE: int = torch._C._profiler.RecordScope.BACKWARD_FUNCTION.value


class Mark(NamedTuple):
    """A mark of duration 0."""

    name: str
    process: int
    thread: int
    time: int
    """Nanoseconds on the profiler's clock."""


@dataclass
class _Evaluation:
    """An `evaluate_function` row: autograd's engine runs a node."""

    process: int
    thread: int
    start: int
    end: int
    forward_thread: int = 0
    """The profiler's number of the thread that made the node."""
    number: int = -1
    """The sequence number; -1 for nodes without, such as those that accumulate gradients."""


class Nested:
    """Intervals [start, end) that nest or are disjoint."""

    def __init__(self, intervals: Iterable[tuple[int, int]]) -> None:
        """Take intervals; of equal ones the first is the outermost."""
        ordered = sorted(enumerate(intervals), key=lambda item: (item[1][0], -item[1][1]))
        self._number = [number for number, _ in ordered]
        self._start = [start for _, (start, _) in ordered]
        self._end = [end for _, (_, end) in ordered]
        self._around: list[int] = []
        open_ones: list[int] = []
        for place, start in enumerate(self._start):
            while open_ones and self._end[open_ones[-1]] <= start:
                open_ones.pop()
            self._around.append(open_ones[-1] if open_ones else -1)
            open_ones.append(place)

    def around(self, point: int) -> list[int]:
        """Return the indices of the intervals that hold a point, outermost first."""
        place = bisect_right(self._start, point) - 1
        while place >= 0 and self._end[place] <= point:
            place = self._around[place]
        path = []
        while place >= 0:
            path.append(self._number[place])
            place = self._around[place]
        return path[::-1]


class Calls:
    """The calls of one thread, by the numbers of their nodes and by time."""

    def __init__(self, finished: Iterable[FinishedCall], forwards: list[Any]) -> None:
        """Index the calls.

        Args:
            finished: in the order in which the calls ended, inner ones first.
            forwards: the profiler's events of all calls.
        """
        outer_first = list(finished)[::-1]
        self.names = [names for names, _, _ in outer_first]
        self._made = Nested((start, end) for _, start, end in outer_first)
        self._marked = [_subject(event.name()) for event in forwards]
        self._ran = Nested((event.start_ns(), _end(event)) for event in forwards)

    def around(self, number: int, time: int) -> list[int]:
        """Return the calls that made a node and were over when it ran, outermost first."""
        path = self._made.around(number)
        running = iter([self._marked[place] for place in self._ran.around(time)])
        while path and _subject(self.names[path[0]].before) in running:
            path.pop(0)
        return path


def _subject(name: str) -> str:
    """Return the part of a mark's name that names the module: path and class."""
    return name[: name.index(")") + 1]


@dataclass
class _Running:
    """The part of one backward that goes through the nodes of one thread."""

    calls: Calls
    last: _Evaluation
    open: list[int] = field(default_factory=list)
    number: float = inf

    def step(self, node: _Evaluation) -> Iterator[Mark]:
        """Yield the marks that are due before a node runs."""
        if node.number >= self.number:  # another backward
            yield from self.finish()
        path = self.calls.around(node.number, node.start)
        shared = 0
        while shared < min(len(path), len(self.open)) and path[shared] == self.open[shared]:
            shared += 1
        yield from self.finish(shared)
        for call in path[shared:]:
            name = self.calls.names[call].before
            yield Mark(name, node.process, node.thread, node.start - 1)
        self.open, self.number, self.last = path, node.number, node

    def finish(self, keep: int = 0) -> Iterator[Mark]:
        """Yield the marks after the innermost calls that are open."""
        for call in reversed(self.open[keep:]):
            name = self.calls.names[call].after
            yield Mark(name, self.last.process, self.last.thread, self.last.end + 1)
        del self.open[keep:]


def find_backward_marks(finished: Iterable[ThreadCalls], events: Iterable[Any]) -> list[Mark]:
    """Return the marks before and after the backward of each call.

    Args:
        finished: the calls that ended on each thread.
        events: the profiler's, as `kineto_results.events()` gives them.
    """
    rows: list[Any] = []
    forwards: defaultdict[int, list[Any]] = defaultdict(list)
    for event in events:
        name = event.name()
        if event.scope() == _NODE or name.startswith(_EVALUATE):
            rows.append(event)
        elif name.endswith(_FORWARD):
            forwards[event.start_thread_id()].append(event)
    calls = _calls_by_thread(finished, forwards)
    evaluations = groupby(_evaluations(rows), attrgetter("process", "thread"))
    return [mark for _, nodes in evaluations for mark in _of_thread(nodes, calls)]


def _calls_by_thread(
    finished: Iterable[ThreadCalls], forwards: dict[int, list[Any]]
) -> dict[int, Calls]:
    """Return the calls of each thread, by the number that the profiler gives it."""
    by_native_id: defaultdict[int, list[FinishedCall]] = defaultdict(list)
    for thread in finished:
        by_native_id[thread.native_id] += thread.calls
    native = {number: rows[0].device_resource_id() for number, rows in forwards.items()}
    # The system may reuse the id of a thread that has ended: then its calls are ambiguous.
    times = Counter(native.values())
    return {
        number: Calls(by_native_id[native[number]], rows)
        for number, rows in forwards.items()
        if times[native[number]] == 1
    }


def _evaluations(rows: list[Any]) -> list[_Evaluation]:
    """Return the nodes that ran, thread by thread, outer before inner."""
    found: list[_Evaluation] = []
    around: list[_Evaluation] = []
    for row in sorted(rows, key=_place):
        process, thread, start, negative_end = _place(row)
        while around and (around[-1].thread != thread or around[-1].end <= start):
            around.pop()
        if row.scope() != _NODE:
            found.append(_Evaluation(process, thread, start, -negative_end))
            around.append(found[-1])
        elif around and around[-1].number < 0:
            # The outer row may lack the number, or have another's: torch copies it from whatever
            # row comes next.
            around[-1].forward_thread, around[-1].number = row.fwd_thread_id(), row.sequence_nr()
    return found


def _end(event: Any) -> int:
    return int(event.start_ns() + event.duration_ns())  # torch 2.4 has no `end_ns`


def _place(row: Any) -> tuple[int, int, int, int]:
    return row.device_index(), row.device_resource_id(), row.start_ns(), -_end(row)


def _of_thread(nodes: Iterable[_Evaluation], calls: dict[int, Calls]) -> Iterator[Mark]:
    """Yield the marks on one thread; a backward may run inside a node of another."""
    around: list[_Evaluation] = []
    running: list[dict[int, _Running]] = [{}]
    for node in nodes:
        while around and around[-1].end <= node.start:
            around.pop()
            yield from _finish(running.pop())
        here = running[-1]
        if node.number < 0:
            for part in here.values():
                part.last = node
        elif node.forward_thread in calls:
            part = here.setdefault(node.forward_thread, _Running(calls[node.forward_thread], node))
            yield from part.step(node)
        around.append(node)
        running.append({})
    for parts in reversed(running):
        yield from _finish(parts)


def _finish(parts: dict[int, _Running]) -> Iterator[Mark]:
    for part in parts.values():
        yield from part.finish()
