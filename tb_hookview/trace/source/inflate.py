"""Reads a trace file as UTF-8, compressed or not, within limits; counts its damage.

    file -> zip member -> gzip members, one after the other -> UTF-16 or UTF-32 to UTF-8 -> blocks

Compressed data that is truncated gives what precedes the cut. Where it is damaged, it is unknown
which bytes are right, so it is refused.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

from isal import igzip_lib
from msgspec import Struct

from tb_hookview.errors import TraceError, UsageError
from tb_hookview.trace.source.file import TraceFile

# Damage found in a file and what was repaired or skipped: counted, with its place.


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
CUT = frozenset({"cut-off", "packing-cut"})
"""Of these, those by which all after some place is missing."""


# Limits of what is read of a file, each with its environment variable.


class Limit(Struct, frozen=True):
    """The most of something that is read of one file."""

    variable: str
    """The environment variable that sets another."""
    most: int
    what: str
    """A phrase with a place for the number: "more than {} events"."""

    def check(self, address: str, amount: float) -> None:
        """Reject a file that has more.

        Raises:
            TraceError: `amount` is above the bound.
        """
        if amount > self.most:
            reason = self.what.format(f"{self.most:,}")
            raise TraceError(address, f"it has {reason}", f"set {self.variable} to allow more")


class Limits(Struct, frozen=True):
    """The bounds of one reading."""

    bytes: Limit = Limit("HOOKVIEW_MAX_BYTES", 64 << 30, "more than {} bytes of JSON")
    ratio: Limit = Limit(
        "HOOKVIEW_MAX_RATIO", 400, "more than {} times as many bytes as the file it is packed in"
    )
    events: Limit = Limit("HOOKVIEW_MAX_EVENTS", 500_000_000, "more than {} events")
    event_bytes: Limit = Limit(
        "HOOKVIEW_MAX_EVENT_BYTES",
        1 << 26,
        "an event, or a part next to the events, of over {} bytes",
    )


DEFAULT = Limits()

PACKED_FREELY = 1 << 30
"""Bytes up to which any ratio is allowed.

A small file may be all alike, and does no harm."""


def limits_from_environment() -> Limits:
    """Return the bounds that the environment sets, and the default for the others.

    Raises:
        UsageError: a variable is set to something other than a whole number above 0.
    """
    bounds = (getattr(DEFAULT, name) for name in Limits.__struct_fields__)
    return Limits(*map(_from_environment, bounds))


def _from_environment(limit: Limit) -> Limit:
    text = os.environ.get(limit.variable, "")
    if not text:
        return limit
    if not (text.isascii() and text.isdigit() and int(text[:19]) > 0 and len(text) < 19):
        message = f"{limit.variable} is {text[:40]!r}: set it to a whole number above 0"
        raise UsageError(message)
    return Limit(limit.variable, int(text), limit.what)


# Sizes of a trace before it is read, and of the blocks of reading.


BLOCK = 1 << 20
"""Inflated bytes per block: some thousand events, whose objects fit the cache.

Twice as much or half as much is no faster; a whole file at once takes half as long again, most of
it for fresh memory."""

INFLATION = 16
"""Ratio of a trace's size to its gzip file's, about (torch's: 13 to 29)."""

_GZIP = b"\x1f\x8b"
_SHORTEST_GZIP = 18
_TRAILER = 4


SMALLEST_SHARE = 22 << 20
"""Bytes of JSON below which another process has too little to do.

At 16 MB it gained nothing, and cost twice the processor's time and memory."""


def estimated_size(file: TraceFile) -> int:
    """Bytes of the inflated content, as far as is known.

    Of gzip, it is the size that stands at its end, or what lies nearest to `INFLATION` times its
    own where that size is cut to 32 bits.

    Raises:
        OSError: the file cannot be read.
        TraceError: it cannot be opened.
    """
    size = file.size
    if not file.name.endswith(".gz") or size < _SHORTEST_GZIP:
        return size
    with file.open() as raw:
        if raw.read(len(_GZIP)) != _GZIP:
            return size
        raw.seek(-_TRAILER, os.SEEK_END)
        length = int.from_bytes(raw.read(_TRAILER), "little")
    return length + max(0, round((size * INFLATION - length) / (1 << 32))) * (1 << 32)


_ZIP = b"PK\x03\x04"
_PACKED = 1 << 18
"""Compressed bytes read at a time."""
_AGAIN = "copy or record it again"
_DAMAGE: tuple[type[Exception], ...] = (
    igzip_lib.IsalError,  # type: ignore[assignment]  # the stub calls the class an instance
)


def blocks(
    file: TraceFile,
    size: int = BLOCK,
    advanced: Callable[[float], None] | None = None,
    damages: Damages | None = None,
    limits: Limits = DEFAULT,
) -> Iterator[bytes]:
    """Yield the inflated content block by block.

    Args:
        file: the file.
        size: bytes of a block, but for the last.
        advanced: called with the fraction of the file that was read, before each block.
        damages: takes what was wrong with the compression.
        limits: how much may be read.

    Raises:
        TraceError: the file is missing, unreadable, holds compressed data that cannot be read, or
            is larger than `limits` allow.
    """
    found = Damages() if damages is None else damages
    given = 0
    path = file.address
    with file.open() as raw:
        total = file.size
        try:
            for block in _unpacked(path, raw, size, found):
                given += len(block)
                _check(limits, path, given, total)
                if advanced:
                    advanced(min(raw.tell() / total, 1.0) if total else 1.0)
                yield block
        except OSError as error:
            raise TraceError(path, f"cannot be read ({error.strerror or error})") from error


def _check(limits: Limits, path: str, given: int, total: int) -> None:
    limits.bytes.check(path, given)
    if given > PACKED_FREELY:
        limits.ratio.check(path, given / max(total, 1))


def _unpacked(path: str, raw: IO[bytes], size: int, damages: Damages) -> Iterator[bytes]:
    begin = raw.read(len(_ZIP))
    raw.seek(0)
    if begin != _ZIP:
        yield from _gunzipped(path, raw, size, damages)
        return
    from tb_hookview.trace.source.zipped import DAMAGED_ZIP, open_member

    try:
        yield from _gunzipped(path, open_member(path, raw), size, damages)
    except DAMAGED_ZIP as error:
        raise TraceError(path, f"the zip file is damaged ({error})", "copy it again") from error


def _gunzipped(path: str, source: IO[bytes], size: int, damages: Damages) -> Iterator[bytes]:
    begin = source.read(len(_GZIP))
    source.seek(0)
    if begin == _GZIP:
        yield from _filled(_inflated(path, source, size, damages), size)
        return
    while block := source.read(size):
        yield block


def _inflated(path: str, source: IO[bytes], size: int, damages: Damages) -> Iterator[bytes]:
    """Inflate gzip members, one after the other; zeros after them are padding.

    Raises:
        TraceError: the data is damaged, or its checksum is wrong, so that what it inflates to may
            be wrong as well; or nothing could be inflated.
    """
    given, wanted, data = 0, size, source.read(_PACKED)
    while data.startswith(_GZIP):
        member: Any = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
        while not member.eof:
            if member.needs_input and not data and not (data := source.read(_PACKED)):
                if not given:
                    raise TraceError(path, "the gzip data is truncated", _AGAIN)
                damages.note("packing-cut", given)
                return
            try:
                part, data = member.decompress(data, wanted), b""
            except _DAMAGE as error:
                reason = f"the gzip data is damaged ({error}; {given:,} bytes were inflated before)"
                raise TraceError(path, reason, _AGAIN) from error
            given += len(part)
            wanted = wanted - len(part) or size  # to a block's end, so that few are moved again
            if part:
                yield part
        data = member.unused_data.lstrip(b"\0")
        while not data and (more := source.read(_PACKED)):
            data = more.lstrip(b"\0")
        if len(data) < len(_GZIP):
            data += source.read(_PACKED)
    if data:
        damages.note("bytes-behind", given)


def _filled(parts: Iterator[bytes], size: int) -> Iterator[bytes]:
    """Join parts up to blocks of a size."""
    held: list[bytes] = []
    length = 0
    for part in parts:
        if not held and len(part) == size:
            yield part
            continue
        held.append(part)
        length += len(part)
        if length >= size:
            joined = b"".join(held)
            yield joined[:size]
            held = [joined[size:]] if length > size else []
            length -= size
    if length:
        yield b"".join(held)
