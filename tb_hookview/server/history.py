"""A watched training: the steps in the folder of a run."""

from __future__ import annotations

import os
import time
from functools import lru_cache
from pathlib import Path

from tb_hookview.addresses.text import is_address
from tb_hookview.errors import NotFoundError
from tb_hookview.history.answer import read_history
from tb_hookview.history.files import has_steps
from tb_hookview.schema.history import History
from tb_hookview.server.requests import RunList
from tb_hookview.server.served import Served
from tb_hookview.step_log import ENDING

CACHED = 8
"""Histories in memory."""

State = tuple[tuple[str, int, int], ...]


def history(served: Served, *, run: str) -> History:
    """A watched training over all its steps.

    Raises:
        NotFoundError: the run has no steps of one.
    """
    folder = _folder(served.listed, run)
    if not has_steps(folder):
        raise NotFoundError(
            "this run has no steps of a watched training; record it with hookview.watch"
        )
    return _read(folder, _state(folder))


@lru_cache(CACHED)
def _read(folder: str, _state: State) -> History:
    return read_history(folder)


def _folder(listed: RunList, name: str) -> str:
    """Return the folder of a run.

    Raises:
        UsageError, NotFoundError, TraceError: as `RunList.choose_run`.
    """
    run = listed.choose_run({"run": name})
    file = listed.offered(run.workers[0].traces[0]).file
    address = file.address
    if is_address(address):
        base, mark, query = address.partition("?")
        return f"{base.rpartition('/')[0]}{mark}{query}"
    return str(Path(address).parent)


def _state(folder: str) -> State:
    """Return what changes when a file of steps does; nothing is known of an address."""
    if is_address(folder):  # read again, each time
        return ((folder, -1, time.monotonic_ns()),)
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(ENDING):
                status = entry.stat(follow_symlinks=False)
                found.append((entry.name, status.st_size, status.st_mtime_ns))
    return tuple(sorted(found))
