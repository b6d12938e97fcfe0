"""Entries about files as they are now."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tb_hookview.cache.entries import Cache
from tb_hookview.cache.fingerprint import fingerprint, fingerprint_now
from tb_hookview.cache.location import opened

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """One state of some files, and what is kept about it."""

    cache: Cache
    paths: tuple[Path, ...]
    prints: tuple[str, ...]
    """Fingerprint of each file."""

    def get(self, kind: str, *key: str) -> memoryview | None:
        """Return what is kept under a key, as `Cache.get`."""
        return self.cache.get(kind, *self.prints, *key)

    def put(self, kind: str, parts: Sequence[bytes | memoryview], *key: str) -> bool:
        """Keep something, unless a file became another meanwhile: it may be of that one.

        Returns:
            Whether it is kept.

        Raises:
            OSError: it cannot be written.
        """
        if tuple(map(fingerprint_now, self.paths)) != self.prints:
            _log.debug("%s changed while it was read; not kept", ", ".join(map(str, self.paths)))
            return False
        return self.cache.put(kind, parts, *self.prints, *key)

    def drop(self, kind: str, *key: str) -> None:
        """Remove what is kept under a key."""
        self.cache.drop(kind, *self.prints, *key)


def about(*paths: Path) -> Source | None:
    """Return what is kept about files; None where caching is off, or one cannot be told apart."""
    cache = opened()
    if cache is None:
        return None
    prints = [fingerprint(path) for path in paths]
    known = tuple(each for each in prints if each is not None)
    return Source(cache, paths, known) if len(known) == len(paths) else None
