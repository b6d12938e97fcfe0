"""Describes the processor as this process may use it: threads of torch, cores, other ranks."""

from __future__ import annotations

import os
from pathlib import Path

import torch

_LIMIT = Path("/sys/fs/cgroup/cpu.max")
"""Of a container: microseconds of processor time, or `max`, and the period in microseconds."""


def describe() -> dict[str, float]:
    """Return the manifest's entry."""
    return {"threads": torch.get_num_threads(), "cores": cores(), "processes": _processes()}


def cores(limit: Path = _LIMIT) -> float:
    """Return the cores that this process may use, by its affinity and its container's limit."""
    affinity = getattr(os, "sched_getaffinity", None)
    there = float(len(affinity(0)) if affinity is not None else os.cpu_count() or 1)
    try:
        most, period = limit.read_text("ascii").split()
        return min(there, int(most) / int(period))
    except (OSError, ValueError, ZeroDivisionError):  # no such file, or no limit in it
        return there


def _processes() -> int:
    """Return the processes of the run on this machine, as a launcher counts them."""
    local = os.environ.get("LOCAL_WORLD_SIZE", "")
    return max(1, int(local)) if local.isdecimal() else 1
