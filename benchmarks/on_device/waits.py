"""Which stream each sync waited for, by cuda_sync rows and by calls; depth of the launch queue."""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch

import tb_hookview as hookview
from sample_traces.recording import traces
from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.simulator import Simulator

from .results import Results

_DEEPEST = 20_000
_FIRST = 50
"""Launches until the kernel is loaded and the long one runs."""
_BLOCKED_S = 0.01
"""A launch that took as long was blocked."""


def streams(results: Results) -> dict[str, Any]:
    """For each trace: syncs whose stream is the one that the cuda_sync row names, and others."""
    return {_name(path, results): _agreement(path) for path in traces(results.traces)}


def _name(path: Path, results: Results) -> str:
    return str(path.relative_to(results.traces))


def _agreement(path: Any) -> dict[str, Any]:
    report = hookview.analyze(path)
    guessed = {sync.id: sync.waited_for for sync in report.data.syncs}
    found = {"rows": 0, "host syncs": 0, "same stream": 0, "other stream": 0, "not known": 0}
    others = []
    for row in report.cuda_syncs:
        found["rows"] += 1
        if row.sync_id is None or row.stream is None or row.cuda_sync_kind != "Stream Sync":
            continue
        found["host syncs"] += 1
        waited = guessed.get(row.sync_id)
        if waited is None:
            found["not known"] += 1
        elif waited.stream == str(row.stream):
            found["same stream"] += 1
        else:
            found["other stream"] += 1
            others.append([row.sync_id, row.stream, waited.stream])
    return {**found, "others": others[:20], "syncs": len(guessed)}


def replays(results: Results) -> dict[str, Any]:
    """For each trace: how far the replay with nothing changed is off, or why there is none."""
    found: dict[str, Any] = {}
    for path in traces(results.traces):
        simulator = Simulator(Selection(load(path), None))
        if simulator.refused:
            found[_name(path, results)] = simulator.refused
            continue
        step = simulator.recorded.step
        found[_name(path, results)] = {
            "step_ms": step / 1e6,
            "error": simulator.unchanged.step / step - 1,
        }
    return found


def queue_depth(results: Results) -> dict[str, Any]:
    """Launches that a device takes ahead, in each of a few rounds."""
    if not results.setting.cuda:
        return {"skipped": "no GPU"}
    x = torch.zeros(1, device=results.setting.device)
    return {"launches_until_blocked": [_until_blocked(x) for _ in range(5)]}


def _until_blocked(x: torch.Tensor) -> int | None:
    """Launches behind a long kernel until one of them has to wait; None where none had to."""
    torch.cuda.synchronize()
    torch.cuda._sleep(2_000_000_000)
    blocked = None
    for count in range(_DEEPEST):
        began = time.perf_counter()
        x.add_(1)
        if count > _FIRST and time.perf_counter() - began > _BLOCKED_S:
            blocked = count
            break
    torch.cuda.synchronize()
    return blocked


if __name__ == "__main__":
    shared = Results("waits", __doc__)
    measurements = {"streams": streams, "replays": replays, "queue_depth": queue_depth}
    sys.exit(shared.measure({name: partial(each, shared) for name, each in measurements.items()}))
