"""`hookview serve` as its users run it: a process of its own, on a free port."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from time import perf_counter
from typing import NamedTuple
from urllib.parse import urlencode

from common import child

_PATIENCE = 600.0
"""Seconds that a question may take."""


class Answer(NamedTuple):
    """An answer and what it took."""

    seconds: float
    body: bytes
    """Compressed, where the server does that."""


class Server:
    """A running server."""

    def __init__(self, port: int, process: int) -> None:
        self._port = port
        self._process = process

    def ask(self, route: str, plain: bool = False, **query: object) -> Answer:
        """Ask one question over a connection of its own.

        Raises:
            RuntimeError: the answer is no 200.
        """
        connection = HTTPConnection("127.0.0.1", self._port, timeout=_PATIENCE)
        headers = {} if plain else {"Accept-Encoding": "gzip"}
        start = perf_counter()
        connection.request("GET", f"/api/{route}?{urlencode(query)}", headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        seconds = perf_counter() - start
        connection.close()
        if answer.status != 200:
            raise RuntimeError(f"api/{route}: {answer.status} {body[:200]!r}")
        return Answer(seconds, body)

    def peak(self) -> int | None:
        """Most resident bytes so far; None where there is no /proc."""
        status = Path(f"/proc/{self._process}/status")
        told = re.search(r"VmHWM:\s*(\d+)", status.read_text()) if status.exists() else None
        return int(told[1]) * 1024 if told else None


@contextmanager
def serving(logdir: Path, cache: str = "off") -> Iterator[Server]:
    """Serve a folder; `cache` is the folder of the cache.

    Raises:
        RuntimeError: the server does not start.
    """
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "tb_hookview.cli", "serve", str(logdir)],
        env=child.environment(HOOKVIEW_CACHE=cache),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        port = re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
        if not port:
            raise RuntimeError("hookview serve does not start")
        yield Server(int(port[1]), process.pid)
    finally:
        process.terminate()
        process.wait(60)
