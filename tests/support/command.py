"""The `hookview` command: called in this process, or started as one of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from click.testing import CliRunner

from tb_hookview.cli import main

HOOKVIEW = (sys.executable, "-m", "tb_hookview.cli")


class Done(NamedTuple):
    """What a command left."""

    returncode: int
    stdout: str
    stderr: str


def call(*arguments: str | Path, **environment: str) -> Done:
    """Call the command here. It is as it is in a process: see tests/cli/test_processes.py."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        result = CliRunner(env=environment).invoke(
            main, [*map(str, arguments)], prog_name="hookview", catch_exceptions=False
        )
    finally:
        signal.signal(signal.SIGTERM, before)  # `serve` has its own
    return Done(result.exit_code, result.stdout, result.stderr)


def start(*arguments: str | Path, cwd: Path | None = None, **environment: str) -> Done:
    """Run the command as a user does, its output piped."""
    done = subprocess.run(
        [*HOOKVIEW, *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    return Done(done.returncode, done.stdout, done.stderr)
