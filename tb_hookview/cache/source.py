"""Entries about a file as it is now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tb_hookview.cache.background import log
from tb_hookview.cache.entries import Cache
from tb_hookview.cache.file import File, fingerprint, fingerprint_now


class Source(NamedTuple):
    """One state of a file, and what is cached about it."""

    cache: Cache
    file: File
    fingerprint: str

    def get(self, kind: str, *key: str) -> memoryview | None:
        """Return what is cached under a key, as `Cache.get`."""
        return self.cache.get(kind, self.fingerprint, *key)

    def put(self, kind: str, parts: Sequence[bytes | memoryview], *key: str) -> bool:
        """Cache something, unless the file changed meanwhile: it may be of that one.

        Returns:
            Whether it is cached.

        Raises:
            OSError: it cannot be written.
        """
        if fingerprint_now(self.file) != self.fingerprint:
            log("%s changed while it was read; not cached", self.file)
            return False
        return self.cache.put(kind, parts, self.fingerprint, *key)

    def drop(self, kind: str, *key: str) -> None:
        """Remove what is cached under a key."""
        self.cache.drop(kind, self.fingerprint, *key)


def source_of(file: File, cache: Cache | None) -> Source | None:
    """Return the cached entries of a file; None where caching is off or impossible."""
    found = fingerprint(file) if cache else None
    return Source(cache, file, found) if cache and found else None
