"""Reads a trace file as UTF-8, compressed or not, by its first bytes.

    file -> zip member -> gzip members, one after the other -> UTF-16 or UTF-32 to UTF-8 -> blocks

Compressed data that is truncated gives what precedes the cut. Where it is damaged, it is unknown
which bytes are right, so it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import IO, Any

from isal import igzip_lib

from tb_hookview.errors import TraceError
from tb_hookview.trace.source import limits as bounds
from tb_hookview.trace.source.damage import Damages
from tb_hookview.trace.source.file import TraceFile
from tb_hookview.trace.source.limits import DEFAULT, Limits
from tb_hookview.trace.source.size import BLOCK

_GZIP = b"\x1f\x8b"
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
    if given > bounds.PACKED_FREELY:
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
