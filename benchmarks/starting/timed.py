"""One start of something, timed."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from common import child

HERE = Path(__file__).parent
_TENSORBOARD = HERE / "tensorboard_once.py"


class Start(NamedTuple):
    """Seconds from the start of TensorBoard."""

    serving: float
    """Until it said its address."""
    listing: float
    """Until it had told the page which plugins there are, which asks each of them."""


def command(words: Sequence[str | Path]) -> float:
    """Seconds that a command takes in all.

    Raises:
        RuntimeError: it fails.
    """
    start = time.perf_counter()
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, timeout=child.LIMIT, check=False
    )
    spent = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"{Path(words[0]).name} {words[1]}: exit {done.returncode}")
    return spent


def tensorboard(which: str, logdir: str) -> Start:
    """Start TensorBoard "with" our plugin or "without" it, and stop it.

    Raises:
        RuntimeError: it does not start.
    """
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, _TENSORBOARD, which, logdir],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        serving = time.perf_counter() - begin
        if not url.startswith("http"):
            raise RuntimeError("TensorBoard does not start")
        with urllib.request.urlopen(f"{url}data/plugins_listing", timeout=60) as answer:
            answer.read()
        return Start(serving, time.perf_counter() - begin)
