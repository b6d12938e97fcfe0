"""Faults of timelines drawn as text (tests/grid.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid

from tb_hookview.analysis.consistency.checks import Fault
from tb_hookview.loading import load

NAMES = {
    "launch": "cudaLaunchKernel",
    "graph": "cudaGraphLaunch",
    "waitall": "cudaDeviceSynchronize",
    "wait": "cudaStreamSynchronize",
    "begin": "cudaStreamBeginCapture",
    "end": "cudaStreamEndCapture",
    "toHost": "Memcpy DtoH (Device -> Pageable)",
    "toDevice": "Memcpy HtoD (Pageable -> Device)",
}


def faults(folder: Path, picture: str, *more: dict[str, Any]) -> dict[str, Fault]:
    """Faults of a picture, and of events that it cannot show, by code."""
    path = grid.write(folder / "t.json", [*grid.events(picture, NAMES), *more])
    return {fault.code: fault for fault in load(path).faults}


def cuda_sync(kind: str, start: int, **args: Any) -> dict[str, Any]:
    """A `cuda_sync` row; its start in microseconds as in a picture."""
    place = {"ph": "X", "cat": "cuda_sync", "pid": 0, "tid": 7, "ts": 1000 + start, "dur": 1}
    return {**place, "name": kind, "args": {"cuda_sync_kind": kind, **args}}


def on_device(
    name: str, start: int, length: int, device: int = 0, stream: int = 7, **args: Any
) -> dict[str, Any]:
    """A kernel of any device and stream; times in microseconds as in a picture."""
    place = {"ph": "X", "cat": "kernel", "pid": device, "tid": stream, "ts": 1000 + start}
    return {**place, "dur": length, "name": name, "args": {"device": device, **args}}
