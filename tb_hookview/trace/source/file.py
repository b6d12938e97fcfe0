"""A trace by its address."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from tb_hookview.addresses.text import is_address
from tb_hookview.cache import File, FileState, file_state
from tb_hookview.errors import TraceError
from tb_hookview.progress import Progress, silent


class TraceFile(File, Protocol):
    """The bytes of a trace, wherever they are. Equal ones have the same address."""

    @property
    def address(self) -> str:
        """Name by which users know it."""

    @property
    def name(self) -> str:
        """The last part of its address."""

    @property
    def size(self) -> int:
        """Bytes as stored.

        Raises:
            OSError: it cannot be found.
            TraceError: it cannot be reached.
        """

    def bring(self, progress: Progress = silent) -> bool:
        """Make it cheap for several processes to read.

        Returns:
            False where each of them would have to fetch it.

        Raises:
            TraceError: it cannot be read.
        """


class LocalFile(NamedTuple):
    """A trace file on this machine."""

    path: Path

    @property
    def address(self) -> str:
        """Its path."""
        return str(self.path)

    @property
    def name(self) -> str:
        """Its name in its folder."""
        return self.path.name

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return self.path.stat().st_size

    def open(self) -> BinaryIO:
        """Open it."""
        try:
            return self.path.open("rb")
        except FileNotFoundError:
            raise TraceError(self.path, "no such file or folder", "check the path") from None
        except (OSError, ValueError) as error:  # a path with a zero byte is a ValueError
            reason = getattr(error, "strerror", None) or error
            raise TraceError(self.path, f"cannot be read ({reason})") from error

    def state(self) -> FileState:
        """Return size, times and inode."""
        return file_state(self.path)

    def bring(self, progress: Progress = silent) -> bool:  # noqa: ARG002 - nothing to be done
        """It is here."""
        return True


def trace_file(address: str | Path | TraceFile) -> TraceFile:
    """Return the trace at a path or an address."""
    if isinstance(address, str) and is_address(address):
        from tb_hookview.trace.source.remote import RemoteFile

        return RemoteFile(address)
    return LocalFile(Path(address)) if isinstance(address, str | Path) else address
