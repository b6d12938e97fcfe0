"""Repairs damaged JSON: the list of events by segments, and the root.

A segment is split where events seem to begin. Each fragment is decoded by itself: as it is, else
with its strings and words repaired, else it is skipped and counted.

Objects in the arguments of an event may look like events. A fragment that ends inside an event is
therefore read on into the fragments after it, and into the next segment.
"""

from __future__ import annotations

import json
import re
from functools import cached_property

import msgspec

from tb_hookview.trace.format.decode import HEAD_KEYS, Head, decode_events, decode_head
from tb_hookview.trace.source.damage import Damages
from tb_hookview.trace.source.limits import DEFAULT, Limits

DAMAGE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Errors of the decoders for JSON that is damaged or nested too deeply."""

_BEGIN = re.compile(rb'(?:\A|[^:\[\s])\s*(\{)\s*"(?:ph|cat|name|pid|tid|ts|dur|id|args|s|bp)"\s*:')
"""The brace of an event, not of a member's value or a list's first object."""
_BLANK = b", \t\r\n"
_GAP = re.compile(rb"[\s,]*")
_LIST_END = re.compile(rb'\](?=\s*(?:,\s*(?:"|\Z)|\}|\Z))')
_LAST_END = re.compile(rb'\}\s*(?=\]\s*(?:,\s*"|\}\s*\Z|\Z))')
_UNFINISHED = re.compile(r"[-+\w./]{0,16}\s*\Z")
_JOINS = 16
"""Most events of a segment whose ends are not found; each costs a pass."""
_LONGEST_JOINED = 1 << 22
"""Bytes from which an event with others inside counts as without end."""

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


class Repairer:
    """Repairs the segments of one file in order.

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
        """Whether the next segment must be repaired, valid or not."""
        return bool(self._carried) or self.tail is not None or self._astray

    def repair(
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
        begin -= len(self._carried)
        segment = _Segment(self._carried + text, begin, self._astray, damages, last)
        segment.read()
        self._astray = segment.astray
        self._carried = segment.carried + glue if segment.carried else b""
        self._limits.event_bytes.check(self.path, len(self._carried))
        if segment.tail is not None:
            self.tail, self.tail_begin = segment.tail + glue, segment.tail_begin
        return b"[%b]" % b",".join(segment.events)


class _Segment:
    """Reads one segment event by event; `read` leaves the result in the attributes.

    Args:
        text: the segment, with what was carried over before it.
        begin: offset of that in the file's text.
        astray: whether events were lost right before, so that what looks like one may be none.
        damages: takes the repairs.
        last: no other segment follows.
    """

    def __init__(self, text: bytes, begin: int, astray: bool, damages: Damages, last: bool) -> None:
        self.events: list[bytes] = []
        self.carried = b""
        self.tail: bytes | None = None
        self.tail_begin = 0
        self.astray = astray
        self._text, self._begin, self._damages, self._last = text, begin, damages, last
        self._at = self._count = 0
        self._joins = _JOINS
        self._after_event = False

    def read(self) -> None:
        """Read to the end of the segment, or of the list of events."""
        for end in (*(match.start(1) for match in _BEGIN.finditer(self._text)), len(self._text)):
            begin = self._at
            fragment = self._text[begin:end].decode("latin-1")  # offsets stay those of the bytes
            while self._at < end:
                self._skip_gap()
                if self._at < end:
                    self._read_value(fragment, begin, end)
        if self._last and self.tail is None:
            self._note("cut-off")

    def _note(self, code: str) -> None:
        self._damages.note(code, self._begin + self._at, self._count)

    def _skip_gap(self) -> None:
        match = _GAP.match(self._text, self._at)
        assert match
        self._at = match.end()
        rest = self._text[self._at : self._at + 1]
        if rest and self._after_event and match[0].count(b",") != (rest != b"]"):
            self._note("commas")
        self._after_event = False

    def _keep(self, text: bytes, end: int) -> bool:
        """Append a text as an event, if it is valid and one is expected here."""
        try:
            events, _ = decode_events(b"[%b]" % text)
        except DAMAGE:
            return False
        if self.astray and not any(event.ph for event in events):
            return False
        self.events.append(text)
        self._count += len(events)
        self._at = end
        self.astray, self._after_event = False, True
        return True

    def _read_value(self, fragment: str, begin: int, end: int) -> None:
        """Keep, repair or skip the next value of a fragment."""
        if self._closes(end):
            self.tail, self.tail_begin = self._text[self._at :], self._begin + self._at
            self._at = len(self._text)
            return
        code, found = "lost-events", None
        try:
            if self._text.startswith(b"{", self._at):
                found = self._value_end(fragment, begin, end)
        except RecursionError:
            code = "nested"
        except ValueError:
            pass
        if self._at == len(self._text):
            return
        if not self._repair(found or self._end_by_sight(end)):
            if not self.astray:
                self._note(code)
            self._at, self.astray = self._end_by_sight(end), True

    def _closes(self, end: int) -> bool:
        """Return whether the `]` of the list of events is here."""
        if self._last and end == len(self._text):
            return self._text.startswith(b"]", self._at)
        return _LIST_END.match(self._text, self._at) is not None

    def _value_end(self, fragment: str, begin: int, end: int) -> int | None:
        """Return the offset after the object that begins here; None without an end.

        Raises:
            ValueError: it is damaged.
        """
        length = _parsed(fragment, self._at - begin)
        if length is not None:
            return begin + length
        if end < len(self._text):
            found = self._joined_end()
            if found is not None or len(self._text) - self._at > _LONGEST_JOINED:
                return found
        if not self._last:
            self.carried, self._at = self._text[self._at :], len(self._text)
        elif self._end_by_sight(end) == len(self._text):
            self._at = len(self._text)
        return None

    def _joined_end(self) -> int | None:
        """Return the offset after the object that begins here, wherever in the segment it ends."""
        if not self._joins:
            raise ValueError
        self._joins -= 1
        found = _parsed(self._characters, self._at)
        self._joins += found is not None
        return found

    @cached_property
    def _characters(self) -> str:
        return self._text.decode("latin-1")

    def _end_by_sight(self, end: int) -> int:
        """Return where a damaged event may end: with its fragment, or before the list's `]`."""
        if self._last and end == len(self._text):
            match = _LAST_END.search(self._text, self._at)
            return match.start() + 1 if match else end
        return end

    def _repair(self, end: int) -> bool:
        """Keep what ends there, with its strings and words repaired where needed."""
        text = self._text[self._at : end].rstrip(_BLANK)
        end, byte, event = self._at + len(text), self._begin + self._at, self._count
        if self._keep(text, end):
            return True
        if not text.endswith(b"}") or _GARBLED.search(text):
            return False
        for quotes in (False, True):
            codes = {"quotes"} if quotes else set[str]()
            if self._keep(_repaired(_requoted(text) if quotes else text, codes), end):
                for code in codes:
                    self._damages.note(code, byte, event)
                return True
        return False


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


def _repaired(text: bytes, codes: set[str]) -> bytes:
    """Make strings and words valid: escapes, control characters, UTF-8, NaN.

    A string with one invalid escape comes from a writer that escapes nothing: all of its
    backslashes are read as they are, but for those before a quote, a slash or another.
    """

    def token(match: re.Match[bytes]) -> bytes:
        found = match[0]
        if not found.startswith(b'"'):
            codes.add("bare-words")
            return b"null"
        if any(escape[1] for escape in _ESCAPE.finditer(found)):
            codes.add("backslashes")
            found = _BACKSLASH.sub(lambda m: m[0] if len(m[0]) > 1 else b"\\\\", found)
        if _CONTROL.search(found):
            codes.add("control-characters")
            found = _CONTROL.sub(lambda m: b"\\u%04x" % m[0][0], found)
        return found

    valid = text.decode("utf-8", "replace").encode()
    if valid != text:
        codes.add("bad-characters")
    return _TOKEN.sub(token, valid)


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
    """Decode the root without its events, as far as it is valid.

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
    members = (_member(key.encode(), text) for key in HEAD_KEYS)
    valid = b",".join([b'"traceEvents":[]', *filter(None, members)])
    return decode_head(b"{%b}" % valid)


def _member(key: bytes, text: bytes) -> bytes | None:
    """Return one member of the root as text; None where it is absent or damaged."""
    match = re.search(rb'"%b"\s*:\s*' % re.escape(key), text)
    if match is None:
        return None
    value = text[match.end() :]
    try:
        end = _parsed(value.decode("latin-1"), 0)
        member = b'"%b":%b' % (key, value[: end or 0])
        msgspec.json.decode(b"{%b}" % member)
    except (ValueError, *DAMAGE):
        return None
    return member
