"""Graphs drawn on the stream that captured them: whether they run in turn with the main stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import pytest

from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.alone import Alone
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.simulator import Simulator

TURNS, KERNEL, PART = 4, 300, 100
MAIN, CAPTURED = 7, 164


def turns(folder: Path, *, host: int = 0, early: int = 0, plain: int = 0) -> Simulator:
    """Kernels on the main stream, after each a graph of two kernels on another; microseconds.

    Args:
        folder: of the trace.
        host: what the host does before each launch.
        early: by how much a graph begins before the kernel ends.
        plain: by how much later a kernel without a graph runs on the graphs' stream; 0 for none.
    """
    events: list[dict[str, Any]] = []

    def happened(kind: str, name: str, tid: int, start: int, duration: int, number: int) -> int:
        pid = 0 if kind == "kernel" else 77
        times = {"ts": 1000 + start, "dur": duration, "args": {"correlation": number}}
        events.append({"ph": "X", "cat": kind, "name": name, "pid": pid, "tid": tid, **times})
        return start + duration

    now = free = 0
    for turn in range(1, 2 * TURNS, 2):
        now = happened("cuda_runtime", "cudaLaunchKernel", 1, now + host, 5, turn)
        free = happened("kernel", "k", MAIN, max(now, free), KERNEL, turn)
        now = happened("cuda_runtime", "cudaGraphLaunch", 1, now + host, 5, turn + 1)
        free = happened("kernel", "a", CAPTURED, max(now, free - early), PART, turn + 1)
        free = happened("kernel", "b", CAPTURED, free, PART, turn + 1)
    if plain:
        happened("cuda_runtime", "cudaLaunchKernel", 1, now, 5, 99)
        happened("kernel", "c", CAPTURED, free + plain, PART, 99)
    happened("user_annotation", "ProfilerStep#1", 1, 0, max(now, 10), -1)
    return Simulator(Selection(load(grid.write(folder / "t.json", events)), None))


def test_a_graph_waits_for_the_stream_that_it_is_launched_on(tmp_path: Path) -> None:
    simulator = turns(tmp_path)
    device = Alone(simulator).each["device"] / 1000
    assert device == TURNS * (KERNEL + 2 * PART), "as long as the device is busy"
    quick = simulator.step(scaled(simulator.analysis, {"kernel:a": 0.0, "host": 0.0})) / 1000
    assert quick == TURNS * (KERNEL + PART) + 5, "and the first launch"


@pytest.mark.parametrize(
    "drawn",
    [{"early": 10}, {"host": 1000}, {"plain": 50}],
    ids=["they overlap", "none waits for the other", "more than graphs runs there"],
)
def test_without_proof_streams_are_as_drawn(drawn: dict[str, int], tmp_path: Path) -> None:
    simulator = turns(tmp_path, **drawn)
    events = simulator.analysis.device_events
    assert simulator.analysis.timing.stream.tolist() == events.stream.tolist()
