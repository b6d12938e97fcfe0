"""TensorBoard as its users run it: a process of its own, on a free port."""

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

STARTS_WITHIN_S = 120
"""Seconds after which a TensorBoard that has not said its address counts as hung."""


class TensorBoard:
    """A running TensorBoard."""

    def __init__(self, url: str) -> None:
        self.url = url

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            body: bytes = answer.read()
        return body

    def json(self, path: str) -> Any:
        return json.loads(self.get(path))


@contextmanager
def running(python: Path, *arguments: str) -> Iterator[TensorBoard]:
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
