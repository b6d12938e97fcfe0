"""Runs one task in a process of its own, with a time limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]


class Process:
    """A module of this package that imports what it needs, and then waits for its task."""

    def __init__(
        self, module: str, *, environment: dict[str, str] | None = None, needs: Sequence[str] = ()
    ) -> None:
        found = os.environ.get("PYTHONPATH")
        variables = {
            **os.environ,
            **(environment or {}),
            "PYTHONPATH": os.pathsep.join([str(_ROOT), *([found] if found else [])]),
        }
        # A session of its own: workers of a loader or a compiler are ended with it.
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"sample_traces.{module}", *needs],
            env=variables,
            start_new_session=True,
            stdin=subprocess.PIPE,
            text=True,
        )

    def run(self, task: dict[str, Any], *, seconds: float) -> dict[str, Any]:
        """Give the process its task; return its result.

        The task names the file of the result under "result". The process is ended after the
        seconds. What was written before it failed or ran out of time is returned, with an "error"
        in it.
        """
        problem = None
        end = time.monotonic() + seconds
        try:
            with suppress(BrokenPipeError, subprocess.TimeoutExpired):
                self._process.communicate(f"{json.dumps(task)}\n", timeout=seconds)
            code = self._process.wait(max(end - time.monotonic(), 0))
            if code:
                problem = f"its process ended with code {code}"
        except subprocess.TimeoutExpired:
            problem = f"not done after {seconds:.0f} s"
        finally:
            self.end()
        path = Path(task["result"])
        result: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
        if problem or not result:
            result.setdefault("error", problem or "its process wrote no result")
        return result

    def end(self) -> None:
        """End the process and what it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def run(module: str, task: dict[str, Any], *, seconds: float) -> dict[str, Any]:
    """Run a module of this package on a task, as `Process` does."""
    return Process(module).run(task, seconds=seconds)


def given_task() -> dict[str, Any]:
    """Return the task, in the process that it is for."""
    task: dict[str, Any] = json.loads(sys.stdin.readline())
    return task
