"""The one folder below which everything is that may be read."""

from __future__ import annotations

from pathlib import Path, PureWindowsPath

from tb_hookview.addresses.text import is_address
from tb_hookview.errors import NotFoundError, UsageError
from tb_hookview.formats import printable


class RootFolder:
    """A folder of this machine.

    Args:
        folder: its path.

    Raises:
        UsageError: there is no such folder.
    """

    def __init__(self, folder: str) -> None:
        if is_address(folder) or not Path(folder).is_dir():
            raise UsageError(f"{folder}: no folder of this machine; name one with --root")
        self.folder = Path(folder).resolve()

    def place(self, path: str) -> Path:
        """The file or folder of a path relative to the root; "" or "." is the root itself.

        Raises:
            UsageError: it is no such path, or leads out of the root, by a link too.
            NotFoundError: nothing is there.
        """
        said = printable(path[:200])
        if is_address(path) or not path.isprintable() or _is_absolute(path):
            raise UsageError(f"{said}: give a path relative to the root, as `runs` lists them")
        full = (self.folder / path).resolve()
        if not full.is_relative_to(self.folder):
            raise UsageError(f"{said}: outside of the root; `runs` lists what is below it")
        if not full.exists():
            raise NotFoundError(f"{said}: nothing there; `runs` lists what is below the root")
        return full

    def without(self, text: str) -> str:
        """The text with paths below the root relative to it."""
        return text.replace(f"{self.folder}/", "").replace(str(self.folder), ".")


def _is_absolute(path: str) -> bool:
    windows = PureWindowsPath(path)
    return path.startswith(("/", "\\", "~")) or bool(windows.drive or windows.root)
