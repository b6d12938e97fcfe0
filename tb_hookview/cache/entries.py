"""The cache: its place, sources and program, and entries written whole and checked on read.

An entry is a header and its content. The header holds the length and checksum of the content and
the name that the file should have, so that what is cut, damaged, foreign or misplaced is known,
and removed. Files are replaced and unlinked and never written in place, so that any number of
processes may use one folder without locks.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from isal import isal_zlib

from tb_hookview.cache.background import log
from tb_hookview.errors import HookviewError, UsageError
from tb_hookview.version import __version__

# The state of this program, also of a checkout that is being edited.


_SOURCES = (".py", ".json")
_NOT_SOURCES = frozenset({"__pycache__", "static"})


@cache
def program() -> str:
    """Return the version and a hash of every source file's size and time."""
    return f"{__version__} {state_of(Path(__file__).parents[1])}"


def state_of(folder: Path) -> str:
    """Return a hash of name, size and time of every source file below a folder."""
    states = sorted(_states(os.fspath(folder), ""))
    return hashlib.blake2b(repr(states).encode(), digest_size=20).hexdigest()


def _states(folder: str, name: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name not in _NOT_SOURCES:
                    yield from _states(entry.path, f"{name}{entry.name}/")
            elif entry.name.endswith(_SOURCES):
                status = entry.stat()
                yield name + entry.name, status.st_size, status.st_mtime_ns


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


# The folder of the cache and its limit, from the environment.


VARIABLE = "HOOKVIEW_CACHE"
"""Names the folder, or is one of `OFF`."""
LIMIT_VARIABLE = "HOOKVIEW_CACHE_LIMIT"
"""Environment variable: the most bytes cached. K, M, G and T stand for powers of 1024."""
OFF = frozenset(("off", "0", "false", "no"))
LIMIT = 4 << 30

_SIZE = re.compile(r"(?P<number>\d{1,15}(\.\d{1,6})?)\s*(?P<unit>[KMGT]?)(i?B)?", re.IGNORECASE)
_UNITS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


def opened() -> Cache | None:
    """Return the environment's cache; None where caching is off or its limit is invalid."""
    try:
        return None if is_off() else Cache(folder(), limit())
    except (UsageError, RuntimeError):  # no such size; no home either
        return None


def is_off() -> bool:
    """Whether the environment turns caching off."""
    return os.environ.get(VARIABLE, "").strip().lower() in OFF


def folder() -> Path:
    """Return the folder of the cache, which need not exist.

    Raises:
        RuntimeError: the user has no home.
    """
    named = os.environ.get(VARIABLE, "").strip()
    if named:
        return Path(named).expanduser().absolute()
    import platformdirs

    usual = Path(platformdirs.user_cache_dir("tb_hookview", appauthor=False))
    if not usual.is_absolute():
        raise RuntimeError("no home folder")
    return usual


def limit() -> int:
    """Return how many bytes may be cached.

    Raises:
        UsageError: the variable's value is not a size.
    """
    named = os.environ.get(LIMIT_VARIABLE, "").strip()
    if not named:
        return LIMIT
    size = _SIZE.fullmatch(named)
    if size is None:
        raise UsageError(f"{LIMIT_VARIABLE}={named!r} is not a size; use one such as 500M or 4G")
    return int(float(size["number"]) * (1 << _UNITS[size["unit"].upper()]))


# The state of a file, cheap to read, and a fingerprint of its content.


class FileState(NamedTuple):
    """As the file system has it."""

    size: int
    modified_ns: int
    changed_ns: int
    """Differs where a file was put in another's place with that one's time of writing."""
    inode: int
    version: str | None = None
    """What names this content of this file, where a store says so; "" where it does not.

    None for a file of this machine."""


class File(Protocol):
    """Bytes that have a state. Equal ones are the same file."""

    def __hash__(self) -> int:
        """Return the same for equal ones."""

    def open(self) -> BinaryIO:
        """Open it for reading.

        Raises:
            HookviewError, OSError: it cannot be read.
        """

    def state(self) -> FileState:
        """Return its state.

        Raises:
            OSError: it is gone, or can be read only once.
            HookviewError: it cannot be reached.
        """


def file_state(path: Path) -> FileState:
    """Return the state that a file on this machine is in.

    Raises:
        OSError: it is gone, or not an ordinary file: a pipe can be read only once.
    """
    try:
        status = path.stat()
    except ValueError as error:  # a path with a zero byte
        raise FileNotFoundError(str(error)) from error
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{path}: not an ordinary file")
    return FileState(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


WHOLE = 16 << 20
"""Largest file that is hashed whole, in bytes: two hundredths of a second at most."""
STRIPE = 128 << 10
STRIPES = 64
"""Stripes of `STRIPE` bytes hashed of a larger file, head and tail among them."""


def fingerprint(file: File) -> str | None:
    """Return the hash of a file's content.

    That of a large file is of its size, its time and a sample; that of a file in a store is the
    version which the store names, so that nothing is fetched.

    The hash is computed once for each state of the file.

    Returns:
        None where it cannot be read, or only once.
    """
    return _fingerprint(file, again=False)


def fingerprint_now(file: File) -> str | None:
    """Return the same, computed again whatever the state says."""
    return _fingerprint(file, again=True)


def _fingerprint(file: File, *, again: bool) -> str | None:
    try:
        state = file.state()
        if state.version is not None:
            return state.version or None
        return (_hash.__wrapped__ if again else _hash)(file, state)
    except (OSError, HookviewError):
        return None


@lru_cache(maxsize=1024)
def _hash(file: File, state: FileState) -> str:
    found = hashlib.blake2b(digest_size=20)
    with file.open() as opened:
        if state.size <= WHOLE:
            # Piece by piece: fresh memory for the whole would take as long as the hash.
            while piece := opened.read(STRIPE):
                found.update(piece)
        else:
            found.update(f"{state.size} {state.modified_ns}".encode())
            for stripe in range(STRIPES):
                opened.seek((state.size - STRIPE) * stripe // (STRIPES - 1), io.SEEK_SET)
                found.update(opened.read(STRIPE))
    return found.hexdigest()


# Entries about a file as it is now.


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
