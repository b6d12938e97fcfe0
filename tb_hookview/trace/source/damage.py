"""Damage found in a file and what was repaired or skipped: counted, with its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple


class Notice(NamedTuple):
    """Something in the file that the user should know of."""

    code: str
    message: str
    times: int


class DamagePlace(NamedTuple):
    """Place of the first damage."""

    byte: int
    """Offset in the text; for a compressed file, in what is inflated."""
    event: int | None
    """Events read before it; None outside of the events."""


class Damages:
    """Repairs by code.

    Those of one part of a file can be added to those of the parts before.
    """

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._first: dict[str, DamagePlace] = {}

    def __bool__(self) -> bool:
        return bool(self._counts)

    def note(self, code: str, byte: int, event: int | None = None, times: int = 1) -> None:
        """Count a repair; `code` is a key of `MESSAGES`."""
        self._counts[code] += times
        self._first.setdefault(code, DamagePlace(byte, event))

    def add(self, later: Damages, events: int = 0) -> None:
        """Take in what was found in a later part of the file, after some events."""
        for code, place in later._first.items():
            event = None if place.event is None else place.event + events
            self.note(code, place.byte, event, later._counts[code])

    def notices(self) -> Iterator[Notice]:
        """Yield what to report to the user, in the order of `MESSAGES`."""
        for code, message in MESSAGES.items():
            if code in self._counts:
                yield Notice(code, f"{message} ({self._where(code)})", self._counts[code])

    def problem(self) -> str:
        """Return what is wrong, without what was done about it: the first of `notices`."""
        code = next(code for code in MESSAGES if code in self._counts)
        return f"{MESSAGES[code].partition(';')[0]} ({self._where(code)})"

    def _where(self, code: str) -> str:
        byte, event = self._first[code]
        first = "first at" if self._counts[code] > 1 else "at"
        after = "" if event is None else f", after event {event:,}"
        return f"{first} byte {byte:,}{after}"


MESSAGES = {
    "cut-off": "the file ends before its JSON does; all whole events before that are read",
    "packing-cut": "the compressed data is truncated; what precedes the cut is read",
    "bytes-behind": "there is more after the end of the compressed data, skipped",
    "text-behind": "there is more text after the end of the trace, skipped",
    "lost-events": "spans that do not decode, each of which may hold events, skipped",
    "lost-head": "the JSON around the events is damaged; what precedes them is read, if it decodes",
    "repaired": "bad escapes, quotes, characters, commas, or values such as NaN, repaired",
}
LOSSES = frozenset({"cut-off", "packing-cut", "lost-events", "lost-head"})
"""Of these, those by which events or what is around them may be missing."""
