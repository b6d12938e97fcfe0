"""Traces drawn for replays: one character is 100 us, `stream=` puts a kernel on another stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid

from tb_hookview.analysis.host.rows import EVALUATE
from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.simulator import Simulator

SCALE = 100
NAMES = {
    "launch": "cudaLaunchKernel",
    "wait": "cudaStreamSynchronize",
    "waitall": "cudaDeviceSynchronize",
    "order": "cudaStreamWaitEvent",
    "copy": "cudaMemcpyAsync",
    "hipcopy": "hipMemcpyWithStream",
    "free": "hipFree",
    "D2P": "Memcpy DtoH (Device -> Pageable)",
    "P2D": "Memcpy HtoD (Pageable -> Device)",
    "H2D": "Memcpy HtoD (Host -> Device)",
    "loader": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    "eval": EVALUATE + "MmBackward0",
    "s0": "ProfilerStep#0",
    "s1": "ProfilerStep#1",
    "s2": "ProfilerStep#2",
    "dgemm": "volta_dgemm_64x64_nn",
    "nccl": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
}


def events(picture: str) -> list[dict[str, Any]]:
    """Events of a picture, longer by `SCALE` than drawn."""
    drawn = grid.events(picture, NAMES)
    for event in drawn:
        event["ts"], event["dur"] = event["ts"] * SCALE, event["dur"] * SCALE
        if event["cat"] in ("kernel", "gpu_memcpy"):
            event["tid"] = event["args"].get("stream", 7)
    return drawn


def simulator(folder: Path, picture: str, *more: dict[str, Any]) -> Simulator:
    """Simulator of a drawn trace."""
    path = grid.write(folder / "t.json", [*events(picture), *more])
    return Simulator(Selection(load(path), None))
