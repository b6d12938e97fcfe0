"""Kinds of damage to single events, and what the report must be for each."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

Change = Callable[[bytes], bytes]


class Damage(NamedTuple):
    """One kind of damage.

    Where `sound` is None the damage removes the event's facts, and the report is that of the trace
    without the event. Else it is that of the trace with what `sound` makes of the event.
    """

    name: str
    damaged: Change
    sound: Change | None
    codes: str
    """Of the warnings that are expected, once for each event."""


_NAME = re.compile(rb'("name"\s*:\s*")')
_DURATION = re.compile(rb'("dur"\s*:\s*)"?-?[\d.]+"?')
_START = re.compile(rb'("ts"\s*:\s*)("?-?[\d.]+"?)')
_ARGUMENTS = re.compile(rb'("args"\s*:\s*\{)')


def _named(text: bytes) -> Change:
    """Begin the event's name with a text as it stands in the file."""
    return lambda event: _NAME.sub(lambda match: match[1] + text, event, count=1)


def _lasting(text: bytes) -> Change:
    return lambda event: _DURATION.sub(lambda match: match[1] + text, event, count=1)


def _started(text: bytes) -> Change:
    return lambda event: _START.sub(lambda match: match[1] + text, event, count=1)


def _argued(text: bytes) -> Change:
    """Put a member before the event's arguments."""
    return lambda event: _ARGUMENTS.sub(lambda match: match[1] + text + b", ", event, count=1)


def _halved(event: bytes) -> bytes:
    """Half of the event, as where something else was written over the middle of a file."""
    return event[: len(event) // 2]


def _zeroed(event: bytes) -> bytes:
    return event[:10] + bytes(len(event) - 20) + event[-10:]


def _unclosed(event: bytes) -> bytes:
    return event[:-1]


def _as_text(event: bytes) -> bytes:
    return _START.sub(rb'\1"\2"', event, count=1)


def _lacking(key: bytes) -> Change:
    """Without one member, which is not the last."""
    member = re.compile(rb'"%b"\s*:\s*(?:"(?:[^"\\]|\\.)*"|[^\s,{}"]+)\s*,' % key)
    return lambda event: member.sub(b"", event, count=1)


def _stated(key: bytes, value: bytes) -> Change:
    """With a member put first that was missing."""
    return lambda event: _lacking(key)(event).replace(b"{", b'{"%b": %b, ' % (key, value), 1)


def _same(event: bytes) -> bytes:
    return event


GARBAGE = bytes(range(1, 32)) * 3 + b'"' + bytes(range(128, 256))
LONG = b"x" * 300_000

KINDS = (
    Damage("control-characters", _named(b"a\tb\x01\nc"), _named(b"a\\tb\\u0001\\nc"),
         "repaired"),
    Damage("backslashes", _named(b"D:\\lib\\torch\\new\\x.py"),
         _named(b"D:\\\\lib\\\\torch\\\\new\\\\x.py"), "repaired"),
    Damage("quotes", _named(b'say "hi" to '), _named(b'say \\"hi\\" to '), "repaired"),
    Damage("half-surrogate", _named(b"a\\ud800b"), _named(b"a\\\\ud800b"), "repaired"),
    Damage("invalid-utf-8", _named(b"a\xff\xfeb"), _named("a\ufffd\ufffdb".encode()),
         "repaired"),
    Damage("cut-utf-8", _named(b"a\xe2\x82b"), _named("a\ufffdb".encode()), "repaired"),
    Damage("nan-argument", _argued(b'"x": NaN'), _argued(b'"x": null'), "repaired"),
    Damage("infinite-argument", _argued(b'"x": [-Infinity, inf]'), _argued(b'"x": [null, null]'),
         "repaired"),
    Damage("bare-n/a", _argued(b'"x": N/A'), _argued(b'"x": null'), "repaired"),
    Damage("nan-duration", _lasting(b"NaN"), _lasting(b"null"), "repaired"),
    Damage("several-at-once", _named(b'\xff"D:\\x" \t'), _named('\ufffd\\"D:\\\\x\\" \\t'.encode()),
         "repaired"),
    Damage("missing-comma", _same, _same, "repaired"),
    Damage("double-comma", _same, _same, "repaired"),
    Damage("log-line", _same, _same, "lost-events"),
    Damage("time-as-text", _as_text, _same, ""),
    Damage("impossible-time", _started(b"1e300"), None, "no-timestamp"),
    Damage("time-no-number", _started(b'"soon"'), None, "no-timestamp unexpected-type"),
    Damage("nan-time", _started(b"NaN"), None, "repaired no-timestamp unexpected-type"),
    Damage("negative-duration", _lasting(b"-5"), _lasting(b"0"), "negative-duration"),
    Damage("missing-duration", _lacking(b"dur"), _stated(b"dur", b"0"), "no-duration"),
    Damage("missing-name", _lacking(b"name"), _stated(b"name", b'""'), "no-name"),
    Damage("missing-thread", _lacking(b"tid"), _stated(b"tid", b'""'), "no-thread"),
    Damage("missing-category", _lacking(b"cat"), _stated(b"cat", b'""'), "unknown-category"),
    Damage("missing-phase", _lacking(b"ph"), None, "no-phase"),
    Damage("number-out-of-range", _argued(b'"x": 1e999'), _argued(b'"x": 0'), ""),
    Damage("gigantic-name", _named(LONG), _named(LONG), ""),
    Damage("nested-without-end", _argued(b'"x": ' + b"[" * 5000 + b"]" * 5000), None,
         "lost-events"),
    Damage("halved", _halved, None, "lost-events"),
    Damage("zeroed", _zeroed, None, "lost-events"),
    Damage("unclosed", _unclosed, None, "lost-events"),
    Damage("garbage", lambda event: event[:40] + GARBAGE + event[60:], None, "lost-events"),
    Damage("bracket-lost", lambda event: event[1:], None, "lost-events"),
)  # fmt: skip

BETWEEN = {
    "missing-comma": b"\n",
    "double-comma": b",,\n",
    "log-line": b',\n12:30:01 [W] kineto: "dropped" 5\n',
}
"""Damage after an event: what stands there in place of the comma."""
COUNTED = {"no-timestamp", "no-phase"}
"""Codes of events that the report counts, though nothing else of it knows them."""
