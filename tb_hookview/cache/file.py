"""The state of a file, cheap to read, and a fingerprint of its content."""

from __future__ import annotations

import hashlib
import io
import stat
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from tb_hookview.errors import HookviewError


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
