"""Damaged JSON brought into shape: one segment of the list of events at a time, and the root.

A segment that is no valid JSON is mended in the first way that helps:

1. its texts and words are mended (`tokens`), and it is taken whole;
2. it is read event by event. Each is found by a parser that tells where a value ends. One that it
   cannot read is mended by itself, or left out up to where the next event begins.

An event whose end is not in the segment is kept for the next one: a cut may fall inside an event
whose arguments look like events.
"""

from __future__ import annotations

import json
import re
import sys
from bisect import bisect_right
from collections.abc import Callable
from enum import Enum

import msgspec

from tb_hookview.trace.format.decode import HEAD_KEYS, Head, decode_events, decode_head
from tb_hookview.trace.source.damage import Damages
from tb_hookview.trace.source.limits import DEFAULT, Limits
from tb_hookview.trace.text.tokens import Mend, mended, requoted

DAMAGE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What the decoders raise for JSON that is damaged, or nested too deeply."""
BETWEEN = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|cat|name|pid|tid|ts|dur|id|args|s|bp)"\s*:)')
"""From the end of an event to the next one; the same may stand inside arguments, or in a text."""

_BEGIN = re.compile(rb'\{\s*"(?:ph|cat|name|pid|tid|ts|dur|id|args|s|bp)"\s*:')
_GAP = re.compile(rb"[\s,]*")
_LIST_END = re.compile(rb'\](?=\s*(?:,\s*(?:"|\Z)|\}|\Z))')
_LAST_END = re.compile(rb'\}\s*(?=\]\s*(?:,\s*"|\}\s*\Z|\Z))')
_SCALAR = re.compile(rb'(?:"[^"\\]*(?:\\.[^"\\]*)*"|[-\w.+]+)(?=\s*(?:[,\]]|\Z))', re.DOTALL)
_UNFINISHED = re.compile(r"[-+\w./]{0,16}\s*\Z")
_PATIENCE = 8
"""Times the size of a segment that may be parsed before only small events are tried any more: no
damage takes longer than a time proportional to its size."""
_SMALL = 1 << 12
_WINDOW = 1 << 15
"""Characters that most events are far shorter than."""
_COST = 4
"""Times as long as to parse a text it takes to mend it."""
_GARBLED = re.compile(rb"\0|(?:[\x01-\x08\x0e-\x1f][^\x01-\x08\x0e-\x1f]{0,16}){16}", re.DOTALL)
"""What no writer of names writes: bytes of something else, which end and begin amid events."""


def _ignored(_text: str) -> None:
    return None


_parse = json.JSONDecoder(
    strict=False, parse_int=_ignored, parse_float=_ignored, parse_constant=_ignored
).raw_decode


class Mender:
    """Mends the segments of one file in order, and its root last.

    Args:
        path: the file, for messages.
        limits: how much may be read.
    """

    def __init__(self, path: str, limits: Limits = DEFAULT) -> None:
        self.path, self._limits = path, limits
        self.tail: bytes | None = None
        """What follows the last event, from its `]` on; None before that was met."""
        self.tail_begin = 0
        """Offset in the file's text of that."""
        self._carried = b""
        self._astray = False

    @property
    def busy(self) -> bool:
        """Whether the next segment must be mended, valid or not."""
        return bool(self._carried) or self.tail is not None or self._astray

    def mend(
        self, text: bytes, begin: int, damages: Damages, glue: bytes = b"", *, last: bool = False
    ) -> bytes:
        """Return the events of a segment as a JSON array.

        Args:
            text: the segment: events with commas between them.
            begin: offset of that in the file's text.
            damages: takes the repairs.
            glue: what stands between this segment and the next.
            last: no other segment follows.

        Raises:
            TraceError: an event is longer than allowed.
        """
        if self.tail is not None:
            self.tail += text + glue
            self._limits.event_bytes.check(self.path, len(self.tail))
            return b"[]"
        if not self.busy and not last:
            whole = _whole(text, begin, damages)
            if whole is not None:
                return whole
        begin -= len(self._carried)
        scan = _Scan(self._carried + text, begin, self._astray, damages, last)
        scan.run()
        self._astray = scan.astray
        self._carried = scan.carried + glue if scan.carried else b""
        self._limits.event_bytes.check(self.path, len(self._carried))
        if scan.tail is not None:
            self.tail, self.tail_begin = scan.tail + glue, scan.place()
        return b"[%b]" % b",".join(scan.kept)


def _whole(text: bytes, begin: int, damages: Damages) -> bytes | None:
    """Mend the texts and words of a segment; None where that is not enough."""
    if _GARBLED.search(text):
        return None
    whole, mends = mended(text)
    if not _decodes(whole):
        return None
    for code, times, first in mends:
        damages.note(code, begin + first, len(BETWEEN.findall(text, 0, first)), times)
    return b"[%b]" % whole


def _note(damages: Damages, mends: list[Mend], byte: int, event: int | None) -> None:
    for code, times, first in mends:
        damages.note(code, byte + first, event, times)


def _decodes(text: bytes) -> bool:
    try:
        decode_events(b"[%b]" % text)
    except DAMAGE:
        return False
    return True


def _has_phase(text: bytes) -> bool:
    events, _ = decode_events(b"[%b]" % text)
    return any(event.ph for event in events)


class _Found(Enum):
    """What a parser makes of the text from some place on."""

    WHOLE = 1
    BEGUN = 2
    """Sound as far as the text goes; more of it may end it."""
    NESTED = 3
    """Too deep to be parsed."""
    DAMAGED = 4


def _extent(text: str) -> tuple[_Found, int]:
    """What a text begins with, and how far that was parsed."""
    try:
        return _Found.WHOLE, _parse(text)[1]
    except json.JSONDecodeError as error:
        return (_Found.BEGUN if _is_unfinished(error) else _Found.DAMAGED), error.pos
    except RecursionError:
        return _Found.NESTED, _COST * sys.getrecursionlimit()


class _Scan:
    """Reads one segment event by event; `run` leaves the result in the attributes.

    Args:
        text: the segment, with what was carried over before it.
        begin: offset of that in the file's text.
        astray: whether events were lost right before, so that what looks like one may be none.
        damages: takes the repairs.
        last: no other segment follows.
    """

    def __init__(self, text: bytes, begin: int, astray: bool, damages: Damages, last: bool) -> None:
        self.kept: list[bytes] = []
        self.carried = b""
        self.tail: bytes | None = None
        self.astray = astray
        self._text, self._begin, self._damages, self._last = text, begin, damages, last
        self._characters = text.decode("latin-1")  # offsets stay those of the bytes
        self._breaks = [match.start() + 1 for match in BETWEEN.finditer(text)]
        self._last_end = -1
        self._at = 0
        self._patience = _PATIENCE * len(text)

    def run(self) -> None:
        """Read to the end of the segment, or of the list of events."""
        while self._next():
            here = self._text[self._at]
            if here == ord("]") and self._closes():
                self.tail = self._text[self._at :]
                return
            scalar = _SCALAR.match(self._text, self._at)
            if here == ord("{"):
                self._event()
            elif scalar and not self.astray and _decodes(scalar[0]):
                self._keep(scalar[0], scalar.end())
            else:
                self._lose("lost-events")
        if self._last:
            self._damages.note("cut-off", self.place(), len(self.kept))

    def _next(self) -> bool:
        """Go to the next value; False where there is none."""
        match = _GAP.match(self._text, self._at)
        assert match
        commas, begin = match[0].count(b","), self._at
        self._at = match.end()
        done = self._at == len(self._text)
        closes = not done and self._text[self._at] == ord("]")
        expected = {0} if closes or not self.kept else {0, 1} if done else {1}
        if self.carried or self.astray or begin == 0:
            expected |= {0, 1}
        if commas not in expected:
            self._damages.note("commas", self.place(), len(self.kept))
        return not done

    def _closes(self) -> bool:
        """Whether the `]` that stands here is that of the list of events."""
        if _LIST_END.match(self._text, self._at):
            return True
        return self._last and _BEGIN.search(self._text, self._at) is None

    def place(self) -> int:
        """Offset in the file's text of what is read next."""
        return self._begin + self._at

    def _event(self) -> None:
        found, end = self._extent()
        if found is _Found.WHOLE:
            self._take(end)
        elif found is _Found.NESTED:
            self._lose("nested")
        elif found is _Found.BEGUN and not self._last:
            self.carried = self._text[self._at :]
            self._at = len(self._text)
        elif found is _Found.BEGUN and self._end_by_sight() == len(self._text):
            self._at = len(self._text)  # what is cut off is told of as such
        else:
            self._take(self._end_by_sight())

    def _extent(self) -> tuple[_Found, int]:
        """Tell what begins here; where it is whole, also its end."""
        if self._patience < 0:
            return _Found.DAMAGED, 0
        # An error of the parser takes as long to make as the text before it is long.
        for text in (self._characters[self._at : self._at + _WINDOW], None):
            if text is None:
                text = self._characters[self._at :]
            found, end = _extent(text)
            self._patience -= 0 if found is _Found.WHOLE else end
            if found is not _Found.BEGUN or self._at + len(text) == len(self._text):
                break
        return found, self._at + end

    def _end_by_sight(self) -> int:
        """Where the event that begins here may end, judged by what follows."""
        number = bisect_right(self._breaks, self._at)
        if number < len(self._breaks):
            return self._breaks[number]
        if self._last and self._last_end < 0:
            found = _LAST_END.search(self._text, self._breaks[-1] if self._breaks else 0)
            self._last_end = found.start() + 1 if found else 0
        return self._last_end if self._last_end > self._at else len(self._text)

    def _take(self, end: int) -> None:
        """Keep the event that ends there, mended where needed, or leave it out."""
        if self._patience < 0 and end - self._at > _SMALL:
            self._lose("lost-events")
            return
        text = self._text[self._at : end]
        for attempt in () if _GARBLED.search(text) else _ATTEMPTS:
            whole, mends = attempt(text)
            if _decodes(whole):
                if self.astray and not _has_phase(whole):
                    break
                _note(self._damages, mends, self.place(), len(self.kept))
                self._keep(whole, end)
                return
            self._patience -= _COST * len(text)
        self._patience -= len(text)
        self._lose("lost-events")

    def _keep(self, text: bytes, end: int) -> None:
        self.kept.append(text)
        self._at = end
        self.astray = False

    def _lose(self, code: str) -> None:
        """Go on where the next event begins."""
        if not self.astray:
            self._damages.note(code, self.place(), len(self.kept))
        begin = _BEGIN.search(self._text, self._at + 1)
        end = self._end_by_sight()
        self._at = min(end, begin.start()) if begin else end
        self.astray = True


def _as_it_is(text: bytes) -> tuple[bytes, list[Mend]]:
    return text, []


def _with_quotes(text: bytes) -> tuple[bytes, list[Mend]]:
    if _BEGIN.search(text, 1):  # two halves of events would become one
        return text, []
    whole, mends = mended(requoted(text))
    return whole, [Mend("quotes", 1, 0), *mends]


_ATTEMPTS: tuple[Callable[[bytes], tuple[bytes, list[Mend]]], ...] = (
    _as_it_is,
    mended,
    _with_quotes,
)


def mend_head(opening: bytes, tail: bytes | None, tail_begin: int, damages: Damages) -> Head:
    """Read the root beside its events, as far as it goes.

    Args:
        opening: the text up to the `[` of the events.
        tail: that from their `]` on; None where it is missing.
        tail_begin: offset of that in the file's text.
        damages: takes the repairs.
    """
    text = opening + (b"]}" if tail is None else tail)

    def place(byte: int) -> int:
        return byte if byte < len(opening) else byte - len(opening) + tail_begin

    for attempt in _ATTEMPTS:
        whole, mends = attempt(text)
        head, end = _head(whole)
        if head is not None:
            for code, times, first in mends:
                damages.note(code, place(first), None, times)
            if whole[end:].strip():
                damages.note("text-behind", place(end))
            return head
    damages.note("cut-off" if _breaks_off(text) else "lost-head", place(len(text)))
    found = (_member(key.encode(), text) for key in HEAD_KEYS)
    members = b",".join([b'"traceEvents":[]', *(member for member in found if member)])
    return decode_head(b"{%b}" % members)


def _head(text: bytes) -> tuple[Head | None, int]:
    """The root and where it ends; None where it is damaged."""
    try:
        return decode_head(text), len(text)
    except DAMAGE:
        end = _parsed_length(text)
    try:
        return decode_head(text[:end]), end
    except DAMAGE:
        return None, 0


def _breaks_off(text: bytes) -> bool:
    try:
        _parse(text.decode("latin-1"))
    except json.JSONDecodeError as error:
        return _is_unfinished(error)
    except RecursionError:
        return False
    return False


def _is_unfinished(error: json.JSONDecodeError) -> bool:
    """Whether a parser met the end of the text, so that more of it may help."""
    return error.msg.startswith("Unterminated string") or bool(
        _UNFINISHED.match(error.doc, error.pos)
    )


def _member(key: bytes, text: bytes) -> bytes | None:
    """One member of the root, as text; None where it is not there, or damaged."""
    match = re.search(rb'"%b"\s*:\s*' % re.escape(key), text)
    if match is None:
        return None
    value = text[match.end() : match.end() + _parsed_length(text[match.end() :])]
    member = b'"%b":%b' % (key, value)
    try:
        msgspec.json.decode(b"{%b}" % member)
    except DAMAGE:
        return None
    return member


def _parsed_length(text: bytes) -> int:
    try:
        return _parse(text.decode("latin-1"))[1]
    except (ValueError, RecursionError):
        return 0
