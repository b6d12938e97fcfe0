"""Reads a file in blocks that are fetched ahead of the reader, and cached.

Several blocks are under way at a time: a store gives one connection a fraction of what it gives
all. A block that is in the cache is not fetched again, by whichever process or program run.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache as once
from typing import Any

from tb_hookview.cache import Cache

BLOCK = 4 << 20
"""Bytes fetched by one request."""
AHEAD = 4
"""Blocks under way while one is read."""
_KIND = "block"
_THREADS = 16


class FileBlocks:
    """The blocks of one state of a file. Safe to use from many threads.

    Args:
        fetch: returns the bytes from one place up to another.
        size: bytes of the file.
        cache: where blocks are stored; None for nowhere.
        key: names the file and its state there.
    """

    def __init__(
        self,
        fetch: Callable[[int, int], bytes],
        size: int,
        cache: Cache | None,
        key: tuple[str, ...],
    ) -> None:
        self._fetch, self.size = fetch, size
        self._cache, self._key = cache, key

    def get(self, number: int, length: int) -> bytes | memoryview:
        """Return a block, from the cache where it is there."""
        key = (*self._key, str(number))
        if self._cache and (found := self._cache.get(_KIND, *key)) is not None:
            return found
        data = self._fetch(number * length, min((number + 1) * length, self.size))
        if self._cache:
            with suppress(OSError):  # a full disk: then it is fetched again
                self._cache.put(_KIND, [data], *key)
        return data


class BlockReader(io.RawIOBase):
    """A file of blocks; those that follow are fetched as soon as it is read in order.

    Args:
        blocks: the blocks.
        length: bytes of each but the last.
    """

    def __init__(self, blocks: FileBlocks, length: int) -> None:
        super().__init__()
        self._blocks, self._length = blocks, length
        self._position = 0
        self._number: int | None = None
        self._block: bytes | memoryview = b""
        self._ahead: dict[int, Future[bytes | memoryview]] = {}

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position; nothing is fetched."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._blocks.size}
        position = base[whence] + offset
        if position < 0:
            raise ValueError(f"negative seek position {position}")
        self._position = position
        return position

    def readinto(self, buffer: Any) -> int:
        """Read up to the end of a block."""
        if self._position >= self._blocks.size:
            return 0
        number, begin = divmod(self._position, self._length)
        self._go_to(number)
        target = memoryview(buffer).cast("B")
        part = memoryview(self._block)[begin : begin + len(target)]
        target[: len(part)] = part
        self._position += len(part)
        return len(part)

    def close(self) -> None:
        """Close it; blocks under way are given up."""
        self._give_up()
        super().close()

    def _go_to(self, number: int) -> None:
        if number == self._number:
            return
        in_order = self._number is not None and number == self._number + 1
        if not in_order:
            self._give_up()
        under_way = self._ahead.pop(number, None)
        if in_order:
            last = (self._blocks.size - 1) // self._length
            for later in range(number + 1, min(number + AHEAD, last) + 1):
                if later not in self._ahead:
                    fetch = _threads(os.getpid()).submit(self._blocks.get, later, self._length)
                    self._ahead[later] = fetch
        self._block = under_way.result() if under_way else self._blocks.get(number, self._length)
        self._number = number

    def _give_up(self) -> None:
        for future in self._ahead.values():
            future.cancel()
        self._ahead.clear()


@once
def _threads(_process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, "hookview-fetch")
