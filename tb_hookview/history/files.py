"""Finds the files of steps in a folder, and reads them."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

from tb_hookview.addresses.store import explained, open_address, store_of
from tb_hookview.addresses.text import child, is_address, shown
from tb_hookview.errors import TraceError
from tb_hookview.step_log import parse_file_name

MOST_BYTES = 4_000_000_000
"""Of all files together."""

_REMEDY = "name the folder that was given to hookview.watch"


def names_in(folder: str) -> list[str]:
    """Return the names in a folder or at an address.

    Raises:
        TraceError: it cannot be listed.
    """
    if is_address(folder):
        store = store_of(folder)
        with explained(folder):
            return [str(path).rpartition("/")[2] for path in store.files.ls(store.path, False)]
    try:
        with os.scandir(folder) as entries:
            # A link may lead out of the folder, and to open a pipe waits for a writer.
            return [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
    except FileNotFoundError:
        raise TraceError(folder, "no such file or folder", "check the path") from None
    except OSError as error:
        raise TraceError(folder, f"cannot be listed ({error.strerror})", _REMEDY) from None


def has_steps(folder: str) -> bool:
    """Return whether a folder has a file of steps."""
    try:
        return any(map(parse_file_name, names_in(folder)))
    except TraceError:
        return False


def files_by_worker(folder: str, names: list[str]) -> dict[str, list[str]]:
    """Return the files of each worker, oldest first.

    Raises:
        TraceError: there are none.
    """
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for name in names:
        parsed = parse_file_name(name)
        if parsed is not None:
            worker, time_ns = parsed
            found[worker].append((time_ns, name))
    if not found:
        raise TraceError(shown(folder), "no steps of a watched training run in it", _REMEDY)
    return {worker: [name for _, name in sorted(files)] for worker, files in sorted(found.items())}


def read_file(folder: str, name: str) -> bytes:
    """Return a file's content.

    Raises:
        TraceError: it cannot be read, or is too large.
    """
    if is_address(folder):
        with open_address(child(folder, name)) as opened:
            content = opened.read(MOST_BYTES + 1)
    else:
        path = Path(folder, name)
        try:
            with path.open("rb") as file:
                content = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise TraceError(path, f"cannot be read ({error.strerror})") from None
    if len(content) > MOST_BYTES:
        raise TraceError(name, f"more than {MOST_BYTES:,} bytes")
    return content
