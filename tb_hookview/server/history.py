"""The route about a watched training: the steps in the folder of a run."""

from __future__ import annotations

import os
import time
from pathlib import Path
from threading import Lock

from cachetools import LRUCache
from flask import Flask, Response, request

from tb_hookview.addresses.text import is_address
from tb_hookview.errors import NotFoundError
from tb_hookview.history.answer import read_history
from tb_hookview.history.files import has_steps
from tb_hookview.schema.watched.history import History
from tb_hookview.server import answers
from tb_hookview.server.requests import RunList
from tb_hookview.step_log import ENDING

CACHED = 8
"""Histories in memory."""

State = tuple[tuple[str, int, int], ...]


class Histories:
    """Histories that were read, each until its files change. Safe to use from threads."""

    def __init__(self) -> None:
        self._cached: LRUCache[str, tuple[State, History]] = LRUCache(CACHED)
        self._lock = Lock()

    def get(self, folder: str) -> History:
        """Return the history of a folder.

        Raises:
            TraceError: as `read_history`.
        """
        with self._lock:
            state = _state(folder)
            cached = self._cached.get(folder)
            if cached is None or cached[0] != state:
                cached = self._cached[folder] = (state, read_history(folder))
            return cached[1]


def install(app: Flask, listed: RunList) -> None:
    """Add the route to an application."""
    known = Histories()

    @app.get("/api/history")
    def history() -> Response:
        folder = _folder(listed)
        if not has_steps(folder):
            raise NotFoundError(
                "this run has no steps of a watched training; record it with hookview.watch"
            )
        return answers.json(known.get(folder))


def _folder(listed: RunList) -> str:
    """Return the folder of the run that the request names.

    Raises:
        UsageError, NotFoundError, TraceError: as `RunList.choose_run`.
    """
    run = listed.choose_run(request.args)
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
