"""The state of this program, also of a checkout that is being edited."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tb_hookview.version import __version__

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
