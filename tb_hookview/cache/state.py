"""What tells one state of a file from another, without its content being looked at."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class FileState(NamedTuple):
    """As the file system tells it."""

    size: int
    modified_ns: int
    changed_ns: int
    """Tells a file put in another's place with that one's time of writing."""
    inode: int


def file_state(path: Path) -> FileState:
    """Return the state that a file is in.

    Raises:
        OSError: it is gone.
    """
    status = path.stat()
    return FileState(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
