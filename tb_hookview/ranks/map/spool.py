"""Times of the ranks in a temporary file: in memory are those that were asked for last.

They are nine tenths of what is known of a rank, and a straggler is compared with few others. They
are compressed where a trace is read, and written here as they come.
"""

from __future__ import annotations

import tempfile
from functools import lru_cache

import msgspec
from isal import isal_zlib

from tb_hookview.cache import Source
from tb_hookview.errors import UsageError
from tb_hookview.loading.columns import pack, unpack
from tb_hookview.ranks.map.summary import Mapped, RankTimes

IN_MEMORY = 64
"""Ranks whose times are in memory at most: a late one and those it is compared with are 17."""


def packed(times: RankTimes) -> bytes:
    """Pack the times of a rank into what a spool takes."""
    return isal_zlib.compress(b"".join(pack(times)), 1)


class Spool:
    """A temporary file with the packed times of some ranks, by number; deleted at the end."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="hookview-ranks-")  # noqa: SIM115
        self._spans: list[tuple[int, int]] = []
        self._end = 0
        self.times = lru_cache(IN_MEMORY)(self._read)

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def put(self, content: bytes) -> int:
        """Write packed times; return their number.

        Raises:
            UsageError: there is no room for them.
        """
        try:
            self._file.seek(self._end)
            self._file.write(content)
            self._file.flush()
        except OSError as error:
            raise UsageError(
                f"the times of {len(self._spans) + 1} ranks do not fit into "
                f"{tempfile.gettempdir()} ({error.strerror}); name a larger folder by TMPDIR"
            ) from error
        self._spans.append((self._end, len(content)))
        self._end += len(content)
        return len(self._spans) - 1

    def _read(self, number: int) -> RankTimes:
        start, length = self._spans[number]
        self._file.seek(start)
        content = isal_zlib.decompress(self._file.read(length))
        return unpack(memoryview(content), RankTimes)


KIND = "rank"


def store(source: Source, mapped: Mapped) -> bool:
    """Store the summary of a source.

    Returns:
        Whether it is stored.

    Raises:
        OSError: it cannot be written.
    """
    return source.put(KIND, pack(_at(mapped, "")))


def load(source: Source, path: str) -> Mapped | None:
    """Return a source's cached summary as that of a trace at a path; None without."""
    content = source.get(KIND)
    if content is None:
        return None
    try:
        mapped = unpack(content, Mapped)
    except (msgspec.DecodeError, ValueError, IndexError):  # the first is a ValueError of another
        source.drop(KIND)
        return None
    return _at(mapped, path)


def _at(mapped: Mapped, path: str) -> Mapped:
    replace = msgspec.structs.replace
    return replace(mapped, summary=replace(mapped.summary, path=path))
