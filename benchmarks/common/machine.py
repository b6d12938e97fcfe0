"""What kind of machine this is, without its name."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def describe() -> str:
    """CPU model, cores, memory, system and Python."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{_cpu()}, {cores} cores, {memory:.0f} GiB of memory, "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    )


def _cpu() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(encoding="utf-8").splitlines() if cpuinfo.exists() else []
    facts = dict(line.replace("\t", "").split(":", 1) for line in lines if ":" in line)
    model = facts.get("model name", platform.processor() or "unknown CPU").strip()
    # Cloud vendors hide the model's name; these two numbers still tell its generation.
    known = "cpu family" in facts and "model" in facts
    return f"{model} (family{facts['cpu family']}, model{facts['model']})" if known else model
