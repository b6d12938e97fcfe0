"""Entries of the cache: one file each, written whole and checked on read.

An entry is a header and its content. The header holds the length and checksum of the content and
the name that the file should have, so that what is cut, damaged, foreign or misplaced is known,
and removed. Files are replaced and unlinked and never written in place, so that any number of
processes may use one folder without locks.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from isal import isal_zlib

from tb_hookview.cache.background import log
from tb_hookview.cache.program import program

HEADER = struct.Struct("<8sQI20s24x")
"""Magic, length, checksum, digest of the name: 64 bytes, so that what follows is aligned."""
MAGIC = b"HOOKVW\r\n"
ABANDONED_S = 3600.0
"""Seconds after which a partial file is taken for one of a process that ended."""

_NAME = re.compile(r"[0-9a-f]{40}\.[a-z]+")
_PARTIAL = re.compile(r"\.[0-9a-f]{40}\.[a-z]+\.\w+\.part")


class Usage(NamedTuple):
    """Content of a cache."""

    entries: int
    bytes: int


class _Entry(NamedTuple):
    used_ns: int
    bytes: int
    path: Path


class Cache:
    """Entries in a folder up to a number of bytes, evicted least recently used first.

    Safe to use from many threads and processes.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        """`limit` is in bytes; the folder is made when something is written."""
        self.folder = folder
        self.limit = limit

    def get(self, kind: str, *key: str) -> memoryview | None:
        """Return an entry's content, read only and aligned to 8 bytes; None without one."""
        digest = _digest(kind, key)
        path = self._path(kind, digest)
        try:
            # Read, not mapped: where the folder is on a network, an entry that another machine
            # drops while it is mapped here would end this process.
            with path.open("rb", buffering=0) as file:
                whole = file.readall()
        except FileNotFoundError:
            return None
        except (OSError, MemoryError) as error:
            log("cannot read %s: %s", path, error)
            return None
        content = _content(whole, digest)
        if content is None:
            log("%s is damaged; removing it", path)
            _remove(path)
            return None
        with suppress(OSError):  # of a folder that may only be read, nothing is dropped either
            os.utime(path)
        return content

    def put(self, kind: str, parts: Sequence[bytes | memoryview], *key: str) -> bool:
        """Write an entry of parts, and drop old ones for it.

        Returns:
            False where it is larger than the cache may be.

        Raises:
            OSError: it cannot be written.
        """
        length = sum(memoryview(part).nbytes for part in parts)
        if length + HEADER.size > self.limit:
            return False
        digest = _digest(kind, key)
        checksum = 0
        for part in parts:
            checksum = isal_zlib.crc32(part, checksum)
        path = self._path(kind, digest)
        self._write(path, [HEADER.pack(MAGIC, length, checksum, digest), *parts])
        self._make_room(path)
        return True

    def drop(self, kind: str, *key: str) -> None:
        """Remove an entry, if it is there."""
        _remove(self._path(kind, _digest(kind, key)))

    def usage(self) -> Usage:
        """Count what is cached, files still being written left out."""
        found = [entry.bytes for entry in self._entries()]
        return Usage(len(found), sum(found))

    def clear(self) -> Usage:
        """Remove all entries, and nothing else that is in the folder; return what was removed."""
        removed = [entry for entry in self._entries() if _remove(entry.path)]
        for path in self._partial():
            _remove(path)
        return Usage(len(removed), sum(entry.bytes for entry in removed))

    def _path(self, kind: str, digest: bytes) -> Path:
        return self.folder / f"{digest.hex()}.{kind}"

    def _write(self, path: Path, parts: Sequence[bytes | memoryview]) -> None:
        # Traces show the work of whoever recorded them: for the user's own eyes.
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        import tempfile

        handle, partial = tempfile.mkstemp(".part", f".{path.name}.", self.folder)
        try:
            with os.fdopen(handle, "wb", buffering=0) as file:
                for part in parts:
                    _write_all(file.fileno(), memoryview(part).cast("B"))
            Path(partial).replace(path)
        except BaseException:
            _remove(Path(partial))
            raise

    def _make_room(self, newest: Path) -> None:
        entries = sorted(entry for entry in self._entries() if entry.path != newest)
        with suppress(OSError):
            total = newest.stat().st_size + sum(entry.bytes for entry in entries)
            for entry in entries:
                if total <= self.limit:
                    break
                _remove(entry.path)
                total -= entry.bytes
        abandoned = time.time() - ABANDONED_S
        for path in self._partial():
            with suppress(OSError):
                if path.stat().st_mtime < abandoned:
                    _remove(path)

    def _entries(self) -> Iterator[_Entry]:
        for path in self._listed(_NAME):
            with suppress(OSError):  # dropped by another process since it was listed
                status = path.stat()
                yield _Entry(status.st_mtime_ns, status.st_size, path)

    def _partial(self) -> Iterator[Path]:
        return self._listed(_PARTIAL)

    def _listed(self, pattern: re.Pattern[str]) -> Iterator[Path]:
        try:
            return iter([path for path in self.folder.iterdir() if pattern.fullmatch(path.name)])
        except OSError:
            return iter(())


def _digest(kind: str, key: Sequence[str]) -> bytes:
    return hashlib.blake2b(repr((kind, *key, program())).encode(), digest_size=20).digest()


def _content(whole: bytes, digest: bytes) -> memoryview | None:
    """Return the content of an entry after its header; None where the header contradicts it."""
    if len(whole) < HEADER.size:
        return None
    magic, length, checksum, name = HEADER.unpack_from(whole)
    content = memoryview(whole)[HEADER.size :]
    if (magic, length, name) != (MAGIC, len(content), digest):
        return None
    return content if isal_zlib.crc32(content) == checksum else None


def _write_all(handle: int, content: memoryview) -> None:
    while content:
        content = content[os.write(handle, content) :]


def _remove(path: Path) -> bool:
    try:
        path.unlink()
    except OSError as error:
        log("cannot remove %s: %s", path, error)
        return False
    return True
