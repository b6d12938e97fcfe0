"""Reads a trace file as UTF-8, compressed or not, by its first bytes.

    file -> zip member -> gzip members, one after the other -> UTF-16 or UTF-32 to UTF-8 -> blocks

Compressed data that is truncated gives what precedes the cut. Where it is damaged, it is unknown
which bytes are right, so it is refused.
"""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from isal import igzip_lib

from tb_hookview.errors import TraceError
from tb_hookview.trace.source import limits as bounds
from tb_hookview.trace.source.damage import Damages
from tb_hookview.trace.source.file import TraceFile, trace_file
from tb_hookview.trace.source.limits import DEFAULT, Limits
from tb_hookview.trace.source.size import BLOCK

_GZIP = b"\x1f\x8b"
_ZIP = b"PK\x03\x04"
_PACKED = 1 << 18
"""Compressed bytes read at a time."""
_TAIL = 1 << 12
"""Bytes searched at a time for the last one that is not zero."""
_LONGEST_END = 16
"""Zeros that gzip data can end with: those of its length, checksum and last code."""
_ENCODINGS = (
    (re.compile(rb"\xff\xfe\0\0|\0\0\xfe\xff"), "utf-32"),
    (re.compile(rb"\xff\xfe|\xfe\xff"), "utf-16"),
    (re.compile(rb"[^\0]\0\0\0"), "utf-32-le"),
    (re.compile(rb"\0\0\0[^\0]"), "utf-32-be"),
    (re.compile(rb"[^\0]\0[^\0]\0"), "utf-16-le"),
    (re.compile(rb"\0[^\0]\0[^\0]"), "utf-16-be"),
)
"""By what a text begins with: a byte order mark, or two characters of ASCII."""
_CHECKSUM = "checksum"
_AGAIN = "copy or record it again"
_DAMAGE: tuple[type[Exception], ...] = (
    igzip_lib.IsalError,  # type: ignore[assignment]  # the stub calls the class an instance
)


def read_bytes(file: Path | TraceFile, limits: Limits = DEFAULT) -> bytes:
    """Return the whole inflated content of a file.

    Raises:
        TraceError: the file is missing, unreadable, or holds compressed data that cannot be read.
    """
    return b"".join(blocks(file, BLOCK, limits=limits))


def blocks(
    file: Path | TraceFile,
    size: int = BLOCK,
    advanced: Callable[[float], None] | None = None,
    damages: Damages | None = None,
    limits: Limits = DEFAULT,
) -> Iterator[bytes]:
    """Yield the inflated content block by block.

    Args:
        file: the file.
        size: bytes of a block, but for the last; more or fewer where the text is not UTF-8.
        advanced: called with the fraction of the file that was read, before each block.
        damages: takes what was wrong with the compression.
        limits: how much may be read.

    Raises:
        TraceError: as `read_bytes`, or the content is larger than `limits` allow.
    """
    found = Damages() if damages is None else damages
    given = 0
    opened = trace_file(file)
    path = opened.address
    with opened.open() as raw:
        total = opened.size
        try:
            for block in _as_utf8(_unpacked(path, raw, size, found), found):
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
        yield from _filled(_Gunzip(path, source, size, damages).parts(), size)
        return
    while block := source.read(size):
        yield block


class _Gunzip:
    """Inflates gzip members, one after the other; zeros after them are padding.

    Args:
        path: the file, for messages.
        source: the compressed bytes.
        size: inflated bytes of a part at most.
        damages: takes what was wrong.
    """

    def __init__(self, path: str, source: IO[bytes], size: int, damages: Damages) -> None:
        self._path, self._source, self._size, self._damages = path, source, size, damages
        self._end, self._zeros = _last_byte(source)
        self._given = 0
        self._wanted = size  # up to the end of a block, so that few bytes are moved again
        self._data = b""

    def parts(self) -> Iterator[bytes]:
        """Yield the inflated bytes.

        Raises:
            TraceError: the data is damaged, or its checksum is wrong, so that what it inflates to
                may be wrong as well; or nothing could be inflated.
        """
        self._data = self._read()
        try:
            while self._data.startswith(_GZIP):
                yield from self._member()
        except _DAMAGE as error:
            raise self._damaged(str(error)) from error
        self._count_extra()

    def _read(self) -> bytes:
        return self._source.read(min(_PACKED, self._end - self._source.tell()))

    def _member(self) -> Iterator[bytes]:
        """Inflate one member; `_data` then holds what follows it."""
        member: Any = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
        while not member.eof:
            if member.needs_input:
                self._data = self._data or self._read()
                if not self._data:
                    yield from self._completed(member)
                    return
            part, self._data = member.decompress(self._data, self._wanted), b""
            self._wanted = self._wanted - len(part) or self._size
            if part:
                self._given += len(part)
                yield part
        self._data = member.unused_data
        if len(self._data) < len(_GZIP):
            self._data += self._read()

    def _completed(self, member: Any) -> Iterator[bytes]:
        """End a member with the zeros after it, if they are its own."""
        member.decompress(b"", self._size)  # raises what is wrong with what it has
        parts = []
        for _ in range(min(self._zeros, _LONGEST_END)):
            try:
                parts.append(member.decompress(b"\0", self._size))
            except _DAMAGE as error:
                if _CHECKSUM in str(error):
                    raise
                break  # the zeros are not its own
            if member.eof:
                self._given += sum(map(len, parts))
                yield from filter(None, parts)
                return
        if not self._given:
            raise TraceError(self._path, "the gzip data is truncated", _AGAIN)
        if self._has_its_end():
            raise self._damaged("the file has an end, the data has none")
        self._damages.note("packing-cut", self._given)

    def _has_its_end(self) -> bool:
        """Return whether the file ends with the inflated length, or nearly: it is not truncated.

        Damage inside can make the inflater run beyond the end.
        """
        self._source.seek(max(0, self._end + self._zeros - 4))
        length = int.from_bytes(self._source.read(4), "little")
        return length > 0 and abs(length - self._given % (1 << 32)) < 1 << 16

    def _damaged(self, why: str) -> TraceError:
        place = f"{self._given:,} bytes were inflated before"
        return TraceError(self._path, f"the gzip data is damaged ({why}; {place})", _AGAIN)

    def _count_extra(self) -> None:
        """Count what follows the last member."""
        extra = len(self._data)
        while self._data:
            self._data = self._read()
            extra += len(self._data)
        if extra:
            self._damages.note("bytes-behind", self._given, times=extra)


def _last_byte(source: IO[bytes]) -> tuple[int, int]:
    """Return the offset after the last byte not zero, and the zeros after it."""
    size = end = source.seek(0, io.SEEK_END)
    while end:
        begin = max(0, end - _TAIL)
        source.seek(begin)
        if rest := source.read(end - begin).rstrip(b"\0"):
            end = begin + len(rest)
            break
        end = begin
    source.seek(0)
    return end, size - end


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


def _as_utf8(parts: Iterator[bytes], damages: Damages) -> Iterator[bytes]:
    first = next(parts, b"")
    while len(first) < 4 and (more := next(parts, b"")):
        first += more
    name = next((name for begin, name in _ENCODINGS if begin.match(first)), None)
    if name is None:
        if first:
            yield first
        yield from parts
        return
    damages.note("encoding", 0)
    decoder: Any = codecs.getincrementaldecoder(name)(errors="replace")
    yield decoder.decode(first).encode("utf-8", "replace")
    for part in parts:
        yield decoder.decode(part).encode("utf-8", "replace")
    if rest := decoder.decode(b"", final=True):
        yield rest.encode("utf-8", "replace")
