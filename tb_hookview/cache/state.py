"""The state of a file, which changes with its content and is cheap to read."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol


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
