"""TensorBoard as its users run it, a process of its own on a free port; or in this process."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from typing import Any
from urllib.parse import urljoin

from tensorboard import program
from tensorboard.plugins.core.core_plugin import CorePluginLoader
from werkzeug.test import Client

from tb_hookview.plugin import HookviewPlugin

STARTS_WITHIN_S = 120
"""Seconds after which a TensorBoard that has not said its address counts as hung."""


class TensorBoard:
    """A running TensorBoard; paths are below its address, from the root on with a slash first."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(urljoin(self.url, path), timeout=300) as answer:
            body: bytes = answer.read()
        return body

    def json(self, path: str) -> Any:
        return json.loads(self.get(path))


class TensorBoardHere(TensorBoard):
    """A TensorBoard with the core's plugin and ours, which is asked without a socket."""

    def __init__(self, *arguments: str, path_prefix: str = "") -> None:
        super().__init__(f"{path_prefix}/")
        board = program.TensorBoard([CorePluginLoader(), HookviewPlugin], server_class=self._made)
        once = ("--load_fast", "false", "--reload_interval", "0")
        board.configure(["tensorboard", *once, "--path_prefix", path_prefix, *arguments])
        board.launch()

    def _made(self, application: Any, _flags: Any) -> TensorBoardHere:
        self._client = Client(application)
        return self

    def serve_forever(self) -> None:
        """Nothing: who asks is here."""

    def get_url(self) -> str:
        return self.url

    def get(self, path: str) -> bytes:
        answer = self._client.get(urljoin(self.url, path))
        assert answer.status_code == 200, answer.status
        return answer.data


@contextmanager
def running(
    python: Path, *arguments: str, environment: dict[str, str] | None = None
) -> Iterator[TensorBoard]:
    """Start TensorBoard with some interpreter's packages; stops it at the end of the block."""
    process = subprocess.Popen(
        [
            *(str(python), "-u", "-m", "tensorboard.main"),
            *("--host", "127.0.0.1", "--port", "0", "--load_fast", "false"),
            *arguments,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        cwd=python.parent,  # not the checkout, whose package would be found before the installed
    )
    try:
        yield TensorBoard(_address(process))
    finally:
        process.terminate()
        process.wait(30)


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    lines: Queue[str | None] = Queue()

    def read() -> None:
        for line in process.stdout or ():
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    said = []
    while True:
        try:
            line = lines.get(timeout=STARTS_WITHIN_S)
        except Empty:
            line = None
        if line is None:
            raise AssertionError("TensorBoard did not start:\n" + "".join(said))
        said.append(line)
        if match := re.search(r"TensorBoard \S+ at (http://\S+)", line):
            return match[1]
