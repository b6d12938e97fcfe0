"""Servers of this process: one for each log directory, until the process ends."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from tb_hookview.addresses.text import is_address
from tb_hookview.server import Server

_servers: dict[str, Server] = {}
_lock = threading.Lock()


def server_of(path: str | Path) -> Server:
    """The server of a log directory, a run folder or a trace file, started on first use.

    It answers on a daemon thread, so that it ends with the process.

    Raises:
        TraceError: there is no such file or folder.
    """
    key = str(path) if is_address(path) else os.path.realpath(path)
    with _lock:
        if key not in _servers:
            server = Server(path if is_address(path) else key, secret=True)
            threading.Thread(target=server.run, name="hookview", daemon=True).start()
            _servers[key] = server
        return _servers[key]


def _forget() -> None:
    # A forked process has none of its parent's threads, so nobody answers there.
    global _lock
    _lock = threading.Lock()
    _servers.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
