"""A checkout as its users run it: the command, and `hookview serve` on a free port."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

_PATIENCE = 300.0
"""Seconds that an answer may take."""


class Reply(NamedTuple):
    """An answer of either kind."""

    status: str
    body: bytes
    messages: str = ""
    """What a command printed to stderr."""


class Server:
    """A running server."""

    def __init__(self, port: int) -> None:
        self._port = port

    def ask(self, route: str, query: Sequence[tuple[str, object]]) -> Reply:
        """Ask one question over a connection of its own."""
        connection = HTTPConnection("127.0.0.1", self._port, timeout=_PATIENCE)
        connection.request("GET", f"/{route}?{urlencode(query)}")
        answer = connection.getresponse()
        reply = Reply(str(answer.status), answer.read())
        connection.close()
        return reply


class Checkout:
    """A folder with the project."""

    def __init__(self, folder: Path, work: Path) -> None:
        """`work` is a folder for what commands write; it does not show in their answers."""
        self._folder, self.work = folder.resolve(), work
        work.mkdir(parents=True)

    def check(self) -> None:
        """End the program where Python would import another checkout's package.

        Raises:
            SystemExit: the folder holds no package, or another one is imported.
        """
        code = "import tb_hookview; print(tb_hookview.__file__)"
        done = self._run([sys.executable, "-c", code])
        if not Path(done.stdout.decode().strip()).is_relative_to(self._folder):
            error = done.stderr.decode()
            sys.exit(f"{self._folder.name}: tb_hookview is not imported from there\n{error}")

    def command(self, *words: str | Path) -> Reply:
        """Run `hookview` with these words."""
        done = self._run([sys.executable, "-m", "tb_hookview.cli", *map(str, words)])
        own = ((self.work, "OUT"), (self._folder, "CHECKOUT"))
        body, messages = done.stdout, done.stderr.decode()
        for path, name in own:
            body = body.replace(str(path).encode(), name.encode())
            messages = messages.replace(str(path), name)
        return Reply(f"exit {done.returncode}", body, messages)

    @contextmanager
    def serving(self, logdir: Path) -> Iterator[Server]:
        """Serve a folder until the end of the block.

        Raises:
            RuntimeError: the server does not start.
        """
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "tb_hookview.cli", "serve", str(logdir)],
            cwd=self._folder,
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert process.stdout
            port = re.search(r"http://127\.0\.0\.1:(\d+)", process.stdout.readline())
            if not port:
                raise RuntimeError(f"hookview serve of {self._folder.name} does not start")
            yield Server(int(port[1]))
        finally:
            process.terminate()
            process.wait(60)

    def _run(self, command: list[str]) -> subprocess.CompletedProcess[bytes]:
        # Python looks into the working directory first, so it is the checkout.
        return subprocess.run(
            command,
            cwd=self._folder,
            env=self._environment(),
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "HOOKVIEW_CACHE": "off", "PYTHONPATH": str(self._folder)}
