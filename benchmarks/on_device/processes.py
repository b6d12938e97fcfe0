"""A command in a session of its own, with a log and a time limit."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from .parts import ROOT


def run(command: Sequence[str], log: Path, seconds: float) -> str | None:
    """Run a command and end all that it started; return what went wrong, None where nothing did."""
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "PYTHONUNBUFFERED": "1",
        # Read by cuBLAS when it is first used; without it the deterministic mode is refused.
        "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
        # The recorder maps a graph as it is compiled, not where a cache has it.
        "TORCHINDUCTOR_CACHE_DIR": str(log.with_suffix(".inductor")),
        "HOOKVIEW_CACHE": "off",
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=variables,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            return f"not done after {seconds:.0f} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return f"ended with code {code}, see {log.name}" if code else None
