"""A trace at an address, read in blocks."""

from __future__ import annotations

import hashlib
import io
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, BinaryIO, NamedTuple, cast

from tb_hookview.addresses.store import explained, is_missing, store_of
from tb_hookview.addresses.text import last_part, shown
from tb_hookview.cache import FileState, opened
from tb_hookview.errors import TraceError
from tb_hookview.progress import Progress, silent
from tb_hookview.trace.source.blocks import BLOCK, BlockReader, FileBlocks

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
