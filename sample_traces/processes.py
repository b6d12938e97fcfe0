"""Runs one task in a process of its own, with a time limit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[1]


def run(
    module: str, task: dict[str, Any], *, seconds: float, environment: dict[str, str] | None = None
) -> dict[str, Any]:
    """Run a module of this package on a task; return its result.

    The task names the file of the result under "result" and is the module's one argument. The
    process is ended after the seconds. What was written before it failed or ran out of time is
    returned, with an "error" in it.
    """
    path = Path(task["result"])
    found = os.environ.get("PYTHONPATH")
    variables = {
        **os.environ,
        **(environment or {}),
        "PYTHONPATH": os.pathsep.join([str(_ROOT), *([found] if found else [])]),
    }
    # A session of its own: workers of a loader or a compiler are ended with it.
    process = subprocess.Popen(
        [sys.executable, "-m", f"sample_traces.{module}", json.dumps(task)],
        env=variables,
        start_new_session=True,
    )
    problem = None
    try:
        code = process.wait(seconds)
        if code:
            problem = f"its process ended with code {code}"
    except subprocess.TimeoutExpired:
        problem = f"not done after {seconds:.0f} s"
    finally:
        _end(process)
    result: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    if problem or not result:
        result.setdefault("error", problem or "its process wrote no result")
    return result


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
