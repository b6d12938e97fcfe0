"""Columns grown piece by piece and frozen once."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import compress, count, groupby
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tb_hookview.trace.arguments import ARGUMENTS, Argument, Form
from tb_hookview.trace.columns import (
    Bool,
    Events,
    Float,
    Flows,
    Index,
    Int,
    Notice,
    StringTable,
    Thread,
)
from tb_hookview.trace.decode import KEY_FIELDS, Event
from tb_hookview.trace.pieces import Piece
from tb_hookview.trace.times import LATEST_NS, doubles_are_exact, from_doubles, from_texts
from tb_hookview.trace.vocabulary import (
    CATEGORIES,
    FORWARD_BACKWARD_FLOWS,
    Kind,
    is_annotation_of_old,
)

_FRACTION = re.compile(rb'"ts"\s*:\s*"?\d+\.\d')
_NAMED = 10
"""Unknown categories that get a notice of their own."""
_LARGEST = 1e15
"""What measures of a kernel stay far below; beyond, a double is no longer whole."""
_PAIR = 1 << 31
"""More than there are distinct processes or threads: two numbers make one."""


class Interner:
    """Gives equal values equal numbers, in order of first appearance."""

    def __init__(self) -> None:
        self._numbers: defaultdict[Any, int] = defaultdict(count().__next__)

    def column(self, values: list[Any]) -> Index:
        """Number of each value."""
        return np.fromiter(map(self._numbers.__getitem__, values), np.int32, len(values))

    def values(self) -> list[Any]:
        """Every distinct value, at the place of its number."""
        return list(self._numbers)


class Builder:
    """Takes pieces in file order; `finish` gives the columns of `Trace`."""

    def __init__(self) -> None:
        self.event_count = 0
        self.any_phase = False
        self._counts: Counter[str] = Counter()
        self._names = Interner()
        self._categories, self._places = Interner(), Interner()
        self._processes, self._rows = Interner(), Interner()
        self._texts = Interner()
        self._texts.column([b""])
        self._complete: list[dict[str, Any]] = []
        self._arrows: dict[str, list[_Arrow]] = {"s": [], "f": []}
        self._thread_names: dict[tuple[str, str], str] = {}

    def add(self, piece: Piece) -> None:
        """Take the events of a piece."""
        events = piece.events
        complete = [event for event in events if event.ph == "X"]
        self._complete.append(self._columns(complete, piece))
        if len(complete) < len(events):
            self._add_others([event for event in events if event.ph != "X"], piece)
        self.any_phase = self.any_phase or bool(complete)
        self.event_count += len(events)
        self._counts["unexpected-type"] += piece.loose

    def _add_others(self, events: list[Event], piece: Piece) -> None:
        self.any_phase = self.any_phase or any(event.ph for event in events)
        self._add_names([event for event in events if event.ph == "M"])
        linking = [event for event in events if event.cat in FORWARD_BACKWARD_FLOWS]
        for phase, arrows in self._arrows.items():
            self._add_arrows(arrows, [event for event in linking if event.ph == phase], piece)

    def finish(self) -> dict[str, Any]:
        """Freeze what was taken into columns of `Trace`."""
        columns = _joined(self._complete)
        strings = StringTable(tuple(self._names.values()))
        category = columns.pop("category")
        kind = self._kind_table()[category]
        old = np.array([is_annotation_of_old(text) for text in strings.texts], bool)
        kind[(kind == Kind.OPERATOR) & old[columns["name"]]] = Kind.ANNOTATION
        threads, renumbered = self._threads()
        columns["thread"] = renumbered[columns["thread"]]
        return {
            "strings": strings,
            "texts": StringTable(tuple(t.decode("utf-8", "replace") for t in self._texts.values())),
            "events": Events(kind=kind, **columns),
            "threads": threads,
            "flows": self._flows(renumbered),
            "notices": (*self._unknown(category), *self._counted()),
        }

    def _columns(self, complete: list[Event], piece: Piece) -> dict[str, Any]:
        starts = np.fromiter([event.ts for event in complete], np.float64, len(complete))
        timed = np.abs(starts) < LATEST_NS / 1000
        if not timed.all():
            self._counts["no-timestamp"] += int(np.count_nonzero(~timed))
            complete = list(compress(complete, timed.tolist()))
            starts = starts[timed]
        start, duration = self._times(complete, starts, piece)
        category = self._categories.column([event.cat for event in complete])
        kind = self._kind_table()[category]
        return {
            "name": self._names.column([event.name for event in complete]),
            "category": category,
            "start": start,
            "duration": duration,
            "thread": self._place(complete),
            **self._arguments(complete, kind),
        }

    def _arguments(self, complete: list[Event], kind: NDArray[np.int8]) -> dict[str, Any]:
        """The columns of `ARGUMENTS`; only events of the kinds that carry one are looked at."""
        columns = {}
        everything = [event.args for event in complete]
        for kinds, group in groupby(sorted(ARGUMENTS, key=_kinds_of), key=_kinds_of):
            carries = _among(kind, kinds)
            carriers = list(compress(everything, carries.tolist()))
            for argument in group:
                columns[argument.column] = self._argument(argument, carriers, carries)
        return columns

    def _argument(self, argument: Argument, carriers: list[Any], carries: Bool) -> Any:
        none = argument.missing if argument.form is Form.WHOLE else _NONE[argument.form]
        column = np.full(len(carries), none, _TYPE[argument.form])
        for key in reversed(argument.keys):
            found = map(attrgetter(KEY_FIELDS[key]), carriers)
            values = self._values(argument.form, found, len(carriers))
            present = (values != none) & (values == values)  # NaN is no value
            column[carries] = np.where(present, values, column[carries])
        return column

    def _values(self, form: Form, found: Iterator[Any], size: int) -> Any:
        if form is Form.WHOLE:
            return np.fromiter(found, np.int64, size)
        if form is Form.TEXT:
            return self._texts.column(list(map(bytes, found)))
        return _measured(list(found))

    def _times(
        self, events: list[Event], starts: NDArray[np.float64], piece: Piece
    ) -> tuple[Int, Int]:
        """Start and duration of some events of a piece, nanoseconds; starts in microseconds."""
        texts = None
        if not doubles_are_exact(starts) and _has_fractions(piece, starts):
            texts = piece.time_texts(events)
        if texts is None:
            lengths = np.fromiter([event.dur for event in events], np.float64, len(events))
            start, duration = from_doubles(starts), from_doubles(lengths)
        else:
            start, duration = from_texts(texts[0]), from_texts(texts[1])
        self._counts["negative-duration"] += int(np.count_nonzero(duration < 0))
        return start, np.maximum(duration, 0)

    def _place(self, events: list[Event]) -> Index:
        """Number of each event's place: process and thread, as spelled.

        Two look-ups of plain values are cheaper than one of a pair.
        """
        process = self._processes.column([event.pid for event in events])
        row = self._rows.column([event.tid for event in events])
        pairs, place = np.unique(process.astype(np.int64) * _PAIR + row, return_inverse=True)
        return self._places.column(pairs.tolist())[place]

    def _kind_table(self) -> NDArray[np.int8]:
        found = self._categories.values()
        return np.array([CATEGORIES.get(text.lower(), Kind.OTHER) for text in found], np.int8)

    def _add_arrows(self, arrows: list[_Arrow], events: list[Event], piece: Piece) -> None:
        starts = np.array([event.ts for event in events], np.float64)
        times = self._times(events, starts, piece)[0].tolist()
        arrows += map(_Arrow, [e.id for e in events], self._place(events).tolist(), times)

    def _flows(self, renumbered: Index) -> Flows:
        heads = {arrow.id: arrow for arrow in self._arrows["f"]}
        pairs = [(tail, heads[tail.id]) for tail in self._arrows["s"] if tail.id in heads]
        tail, head = ([pair[side] for pair in pairs] for side in (0, 1))
        return Flows(
            from_thread=renumbered[np.array([arrow.place for arrow in tail], np.int32)],
            from_time=np.array([arrow.time for arrow in tail], np.int64),
            to_thread=renumbered[np.array([arrow.place for arrow in head], np.int32)],
            to_time=np.array([arrow.time for arrow in head], np.int64),
        )

    def _add_names(self, metadata: list[Event]) -> None:
        for event in metadata:
            if event.name == "thread_name":
                label = event.args.label  # type: ignore[attr-defined]
                self._thread_names[str(event.pid), str(event.tid)] = str(label)

    def _threads(self) -> tuple[tuple[Thread, ...], Index]:
        """Bring number and text spellings of a thread together, and name the threads.

        Returns:
            The threads, and for each place the index of its thread.
        """
        threads = Interner()
        processes, rows = self._processes.values(), self._rows.values()
        places = [divmod(place, _PAIR) for place in self._places.values()]
        renumbered = threads.column([(str(processes[p]), str(rows[t])) for p, t in places])
        names = self._thread_names
        table = tuple(Thread(pid, tid, names.get((pid, tid), "")) for pid, tid in threads.values())
        return table, renumbered

    def _unknown(self, category: Index) -> Iterator[Notice]:
        found = self._categories.values()
        unknown = np.flatnonzero(self._kind_table() == Kind.OTHER)
        for number in unknown[:_NAMED]:
            message = f"events of a category not known here ({found[number][:60]!r}), kept as other"
            yield Notice("unknown-category", message, int(np.count_nonzero(category == number)))
        if len(unknown) > _NAMED:
            message = f"events of {len(unknown) - _NAMED} further categories not known here"
            times = int(np.count_nonzero(np.isin(category, unknown[_NAMED:])))
            yield Notice("unknown-category", message, times)

    def _counted(self) -> Iterator[Notice]:
        for code, message in _MESSAGES.items():
            if self._counts[code]:
                yield Notice(code, message, self._counts[code])


_MESSAGES = {
    "unexpected-type": "events with a value of unexpected type, kept without it",
    "negative-duration": "negative durations, taken as 0",
    "no-timestamp": "events without a time, or with an impossible one, left out",
}


def _has_fractions(piece: Piece, start: NDArray[np.float64]) -> bool:
    """Whether a file writes more than whole microseconds; its first events tell."""
    return bool(np.any(start != np.trunc(start))) or bool(_FRACTION.search(piece.text, 0, 1 << 16))


class _Arrow(NamedTuple):
    id: int | str
    place: int
    time: int


def _joined(pieces: list[dict[str, Any]]) -> dict[str, Any]:
    """Concatenate the columns of all pieces, each freed as it is joined."""
    joined = {column: np.zeros(0, dtype) for column, dtype in _EMPTY.items()}
    for column in joined:
        parts = [piece.pop(column) for piece in pieces]
        joined[column] = np.concatenate([joined[column], *parts])
    return joined


_TYPE: dict[Form, Any] = {Form.WHOLE: np.int64, Form.MEASURED: np.float64, Form.TEXT: np.int32}
_NONE: dict[Form, Any] = {Form.MEASURED: np.nan, Form.TEXT: 0}

_EMPTY: dict[str, Any] = {
    **dict.fromkeys(("name", "category", "thread"), np.int32),
    **dict.fromkeys(("start", "duration"), np.int64),
    **{argument.column: _TYPE[argument.form] for argument in ARGUMENTS},
}


def _among(kind: NDArray[np.int8], kinds: tuple[int, ...]) -> Bool:
    table = np.zeros(len(Kind), bool)
    table[list(kinds)] = True
    return np.asarray(table[kind])


def _kinds_of(argument: Argument) -> tuple[int, ...]:
    return tuple(sorted(argument.kinds))


def _measured(found: list[Any]) -> Float:
    """Numbers as they are, NaN for what is none: infinities and words stand here too."""
    if not {type(value) for value in found} <= {int, float, type(None)}:
        found = [value if isinstance(value, int | float) else None for value in found]
    try:
        values = np.array(found, np.float64)
    except OverflowError:  # a number of hundreds of digits
        values = np.array([value if _small(value) else None for value in found], np.float64)
    values[~(np.abs(values) < _LARGEST)] = np.nan
    return values


def _small(value: float | None) -> bool:
    return value is not None and abs(value) < _LARGEST
