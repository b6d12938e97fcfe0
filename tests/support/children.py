"""Processes that our workers started."""

from __future__ import annotations

import psutil


def children() -> set[psutil.Process]:
    """Return the workers that run, those of earlier tests in this process too: compare."""
    return {child for child in psutil.Process().children(recursive=True) if _is_worker(child)}


def _is_worker(process: psutil.Process) -> bool:
    try:
        return any("tb_hookview.workers" in argument for argument in process.cmdline())
    except psutil.NoSuchProcess:
        return False
