"""Sizes of a trace before it is read, and of the blocks of reading."""

from __future__ import annotations

import os

from tb_hookview.trace.source.file import TraceFile

BLOCK = 1 << 20
"""Inflated bytes per block: some thousand events, whose objects fit the cache.

Twice as much or half as much is no faster; a whole file at once takes half as long again, most of
it for fresh memory."""

INFLATION = 16
"""Ratio of a trace's size to its gzip file's, about (torch's: 13 to 29)."""

_GZIP = b"\x1f\x8b"
_SHORTEST_GZIP = 18
_TRAILER = 4


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
