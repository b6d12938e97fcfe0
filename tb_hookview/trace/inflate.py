"""The bytes of a trace file, compressed or not: decided by the magic bytes, not by the name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

from isal import igzip, igzip_lib

from tb_hookview.errors import TraceError

BLOCK = 1 << 20
"""Inflated bytes handed on at a time: some thousand events, whose objects stay in the cache.

Twice as much or half as much is no faster; a whole file at once takes half as long again, most of
it for fresh memory."""

_GZIP = b"\x1f\x8b"
_DAMAGE: tuple[type[Exception], ...] = (
    EOFError,
    OSError,
    igzip_lib.IsalError,  # type: ignore[assignment]  # the stub calls the class an instance
)


def read_bytes(path: Path) -> bytes:
    """Return the whole inflated content of a file.

    Raises:
        TraceError: the file is missing, unreadable, empty, or damaged gzip.
    """
    return b"".join(blocks(path, BLOCK))


def blocks(
    path: Path, size: int = BLOCK, advanced: Callable[[float], None] | None = None
) -> Iterator[bytes]:
    """Yield the inflated content block by block.

    Args:
        path: the file.
        size: bytes of a block, but for the last.
        advanced: told the fraction of the file that was read, before each block.

    Raises:
        TraceError: as `read_bytes`.
    """
    with _opened(path) as raw:
        total = path.stat().st_size
        is_gzip = raw.peek(2)[:2] == _GZIP
        source = cast(BinaryIO, igzip.open(raw)) if is_gzip else raw  # type: ignore[no-untyped-call]
        while block := _read(path, source, size, is_gzip):
            if advanced:
                advanced(min(raw.tell() / total, 1.0))
            yield block


@contextmanager
def _opened(path: Path) -> Iterator[BufferedReader]:
    try:
        raw = path.open("rb")
    except FileNotFoundError:
        raise TraceError(path, "no such file or folder", "check the path") from None
    except OSError as error:
        raise TraceError(path, f"cannot be read ({error.strerror})") from error
    with raw:
        yield raw


def _read(path: Path, source: BinaryIO, size: int, is_gzip: bool) -> bytes:
    try:
        return source.read(size)
    except _DAMAGE as error:
        if not is_gzip:
            raise TraceError(path, f"cannot be read ({error})") from error
        raise TraceError(
            path, f"the gzip data is damaged or cut off ({error})", "copy or record it again"
        ) from error
