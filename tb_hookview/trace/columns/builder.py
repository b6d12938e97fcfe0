"""Columns grown piece by piece and frozen once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import compress, groupby
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_hookview.arrays.joins import grouped, isin
from tb_hookview.arrays.types import Bool, Float, Index, Nanoseconds
from tb_hookview.trace.columns.event_args import without_functions
from tb_hookview.trace.columns.growing import (
    LONGEST_NS,
    TABLES,
    Interner,
    MemoryRows,
    RareRows,
    are_starts,
    are_whole,
    doubles_are_exact,
    drop_impossible_occupancy,
    from_doubles,
    from_texts,
)
from tb_hookview.trace.columns.trace import Events, Flows, StringTable, Thread
from tb_hookview.trace.format.events import (
    KEY_FIELDS,
    LAUNCH_ARROWS,
    NO_TIME,
    UNNAMED,
    Event,
    MemoryArguments,
    move_name,
)
from tb_hookview.trace.format.vocabulary import (
    ARGUMENTS,
    CATEGORIES,
    CUDA_SYNC_CATEGORY,
    DEVICE_CATEGORIES,
    EVERYTHING,
    FORWARD_BACKWARD_FLOWS,
    LAUNCH_FLOWS,
    MOVED,
    Argument,
    EventCategory,
    Form,
    Wanted,
    is_annotation_of_old,
)
from tb_hookview.trace.source.inflate import Notice
from tb_hookview.trace.text.pieces import Piece

_NAMED = 10
"""Unknown categories that get a notice of their own."""
_LARGEST = 1e15
"""Bound of a kernel's measures: beyond, doubles do not hold every whole number."""
_PAIR = 1 << 31
"""More than there are distinct processes or threads: a pair of their numbers makes one."""


_Arrow = tuple[int | str, int, int]
"""One end of a flow: its identity, its place, its time in nanoseconds.

A plain tuple: a class of its own would cost a call for each."""


class Builder:
    """Takes pieces in file order; `finish` gives the columns of `Trace`."""

    def __init__(self, wanted: Wanted = EVERYTHING) -> None:
        self._wanted = wanted
        by_rows = groupby(sorted(wanted.arguments, key=self._rows_of), key=self._rows_of)
        self._by_rows = [(rows, list(group)) for rows, group in by_rows]
        self._with_texts: list[int] = []
        """Numbers of the names whose rows have texts, of the first `_names_tested` names."""
        self._names_tested = 0
        self.event_count = 0
        self.any_phase = False
        self._counts: Counter[str] = Counter()
        self._endless = 0
        self._names = Interner()
        self._complete_count = 0
        self._categories, self._places = Interner(), Interner()
        self._processes, self._rows = Interner(), Interner()
        self._texts = {a.column: Interner() for a in wanted.arguments if a.form is Form.TEXT}
        for interner in self._texts.values():
            interner.number(b"")
        self._complete: list[dict[str, Any]] = []
        self._arrows: dict[str, list[_Arrow]] = {"s": [], "f": []}
        self._memory = MemoryRows()
        self._rare = RareRows()
        self._thread_names: dict[tuple[str, str], str] = {}

    def add(self, piece: Piece) -> None:
        """Take the events of a piece."""
        events = piece.events
        complete = [event for event in events if event.ph == "X"]
        functions = self._wanted.functions
        read = without_functions(complete, functions) if functions else complete
        self._complete.append(self._columns(read, piece))
        # Arrows of launches are most of the rest, and of no use here; few are not by their type.
        rest = [e for e in events if type(e) not in LAUNCH_ARROWS and e.ph != "X"]
        others = [e for e in rest if not (e.ph and e.cat in LAUNCH_FLOWS)]
        self.any_phase = self.any_phase or len(others) < len(events)
        if others:
            self._add_others(others, piece)
        self.event_count += len(events)
        self._counts["unexpected-type"] += piece.loose

    def _add_others(self, events: list[Event], piece: Piece) -> None:
        phases = [event.ph for event in events]
        self._counts["no-phase"] += phases.count("")
        self._counts["begin-end"] += phases.count("B") + phases.count("E")
        self.any_phase = self.any_phase or any(phases)
        linking = [event for event in events if event.cat in FORWARD_BACKWARD_FLOWS]
        for phase, arrows in self._arrows.items():
            self._add_arrows(arrows, [event for event in linking if event.ph == phase], piece)
        named = [event for event in events if event.name in _READ_NAMES]
        for event in named:
            if event.ph == "M" and event.name == _THREAD_NAME:
                self._thread_names[str(event.pid), str(event.tid)] = str(event.args.label)
        if self._wanted.details:
            self._add_memory([event for event in named if event.ph == "i"], piece)

    def finish(self) -> dict[str, Any]:
        """Freeze what was taken into columns of `Trace`."""
        columns = _joined(self._complete, self._wanted)
        self._count_missing(columns)
        strings, texts = StringTable(tuple(self._names.values())), self._text_table(columns)
        category = columns["category"]
        kind = self._kind_table()[category]
        old = np.array([is_annotation_of_old(text) for text in strings.texts], bool)
        kind[(kind == EventCategory.OPERATOR) & old[columns["name"]]] = EventCategory.ANNOTATION
        self._take_old_rows(columns, kind)
        _link_launches(columns, kind)
        drop_impossible_occupancy(columns, texts)
        del columns["category"]
        threads, renumbered = self._threads()
        columns["thread"] = renumbered[columns["thread"]]
        return {
            "strings": strings,
            "texts": texts,
            "events": Events(kind=kind, **columns),
            "threads": threads,
            "flows": self._flows(renumbered),
            **self._memory.tables(renumbered),
            "collectives": self._rare.collective_table(),
            "cuda_syncs": self._rare.cuda_sync_table(),
            "notices": (*self._unknown(category, kind), *self._counted()),
        }

    def join(self) -> None:
        """Join the columns of all pieces, as `absorb` of another one takes them."""
        self._complete = [_joined(self._complete, self._wanted)]

    def absorb(self, later: Builder) -> None:
        """Append the state of another builder, whose pieces come after those of this one.

        Call `join` of that one before; it cannot be used after it.
        """
        place, columns = self._absorbed_places(later), later._complete[0]
        columns["name"] = self._names.absorbed(later._names)[columns["name"]]
        columns["category"] = self._categories.absorbed(later._categories)[columns["category"]]
        columns["thread"] = place[columns["thread"]]
        for column, interner in later._texts.items():
            columns[column] = self._texts[column].absorbed(interner)[columns[column]]
        self._complete.append(columns)
        for phase, arrows in later._arrows.items():
            self._arrows[phase] += [(number, int(place[p]), time) for number, p, time in arrows]
        self._memory.absorb(later._memory, place)
        self._rare.absorb(later._rare, self._complete_count)
        self._thread_names.update(later._thread_names)
        self._counts.update(later._counts)
        self._complete_count += later._complete_count
        self.event_count += later.event_count
        self.any_phase = self.any_phase or later.any_phase

    def _absorbed_places(self, later: Builder) -> Index:
        """Number here of each place of another builder."""
        processes = self._processes.absorbed(later._processes)
        rows = self._rows.absorbed(later._rows)
        process, row = np.divmod(np.array(later._places.values(), np.int64), _PAIR)
        pairs = processes[process].astype(np.int64) * _PAIR + rows[row]
        return self._places.column(pairs.tolist())

    def _count_missing(self, columns: dict[str, Any]) -> None:
        """Count complete events without a name, or without a process or thread."""
        nameless = columns["name"] == self._names.find("")
        self._counts["no-name"] = int(np.count_nonzero(nameless))
        process, row = self._processes.find(""), self._rows.find("")
        places = [divmod(place, _PAIR) for place in self._places.values()]
        nowhere = np.array([p == process or r == row for p, r in places], bool)
        self._counts["no-thread"] = int(np.count_nonzero(nowhere[columns["thread"]]))

    def _text_table(self, columns: dict[str, Any]) -> StringTable:
        """Put the texts of all columns in one table, and renumber these columns."""
        texts = [b""]
        for column, interner in self._texts.items():
            columns[column][columns[column] > 0] += len(texts) - 1
            texts += interner.values()[1:]
        return StringTable(tuple(text.decode("utf-8", "replace") for text in texts))

    def _columns(self, complete: list[Event], piece: Piece) -> dict[str, Any]:
        starts = np.fromiter([event.ts for event in complete], np.float64, len(complete))
        timed = are_starts(starts)
        if not timed.all():
            self._counts["no-timestamp"] += int(np.count_nonzero(~timed))
            complete = list(compress(complete, timed.tolist()))
            starts = starts[timed]
        start, duration = self._times(complete, starts, piece)
        self._counts["no-duration"] += self._endless
        category = self._categories.column([event.cat for event in complete])
        kind = self._kind_table()[category]
        name = self._names.column([event.name for event in complete])
        self._add_rare(complete, name, category, piece)
        return {
            "name": name,
            "category": category,
            "start": start,
            "duration": duration,
            "thread": self._place(complete),
            **self._arguments(complete, kind, name),
        }

    def _arguments(
        self, complete: list[Event], kind: NDArray[np.int8], name: Index
    ) -> dict[str, Any]:
        """The columns of arguments; only events of the kinds that have one are read."""
        columns = {}
        everything = [event.args for event in complete]
        for (named, kinds), group in self._by_rows:
            wanted = isin(kind, kinds)
            if named:
                wanted &= self._has_texts(name)
            if wanted.any():
                chosen = list(compress(everything, wanted.tolist()))
                for argument in group:
                    column = np.full(len(kind), _none(argument), _TYPE[argument.form])
                    column[wanted] = self._argument(argument, chosen)
                    columns[argument.column] = column
        return columns

    def _rows_of(self, argument: Argument) -> tuple[bool, tuple[int, ...]]:
        """Whether rows are chosen by name, too, and the kinds of those that have an argument."""
        named = self._wanted.texts_of is not None and argument.form is Form.TEXT
        return named, tuple(sorted(argument.kinds))

    def _has_texts(self, name: Index) -> Bool:
        """Whether rows of these names have their arguments of texts read."""
        test = self._wanted.texts_of
        for number, text in self._names.since(self._names_tested):
            if test is None or test(text):
                self._with_texts.append(number)
            self._names_tested = number + 1
        return isin(name, self._with_texts)

    def _argument(self, argument: Argument, events: list[Any]) -> Any:
        """Column of an argument, by the newest spelling that each event has."""
        newest, *older = (attrgetter(KEY_FIELDS[key]) for key in argument.keys)
        column = self._values(argument, map(newest, events), len(events))
        for spelling in older:
            # NaN is no value
            absent = np.flatnonzero((column == _none(argument)) | (column != column))
            left = map(spelling, map(events.__getitem__, absent.tolist()))
            column[absent] = self._values(argument, left, len(absent))
        return column

    def _values(self, argument: Argument, found: Iterator[Any], size: int) -> Any:
        if argument.form is Form.WHOLE:
            return np.fromiter(found, np.int64, size)
        if argument.form is Form.TEXT:
            # No JSON holds a zero byte, and this is twice as fast as to convert each.
            joined = b"\0".join(found)
            if len(joined) < size:  # all are empty
                return 0
            return self._texts[argument.column].column(joined.split(b"\0") if size else [])
        return _measured(list(found))

    def _times(
        self, events: list[Event], starts: NDArray[np.float64], piece: Piece
    ) -> tuple[Nanoseconds, Nanoseconds]:
        """Start and duration of some events of a piece, nanoseconds; starts in microseconds."""
        texts = None
        exact = doubles_are_exact(starts) or (are_whole(starts) and not piece.has_fractions)
        if not exact:
            texts = piece.time_texts(events)
        if texts is None:
            lengths = np.fromiter([event.dur for event in events], np.float64, len(events))
            start, duration = from_doubles(starts), from_doubles(lengths)
            self._endless = int(np.count_nonzero(np.isnan(lengths)))
        else:
            start, duration = from_texts(texts[0]), from_texts(texts[1])
            self._endless = texts[1].count(NO_TIME)
        self._counts["negative-duration"] += int(np.count_nonzero(duration < 0))
        return start, np.where((duration > 0) & (duration < LONGEST_NS), duration, 0)

    def _place(self, events: list[Event]) -> Index:
        """Number of each event's place: process and thread, as spelled.

        Two look-ups of plain values are cheaper than one of a pair.
        """
        process = self._processes.column([event.pid for event in events])
        row = self._rows.column([event.tid for event in events])
        width = int(row.max(initial=0)) + 1
        pairs, first, place = grouped(process.astype(np.int64) * width + row)
        processes, rows = np.divmod(pairs, width)
        # In order of appearance: that of their numbers depends on what was read before.
        order = np.argsort(first)
        numbers = np.empty(len(pairs), np.int32)
        numbers[order] = self._places.column((processes * _PAIR + rows)[order].tolist())
        return numbers[place]

    def _kind_table(self) -> NDArray[np.int8]:
        found = self._categories.values()
        return np.array(
            [CATEGORIES.get(text.lower(), EventCategory.OTHER) for text in found], np.int8
        )

    def _add_arrows(self, arrows: list[_Arrow], events: list[Event], piece: Piece) -> None:
        starts = np.array([event.ts for event in events], np.float64)
        times = self._times(events, starts, piece)[0].tolist()
        arrows += zip([e.id for e in events], self._place(events).tolist(), times, strict=True)

    def _add_memory(self, instants: list[Event], piece: Piece) -> None:
        for name in TABLES:
            events = [event for event in instants if event.name == name]
            details = [event.args for event in events]
            if details and not isinstance(details[0], MemoryArguments):  # decoded without types
                details = piece.details(events)
            if details:
                starts = np.array([event.ts for event in events], np.float64)
                time = self._times(events, starts, piece)[0]
                self._memory.add(name, time, self._place(events), details)

    def _add_rare(self, complete: list[Event], name: Index, category: Index, piece: Piece) -> None:
        """Take the rare arguments of a piece, and complete the names of copies and sets."""
        calls = self._names.find(_COLLECTIVE)
        collectives = (name == calls) & (calls >= 0)
        if collectives.any() and _DETAILED not in piece.text:
            collectives[:] = False  # torch wrote no details of them in 2023 and before
        syncs = category == self._categories.find(CUDA_SYNC_CATEGORY)
        syncs &= self._wanted.details
        moves = isin(name, [self._names.find(text) for text in UNNAMED])
        rows = np.flatnonzero(collectives | syncs | moves).tolist()
        details = piece.details([complete[row] for row in rows]) if rows else []
        for row, arguments in zip(rows, details, strict=False):
            if collectives[row]:
                self._rare.add_collective(self._complete_count + row, arguments)
            elif syncs[row]:
                self._rare.add_cuda_sync(self._complete_count + row, arguments)
            else:
                full = move_name(complete[row].name, *_MOVED_OF(arguments))
                name[row] = self._names.number(full)
        self._complete_count += len(complete)

    def _flows(self, renumbered: Index) -> Flows:
        heads = {name: (place, time) for name, place, time in self._arrows["f"]}
        pairs = [(p, t, *heads[name]) for name, p, t in self._arrows["s"] if name in heads]
        tail_place, tail_time, head_place, head_time = np.array(pairs, np.int64).reshape(-1, 4).T
        return Flows(
            from_thread=renumbered[tail_place],
            from_time=tail_time.copy(),
            to_thread=renumbered[head_place],
            to_time=head_time.copy(),
        )

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

    def _take_old_rows(self, columns: dict[str, Any], kind: NDArray[np.int8]) -> None:
        """Make operators of the rows of torch.autograd.profiler, which have no category."""
        places = [divmod(place, _PAIR)[0] for place in self._places.values()]
        process = np.array(places or [-1], np.int64)[columns["thread"]]
        bare = (kind == EventCategory.OTHER) & (columns["category"] == self._categories.find(""))
        host, device = (bare & (process == self._processes.find(name)) for name in _OLD_PROCESSES)
        kind[host] = EventCategory.OPERATOR
        kind[device] = EventCategory.DEVICE_ANNOTATION
        self._counts["old-device"] = int(np.count_nonzero(device))

    def _unknown(self, category: Index, kind: NDArray[np.int8]) -> Iterator[Notice]:
        found, other = self._categories.values(), category[kind == EventCategory.OTHER]
        times = np.bincount(other, minlength=len(found))
        unknown = np.flatnonzero(times)
        for number in unknown[:_NAMED]:
            message = f"events of an unknown category ({found[number][:60]!r}), counted as other"
            yield Notice("unknown-category", message, int(times[number]))
        if len(unknown) > _NAMED:
            message = f"events of {len(unknown) - _NAMED} further categories not known here"
            yield Notice("unknown-category", message, int(times[unknown[_NAMED:]].sum()))

    def _counted(self) -> Iterator[Notice]:
        for code, message in _MESSAGES.items():
            if self._counts[code]:
                yield Notice(code, message, self._counts[code])


_MESSAGES = {
    "unexpected-type": "events with a value of unexpected type, read without it",
    "negative-duration": "negative durations, taken as 0",
    "no-timestamp": "events without a time, or with an impossible one, left out",
    "no-duration": "events without a duration, or with one that is no number, taken as 0",
    "no-phase": "events without a phase (`ph`), left out",
    "begin-end": "events that begin or end a row (`ph` B and E), left out: only complete ones (X), "
    "as torch.profiler writes them, are read",
    "no-name": "events without a name",
    "old-device": "times of operators on the device by torch.autograd.profiler of torch 1.7 and "
    "before, left out, as they are no kernels; record with torch.profiler",
    "no-thread": "events without a process (`pid`) or a thread (`tid`), put on a row of their own",
}


def _joined(pieces: list[dict[str, Any]], wanted: Wanted) -> dict[str, Any]:
    """Concatenate the columns of all pieces, each freed as it is joined."""
    joined = {}
    sizes = [len(piece["name"]) for piece in pieces]
    for column, dtype in _EVERYWHERE.items():
        parts = [piece.pop(column) for piece in pieces]
        joined[column] = np.concatenate([np.zeros(0, dtype), *parts])
    begins = np.cumsum([0, *sizes]).tolist()
    for argument in ARGUMENTS:
        if argument.column not in wanted.columns:
            joined[argument.column] = np.empty(0, _TYPE[argument.form])
            continue
        whole = np.empty(begins[-1], _TYPE[argument.form])
        for begin, end, piece in zip(begins, begins[1:], pieces, strict=False):
            whole[begin:end] = piece.pop(argument.column, _none(argument))
        joined[argument.column] = whole
    return joined


def _link_launches(columns: dict[str, Any], kind: NDArray[np.int8]) -> None:
    """Without any correlation id in a file (roctracer's), what links is the external id of rows."""
    external, correlation = columns["external"], columns["correlation"]
    if not len(external) or not len(correlation):
        return
    linked = isin(kind, [*map(int, DEVICE_CATEGORIES), int(EventCategory.RUNTIME)])
    if not (correlation[linked] >= 0).any():
        correlation[linked] = external[linked]
        external[linked] = -1


def _none(argument: Argument) -> float:
    """The number for no value in the column of an argument."""
    return argument.missing if argument.form is Form.WHOLE else _NONE[argument.form]


_TYPE: dict[Form, Any] = {Form.WHOLE: np.int64, Form.MEASURED: np.float64, Form.TEXT: np.int32}
_NONE: dict[Form, Any] = {Form.MEASURED: np.nan, Form.TEXT: 0}

_OLD_PROCESSES = "CPU functions", "CUDA functions"
"""Processes of torch.autograd.profiler's rows, of the host and of the device."""
_THREAD_NAME = "thread_name"
_READ_NAMES = frozenset({_THREAD_NAME, *TABLES})
_COLLECTIVE, _DETAILED = "record_param_comms", b'"Group size"'
_MOVED_OF = attrgetter(*MOVED)


_EVERYWHERE: dict[str, Any] = {
    **dict.fromkeys(("name", "category", "thread"), np.int32),
    **dict.fromkeys(("start", "duration"), np.int64),
}
"""Columns that all events have."""


def _measured(found: list[Any]) -> Float:
    """Numbers as they are, NaN for anything else: files hold infinities and words here too."""
    if not {type(value) for value in found} <= {int, float, type(None)}:
        found = [value if isinstance(value, int | float) else None for value in found]
    try:
        values = np.array(found, np.float64)
    except OverflowError:  # a number of hundreds of digits
        small = (value is not None and abs(value) < _LARGEST for value in found)
        values = np.array([v if s else None for v, s in zip(found, small, strict=True)], np.float64)
    values[~(np.abs(values) < _LARGEST)] = np.nan
    return values
