"""All arguments of single events, as they are in the file.

The file is read once more, some MB beyond the last event requested, and held compressed in pieces,
so that an event is found within one of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import compress
from threading import Lock
from typing import Any

import msgspec
import numpy as np
from isal import igzip

from tb_hookview.cache import FileState
from tb_hookview.errors import TraceError
from tb_hookview.trace.columns.growing import EARLIEST_NS, LATEST_NS, LONGEST_NS, are_starts
from tb_hookview.trace.format.events import Event, decode_events, move_name
from tb_hookview.trace.format.vocabulary import MOVED, PYTHON_CATEGORY
from tb_hookview.trace.source.file import TraceFile
from tb_hookview.trace.text.pieces import texts

_EARLIEST_US, _LATEST_US = EARLIEST_NS / 1000, LATEST_NS / 1000

SMALL = 16 << 20
"""Bytes of JSON that are read at once, so that the file does not stay open."""


class _Outline(msgspec.Struct, gc=False):
    """The fields that make an event a row of `Events`."""

    ph: str = ""
    ts: float = float("nan")


_outlines = msgspec.json.Decoder(list[_Outline], strict=False)
_raw = msgspec.json.Decoder(list[msgspec.Raw])


class EventArguments:
    """Arguments by row of `Events`. Safe to use from many threads.

    Args:
        file: the file that the rows were read from, in the state in which they were.
    """

    def __init__(self, file: TraceFile) -> None:
        self._file, self._state = file, _state(file)
        self._pieces: list[bytes] = []
        self._ends: list[int] = [0]
        """Row after the last one of each piece, and 0 before them."""
        self._rest = texts(file)
        self._lock = Lock()

    def of(self, row: int, name: str) -> dict[str, Any] | None:
        """Arguments of a row.

        Args:
            row: row of `Events`.
            name: the row's name, to check that the file is still the one that was read.

        Returns:
            The arguments; None where they are no text, or the file is gone or was written to.
        """
        with self._lock:
            if not self._reaches(row):
                return None
            place = bisect_right(self._ends, row) - 1
            piece, first = self._pieces[place], self._ends[place]
        text: bytes = igzip.decompress(piece)  # type: ignore[no-untyped-call]
        number = row - first
        try:
            event = msgspec.json.decode(_raw.decode(text)[_complete(text)[number]])
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None  # what no column needs may be no text
        arguments = event.get("args", {})
        if not isinstance(arguments, dict):
            arguments = {"args": arguments}
        moved = (arguments.get(key) for key in MOVED.values())
        if name not in (found := event.get("name", ""), move_name(found, *moved)):
            return None
        return arguments

    def _reaches(self, row: int) -> bool:
        """Read on up to a row; False if the file lacks it, is unreadable or is another by now."""
        if row < self._ends[-1]:
            return True
        try:
            found = self._read_on(row)
        except (TraceError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            found = None
        if found is None or self._state is None or _state(self._file) != self._state:
            found, self._rest = [], iter([])
        for piece, end in found:
            self._pieces.append(piece)
            self._ends.append(end)
        return row < self._ends[-1]

    def _read_on(self, row: int) -> list[tuple[bytes, int]]:
        """Further pieces of the file, each with the row after its last one."""
        found: list[tuple[bytes, int]] = []
        count, size = self._ends[-1], 0
        while (count <= row or size < SMALL) and (text := next(self._rest, None)) is not None:
            count, size = count + len(_complete(text)), size + len(text)
            found.append((igzip.compress(text, 0), count))
        return found


def _state(file: TraceFile) -> FileState | None:
    """State of a file; None where it is gone or out of reach, or can be read only once."""
    try:
        return file.state()
    except (OSError, TraceError):
        return None


def _complete(text: bytes) -> list[int]:
    """Positions in a JSON array of the events that are rows of `Events`."""
    try:
        events: Iterable[Any] = _outlines.decode(text)
    except msgspec.ValidationError:
        events = (next(iter(decode_events(b"[%b]" % bytes(e))[0]), None) for e in _raw.decode(text))
    return [
        number
        for number, event in enumerate(events)
        if event is not None and event.ph == "X" and _EARLIEST_US < event.ts < _LATEST_US
    ]


# Rows of Python functions left out, where only few of them are wanted.


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
