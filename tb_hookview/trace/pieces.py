"""A trace's text in pieces that decode by themselves, so that memory holds one at a time.

The text is cut between two events, at a `},{` behind which the key of an event stands:

    {"schemaVersion": 1, "traceEvents": [  {..},{..}  ,  {..},{..}  ,  {..} ], "traceName": ".."}
    |------------ opening -------------|  |- piece -|   |- piece -|   |-------- rest ----------|

Opening and rest together are a small document of the same form as the whole. That a cut lies
between events, and not inside a string or a nested list, is shown by every piece being valid JSON.
A text that cannot be cut so is decoded as one piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import msgspec

from tb_hookview.errors import TraceError
from tb_hookview.trace.decode import (
    Event,
    Head,
    decode_details,
    decode_events,
    decode_head,
    decode_time_texts,
)
from tb_hookview.trace.inflate import BLOCK, blocks, read_bytes
from tb_hookview.trace.progress import Progress, silent

_BEFORE_JSON = b"\xef\xbb\xbf \t\r\n"
_OPENING = re.compile(rb'"traceEvents"\s*:\s*\[')
_BETWEEN = re.compile(rb'\}\s*,\s*(?=\{\s*"(?:ph|cat|name|pid|tid|ts|dur|id|args|s|bp)"\s*:)')
_SEARCHED_FIRST = 1 << 14
_LARGEST_UNCUT = 1 << 26
"""Bytes without a cut (or without an opening) after which none is expected any more."""


class UncuttableError(Exception):
    """The text has no shape that can be cut; it may be a trace all the same."""


@dataclass(frozen=True)
class Piece:
    """Some events of a trace, in file order."""

    events: list[Event]
    loose: int
    """Events that lost a value, or all of themselves, to an unexpected type."""
    text: bytes
    """The JSON array they were decoded from."""

    def time_texts(self, chosen: list[Event]) -> tuple[list[bytes], list[bytes]] | None:
        """Texts of `ts` and `dur` of some of the events; None where any event was dropped."""
        try:
            starts, durations = decode_time_texts(self.text)
        except msgspec.ValidationError:
            return None
        if len(starts) != len(self.events):
            return None
        identities = set(map(id, chosen))
        wanted = [id(event) in identities for event in self.events]
        return list(compress(starts, wanted)), list(compress(durations, wanted))

    def details(self, chosen: list[Event]) -> list[Any]:
        """Arguments of some of the events that few events have (see `decode_details`).

        Empty where any event of the piece was dropped, or has arguments that are no object.
        """
        try:
            told = decode_details(self.text)
        except msgspec.ValidationError:
            return []
        if len(told) != len(self.events):
            return []
        identities = set(map(id, chosen))
        return [args for args, e in zip(told, self.events, strict=True) if id(e) in identities]


@dataclass(frozen=True)
class Root:
    """What a trace file holds beside its events."""

    format: str
    """ "chrome-object" or "chrome-list"."""
    head: Head | None
    """None for a bare list."""


def cut(path: Path, progress: Progress = silent, size: int = BLOCK) -> Iterator[Piece | Root]:
    """Yield the events of a file piece by piece, and its root last.

    Raises:
        TraceError: the file cannot be read, or is no JSON.
        UncuttableError: use `whole` instead, and forget what was yielded.
    """
    try:
        for part in _texts(path, progress, size):
            yield part if isinstance(part, Root) else _piece(part)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UncuttableError from error


def texts(path: Path) -> Iterator[bytes]:
    """Yield the events of a file as JSON arrays, undecoded, in the order of `cut`.

    Raises:
        TraceError: the file cannot be read, or is no JSON.
        UncuttableError: use `whole_text` instead, and forget what was yielded.
    """
    try:
        for part in _texts(path, silent, BLOCK):
            if not isinstance(part, Root):
                yield part
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UncuttableError from error


def whole_text(path: Path) -> bytes:
    """The events of a file as one JSON array, undecoded.

    Raises:
        TraceError: the file cannot be read.
        msgspec.DecodeError: it is no trace.
    """
    text = read_bytes(path).lstrip(_BEFORE_JSON)
    return next(part for part in _document_texts(text) if not isinstance(part, Root))


def _texts(path: Path, progress: Progress, size: int) -> Iterator[bytes | Root]:
    stream = blocks(path, size, lambda done: progress("decoding", done))
    opening, rest = _opening(path, stream)
    for block in stream:
        place = _last_cut(block)
        if place is None:
            rest = _grown(rest, block)
            continue
        yield b"".join((b"[", rest, memoryview(block)[: place.start() + 1], b"]"))
        rest = block[place.end() :]
    yield from _document_texts(opening + rest)


def whole(path: Path) -> Iterator[Piece | Root]:
    """Yield the events of a file as one piece, then its root.

    Raises:
        TraceError: the file cannot be read, holds damaged JSON, or JSON that is no trace.
    """
    text = read_bytes(path).lstrip(_BEFORE_JSON)
    try:
        yield from _document(text)
    except msgspec.ValidationError as error:
        reason = "JSON, but no PyTorch trace: it has no list `traceEvents`"
        raise TraceError(path, reason, "name a file that torch.profiler wrote") from error
    except RecursionError as error:
        raise TraceError(path, "the JSON is nested too deeply for a trace") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        reason = f"the JSON is damaged or cut off ({error})"
        raise TraceError(path, reason, "record the run again") from error


def _opening(path: Path, stream: Iterator[bytes]) -> tuple[bytes, bytes]:
    """Read up to the first event; return the text before it, and what was read beyond."""
    text = b""
    for block in stream:
        text = (text + block).lstrip(_BEFORE_JSON)
        if not text.startswith((b"{", b"[")):
            raise TraceError(path, "not JSON, so no trace", "name a file that torch.profiler wrote")
        if text.startswith(b"["):
            return text[:1], text[1:]
        if found := _OPENING.search(text):
            return text[: found.end()], text[found.end() :]
        if len(text) > _LARGEST_UNCUT:
            break
    if not text:
        raise TraceError(path, "the file is empty", "record the run again")
    raise UncuttableError


def _last_cut(block: bytes) -> re.Match[bytes] | None:
    for begin in (max(0, len(block) - _SEARCHED_FIRST), 0):
        places = list(_BETWEEN.finditer(block, begin))
        if places:
            return places[-1]
    return None


def _grown(rest: bytes, block: bytes) -> bytes:
    if len(rest) > _LARGEST_UNCUT:
        raise UncuttableError
    return rest + block


def _piece(text: bytes) -> Piece:
    return Piece(*decode_events(text), text)


def _document(text: bytes) -> Iterator[Piece | Root]:
    for part in _document_texts(text):
        yield part if isinstance(part, Root) else _piece(part)


def _document_texts(text: bytes) -> Iterator[bytes | Root]:
    if text.startswith(b"["):
        yield text
        yield Root("chrome-list", None)
        return
    head = decode_head(text)
    yield bytes(head.traceEvents)
    yield Root("chrome-object", head)
