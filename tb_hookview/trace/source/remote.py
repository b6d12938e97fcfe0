"""A trace at an address, read in blocks."""

from __future__ import annotations

import hashlib
import io
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from functools import cache as once
from functools import lru_cache
from typing import Any, BinaryIO, NamedTuple, cast

from tb_hookview.addresses.store import explained, is_missing, store_of
from tb_hookview.addresses.text import last_part, shown
from tb_hookview.cache import Cache, FileState, opened
from tb_hookview.errors import TraceError
from tb_hookview.progress import Progress, silent

# Reads a file in blocks that are fetched ahead of the reader, and cached.


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


FRESH_S = 2
"""Seconds for which a state is taken to hold; a server asks for it with every request."""
_VERSIONS = ("ETag", "etag", "generation", "md5Hash", "content_md5", "Content-MD5")
_TIMES = ("LastModified", "last_modified", "Last-Modified", "updated", "mtime", "created")
"""What the implementations of fsspec call the time of writing; the best first."""


class RemoteFile(NamedTuple):
    """A trace at an address of fsspec."""

    url: str
    """With whatever is secret in it: to be opened, never to be shown."""

    def __repr__(self) -> str:
        return f"RemoteFile({self.address!r})"

    @property
    def address(self) -> str:
        """Its address, as people may see it."""
        return shown(self.url)

    @property
    def name(self) -> str:
        """The last part of its address."""
        return last_part(self.url)

    @property
    def size(self) -> int:
        """Bytes as stored."""
        return self.state().size

    def open(self) -> BinaryIO:
        """Open it."""
        try:
            reader = BlockReader(self._blocks(), BLOCK)
        except FileNotFoundError:
            missing = "no such file or folder"
            raise TraceError(self.address, missing, "check the address") from None
        return cast(BinaryIO, io.BufferedReader(reader, 1 << 16))

    def state(self) -> FileState:
        """Return what its store says of it, at most `FRESH_S` old.

        Raises:
            FileNotFoundError: it is gone.
            TraceError: it cannot be reached.
        """
        return _recent_state(self.url, int(time.monotonic() / FRESH_S))

    def bring(self, progress: Progress = silent) -> bool:
        """Fetch it whole into the cache; False where that has no room for it."""
        cache = opened()
        try:
            state = self.state()
        except FileNotFoundError:  # the reader says so
            return False
        if cache is None or not state.version or state.size > cache.limit // 2:
            return False
        with self.open() as file:
            while file.read(BLOCK):
                progress("downloading", file.tell() / state.size)
        return True

    def _blocks(self) -> FileBlocks:
        store, state = store_of(self.url), self.state()
        key = (state.version or "", str(BLOCK))

        def fetch(begin: int, end: int) -> bytes:
            with explained(self.url):
                data: bytes = store.files.cat_file(store.path, start=begin, end=end)
            if len(data) == state.size > end - begin:  # a server that knows no ranges
                data = data[begin:end]
            if len(data) != end - begin or current_state(self.url) != state:
                reason = "was written to while it was read"
                raise TraceError(self.address, reason, "read it again when that is done")
            return data

        return FileBlocks(fetch, state.size, opened() if state.version else None, key)


def current_state(url: str) -> FileState:
    """Return what a store says of a file right now.

    Raises:
        FileNotFoundError: it is gone.
        TraceError: it cannot be reached.
    """
    store = store_of(url)
    with explained(url):
        try:
            facts: Mapping[str, Any] = store.files.info(store.path)
        except FileNotFoundError as error:
            if not is_missing(error):
                raise
            facts = {}
    if not facts:
        raise FileNotFoundError(f"{shown(url)}: no such file")
    return state_of(url, facts)


@lru_cache(maxsize=4096)
def _recent_state(url: str, _tick: int) -> FileState:
    return current_state(url)


def state_of(url: str, facts: Mapping[str, Any]) -> FileState:
    """The state of a file, from what its store says of it.

    Raises:
        TraceError: its size is unknown, or it is a folder.
    """
    size = facts.get("size")
    if facts.get("type") == "directory":
        raise TraceError(shown(url), "a folder", "name a file in it")
    if not isinstance(size, int):
        raise TraceError(shown(url), "its size is unknown", "copy it here and name the copy")
    said = [(key, str(facts[key])) for key in (*_VERSIONS, *_TIMES) if facts.get(key)]
    text = repr((url, size, said)).encode()
    version = hashlib.blake2b(text, digest_size=20).hexdigest() if said else ""
    return FileState(size, round(modified(facts) * 1e9), 0, 0, version)


def modified(facts: Mapping[str, Any]) -> float:
    """Time of writing, seconds since 1970; 0.0 where the store does not say."""
    times = (_seconds(facts[key]) for key in _TIMES if facts.get(key))
    return next((seconds for seconds in times if seconds is not None), 0.0)


def _seconds(value: object) -> float | None:
    if isinstance(value, int | float):
        return float(value)
    try:
        if isinstance(value, str):
            value = _parsed(value)
        if isinstance(value, datetime):
            return (value if value.tzinfo else value.replace(tzinfo=timezone.utc)).timestamp()
    except ValueError:
        pass
    return None


def _parsed(text: str) -> datetime:
    if text[:4].isdigit():
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    return parsedate_to_datetime(text)
