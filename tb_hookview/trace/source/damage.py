"""What was found damaged in a file, and how it was read all the same: counted, with the place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple


class Notice(NamedTuple):
    """Something the reader met that the user should know of."""

    code: str
    message: str
    times: int


class Place(NamedTuple):
    """Where damage was met first."""

    byte: int
    """Offset in the text; for a packed file, in what is inflated."""
    event: int | None
    """Events read before it; None beside the events."""


class Damages:
    """Repairs by code. Those of one part of a file can be added to those of the parts before."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._first: dict[str, Place] = {}

    def __bool__(self) -> bool:
        return bool(self._counts)

    def note(self, code: str, byte: int, event: int | None = None, times: int = 1) -> None:
        """Count a repair; `code` is a key of `MESSAGES`."""
        self._counts[code] += times
        self._first.setdefault(code, Place(byte, event))

    def add(self, later: Damages, events: int = 0) -> None:
        """Take in what was found in a later part of the file, behind some events."""
        for code, place in later._first.items():
            event = None if place.event is None else place.event + events
            self.note(code, place.byte, event, later._counts[code])

    def notices(self) -> Iterator[Notice]:
        """What to tell the user, in the order of `MESSAGES`."""
        for code, message in MESSAGES.items():
            if code in self._counts:
                yield Notice(code, f"{message} ({self._where(code)})", self._counts[code])

    def problem(self) -> str:
        """What is wrong, without what was done about it: the first of `notices`."""
        code = next(code for code in MESSAGES if code in self._counts)
        return f"{MESSAGES[code].partition(';')[0]} ({self._where(code)})"

    def _where(self, code: str) -> str:
        byte, event = self._first[code]
        first = "first at" if self._counts[code] > 1 else "at"
        behind = "" if event is None else f", behind event {event:,}"
        return f"{first} byte {byte:,}{behind}"


MESSAGES = {
    "cut-off": "the file ends before its text does; all whole events before that are kept",
    "packing-cut": "the packed data breaks off; what was before that is read",
    "bytes-behind": "bytes behind the end of the packed data, left out",
    "encoding": "the text is UTF-16 or UTF-32, read as such",
    "text-behind": "there is more text behind the end of the trace, left out",
    "lost-events": "stretches that cannot be read, each of which may hold events, left out",
    "lost-head": "what stands beside the events is damaged; the part that can be read is kept",
    "nested": "events nested too deeply, left out",
    "bad-characters": "bytes that are no UTF-8, replaced by U+FFFD",
    "control-characters": "control characters inside texts, taken as they are",
    "backslashes": "texts with backslashes that escape nothing, taken as they are",
    "quotes": "events with unescaped quotes inside texts, taken as they are",
    "bare-words": "values such as NaN, Infinity or N/A, taken as null",
    "commas": "commas between events that are missing, or too many",
}
