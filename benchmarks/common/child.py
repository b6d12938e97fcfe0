"""A fresh process that measures something and prints it as one line of JSON."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LIMIT = 900.0
"""Seconds after which a process is given up."""


def without_cache() -> None:
    """Have this process read every trace itself, and keep nothing of it."""
    os.environ.update(environment())


def environment(**told: str) -> dict[str, str]:
    """This process's environment, without a cache unless told otherwise."""
    return {**os.environ, "HOOKVIEW_CACHE": "off", **told}


def run(command: Sequence[str | Path], **told: str) -> dict[str, Any]:
    """Run a command, with variables of the environment as told.

    Returns:
        What its last line of output tells, or `fails` with the reason.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            env=environment(**told),
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"fails": f"not done after {LIMIT:.0f} s"}
    except OSError as error:
        return {"fails": f"{Path(words[0]).name} cannot be started ({error.strerror})"}
    if done.returncode or not done.stdout:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        return {"fails": f"exit {done.returncode}, {last[0]}"}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
