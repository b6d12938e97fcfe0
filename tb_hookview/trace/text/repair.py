"""Repairs damaged JSON: the list of events, and the root.

A text that does not decode is halved, again and again, where events seem to begin. What decodes is
kept; a single event that does not is kept with its strings and words repaired, or counted as lost.
"""

from __future__ import annotations

import json
import re

import msgspec

from tb_hookview.trace.format.events import Head, decode_events, decode_head
from tb_hookview.trace.source.inflate import Damages

DAMAGE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Errors of the decoders for JSON that is damaged or nested too deeply."""

_BEGIN = re.compile(rb'(?:\A|[^:\[\s])\s*(\{)\s*"(?:ph|cat|name|pid|tid|ts|dur|id|args|s|bp)"\s*:')
"""The brace of an event, not of a member's value or a list's first object."""
_BLANK = b", \t\r\n"
_GAP = re.compile(rb"[\s,]*")
_LIST_END = re.compile(rb'\](?=\s*(?:,\s*(?:"|\Z)|\}|\Z))')
_LAST_END = re.compile(rb'\}\s*(?=\]\s*(?:,\s*"|\}\s*\Z|\Z))')
_UNFINISHED = re.compile(r"[-+\w./]{0,16}\s*\Z")
_GARBLED = re.compile(rb"\0|[\x01-\x08\x0e-\x1f]{8}")
"""Bytes that no name has: something else was written over the events here."""
_TOKEN = re.compile(
    rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[-+]?(?:nan|inf(?:inity)?|n/a|none)(?![\w.])', re.DOTALL | re.I
)
_ESCAPE = re.compile(
    rb'\\(?:["\\/bfnrt]|u(?!d[89a-f])[0-9a-f]{4}|ud[89ab]..\\ud[c-f]..)|(\\)', re.I
)
"""An escape; group 1 is the backslash of one that is invalid."""
_BACKSLASH = re.compile(rb'\\["\\/]|\\')
_CONTROL = re.compile(rb"[\x01-\x1f]")
_OPENING_QUOTE = re.compile(rb'"')
_CLOSING_QUOTE = re.compile(rb'(?<!\\)((?:\\\\)*)"(?=\s*(?:[:}\]]|,\s*["{\[\-\dtfn]|\Z))')


def _ignored(_text: str) -> None:
    return None


_parse = json.JSONDecoder(
    strict=False, parse_int=_ignored, parse_float=_ignored, parse_constant=_ignored
).raw_decode


class Repair:
    """Reads a text of events with commas between them; the result is in the attributes.

    Args:
        text: the text.
        begin: offset of that in the file's text.
        damages: takes what was repaired and lost.
        last: nothing follows: what of the text is no event is the end of the file.
    """

    def __init__(self, text: bytes, begin: int, damages: Damages, *, last: bool) -> None:
        self.events: list[bytes] = []
        self.tail: bytes | None = None
        """What follows the last event, from its `]` on; None where that is not here."""
        self.tail_begin = 0
        """Offset in the file's text of that."""
        self._text, self._begin, self._damages, self._last = text, begin, damages, last
        self._count = 0
        self._astray = False
        """Events were lost right before, so that what looks like one may be an argument of it."""
        begins = [match.start(1) for match in _BEGIN.finditer(text)]
        self._bounds = [0, *begins[begins[:1] == [0] :], len(text)]
        self._read(0, len(self._bounds) - 1)
        if last and self.tail is None:
            self._note("cut-off", len(text))

    def _note(self, code: str, at: int) -> None:
        self._damages.note(code, self._begin + at, self._count)

    def _read(self, first: int, last: int) -> None:
        """Read the text between two bounds."""
        begin, end = self._bounds[first], self._bounds[last]
        text = self._text[begin:end].rstrip(_BLANK)
        if self.tail is not None:
            return
        if self._keep(text):
            if text:
                self._after_gap(begin + len(text))
        elif last - first == 1:
            self._read_values(begin, end)
        else:
            middle = (first + last) // 2
            self._read(first, middle)
            self._read(middle, last)

    def _keep(self, text: bytes) -> bool:
        """Append a text as events, if it is valid and events are expected here."""
        try:
            events, _ = decode_events(b"[%b]" % text)
        except DAMAGE:
            return False
        if self._astray and not (events and events[0].ph):
            return False
        if text:
            self.events.append(text)
        self._count += len(events)
        self._astray = False
        return True

    def _after_gap(self, at: int) -> int:
        """Return the offset after the comma and blanks behind an event."""
        gap = _GAP.match(self._text, at)
        assert gap
        following = self._text[gap.end() : gap.end() + 1]
        if following and gap[0].count(b",") != (following != b"]"):
            self._note("repaired", at)
        return gap.end()

    def _read_values(self, begin: int, end: int) -> None:
        """Read a text that holds one event, or none, and whatever else."""
        characters = self._text[begin:end].decode("latin-1")  # offsets stay those of the bytes
        at = begin
        while (at := self._after_blanks(at)) < end:
            if self._closes(at, end):
                self.tail, self.tail_begin = self._text[at:], self._begin + at
                return
            length = _object_end(characters, at - begin)
            stop = begin + length if length else self._end_by_sight(at, end)
            text = self._text[at:stop].rstrip(_BLANK)
            if self._keep(text) or self._keep_repaired(text, at):
                at = self._after_gap(at + len(text))
                continue
            stop = self._end_by_sight(at, end)
            if not self._astray and not (self._last and stop == len(self._text)):
                self._note("lost-events", at)
            at, self._astray = stop, True

    def _after_blanks(self, at: int) -> int:
        gap = _GAP.match(self._text, at)
        assert gap
        return gap.end()

    def _closes(self, at: int, end: int) -> bool:
        """Return whether the `]` of the list of events is here."""
        if self._last and end == len(self._text):
            return self._text.startswith(b"]", at)
        return _LIST_END.match(self._text, at) is not None

    def _end_by_sight(self, at: int, end: int) -> int:
        """Return where a damaged event may end: with the text, or before the list's `]`."""
        found = _LAST_END.search(self._text, at) if self._last and end == len(self._text) else None
        return found.start() + 1 if found else end

    def _keep_repaired(self, text: bytes, at: int) -> bool:
        """Keep an event with its strings and words repaired, if it is valid then."""
        if not text.endswith(b"}") or _GARBLED.search(text):
            return False
        count = self._count
        if self._keep(_repaired(text)) or self._keep(_repaired(_requoted(text))):
            self._damages.note("repaired", self._begin + at, count)
            return True
        return False


def _object_end(text: str, at: int) -> int | None:
    """Return the offset after the object at `at`; None where it is damaged, or none is there."""
    try:
        return _parsed(text, at) if text.startswith("{", at) else None
    except (ValueError, RecursionError):
        return None


def _parsed(text: str, at: int) -> int | None:
    """Return the offset after the value at `at`; None where the text ends before it.

    Raises:
        ValueError: it is damaged.
    """
    try:
        return _parse(text, at)[1]
    except json.JSONDecodeError as error:
        cut = error.msg.startswith("Unterminated string") or _UNFINISHED.match(text, error.pos)
        if not cut:
            raise
    return None


def _repaired(text: bytes) -> bytes:
    """Make strings and words valid: escapes, control characters, UTF-8, NaN.

    A string with one invalid escape comes from a writer that escapes nothing: all of its
    backslashes are read as they are, but for those before a quote, a slash or another.
    """

    def token(match: re.Match[bytes]) -> bytes:
        found = match[0]
        if not found.startswith(b'"'):
            return b"null"
        if any(escape[1] for escape in _ESCAPE.finditer(found)):
            found = _BACKSLASH.sub(lambda m: m[0] if len(m[0]) > 1 else b"\\\\", found)
        return _CONTROL.sub(lambda m: b"\\u%04x" % m[0][0], found)

    return _TOKEN.sub(token, text.decode("utf-8", "replace").encode())


def _requoted(text: bytes) -> bytes:
    """Escape quotes in strings; a closing quote is one before `,`, `:`, `}` or `]`."""
    parts: list[bytes] = []
    at = 0
    while opening := _OPENING_QUOTE.search(text, at):
        closing = _CLOSING_QUOTE.search(text, opening.end())
        if closing is None:
            break
        inside = text[opening.end() : closing.end() - 1]
        parts += [text[at : opening.end()], re.sub(rb'(?<!\\)"', rb'\\"', inside), b'"']
        at = closing.end()
    return b"".join([*parts, text[at:]])


def repair_head(opening: bytes, tail: bytes | None, tail_begin: int, damages: Damages) -> Head:
    """Decode the root without its events; what precedes them alone where what follows is damaged.

    Args:
        opening: the text up to the `[` of the events.
        tail: that from their `]` on; None where it is missing.
        tail_begin: offset of that in the file's text.
        damages: takes the repairs.
    """
    text, before = opening + (b"]}" if tail is None else tail), tail_begin - len(opening)
    code = "cut-off"
    try:
        end = _parsed(text.decode("latin-1"), 0)
        if end is not None:
            head = decode_head(text[:end])
            if text[end:].strip():
                damages.note("text-behind", before + end)
            return head
    except (ValueError, *DAMAGE):
        code = "lost-head"
    damages.note(code, before + len(text))
    try:
        return decode_head(opening + b"]}")
    except DAMAGE:
        return decode_head(b'{"traceEvents":[]}')
