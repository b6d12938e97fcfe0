"""Starts the processes of one distributed run: gloo over loopback, on the CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from support.forked_python import TORCH, Program, run_together

SIZE = 2
FORKED_RANKS = Path(__file__).with_name("forked_ranks.py")
LOOPBACK = {"GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo"}


def run_ranks(
    command: Sequence[str | Path],
    folder: Path,
    *,
    launched: bool = True,
    size: int = SIZE,
    imported: Sequence[str] = TORCH,
    **environment: str,
) -> list[str]:
    """Run Python once for each rank; return the output of each.

    Args:
        command: Python's arguments.
        folder: where the processes run.
        launched: pass the ranks by RANK, LOCAL_RANK and WORLD_SIZE, as a launcher does; else by
            one more argument, and by no variable.
        size: number of ranks.
        imported: what is imported before they start.
        environment: more variables.
    """
    _need_gloo()
    variables = {**LOOPBACK, **environment}
    programs = [
        Program([*command], folder, {**variables, **_launcher(rank, size)})
        if launched
        else Program([*command, str(rank)], folder, variables)
        for rank in range(size)
    ]
    done = run_together(programs, imported=imported)
    assert [each.returncode for each in done] == [0] * size, [each.stderr for each in done]
    return [each.stdout for each in done]


def run_forked_ranks(
    command: Sequence[str | Path], folder: Path, *, size: int, **environment: str
) -> None:
    """Run a program and its arguments once for each rank, where how it is started is no matter.

    See `forked_ranks.py` for what the program has to be.
    """
    _need_gloo()
    done = subprocess.run(
        [sys.executable, FORKED_RANKS, str(size), *command],
        cwd=folder,
        env={**os.environ, **LOOPBACK, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def _need_gloo() -> None:
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("this torch has no gloo")


def _launcher(rank: int, size: int) -> dict[str, str]:
    return {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size)}
