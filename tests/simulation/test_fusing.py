"""What fusing gains in a loop of a product and two small kernels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import numpy as np
import pytest
from support.event_tables import event_table

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.operators import OperatorCalls, find_sequences
from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.questions import fused, longest_kernels

STEPS, TURNS = 4, 25
PRODUCT, SHORTER, LONGER = ("gemm", 3), ("elementwise_add", 1), ("elementwise_mul", 2)
"""Kernels of a turn, and how long each is."""
PAUSE = 1


def loop(folder: Path, host: int, kernel: int, operators: bool = True) -> Analysis:
    """Steps of turns; each launch takes the host `host` + 5 us, a kernel 1 to 3 times `kernel`."""
    events: list[dict[str, Any]] = []
    now, free = 0, 0

    def happened(kind: str, name: str, start: int, end: int, corr: int | None = None) -> None:
        place = {"pid": 0, "tid": 7} if kind == "kernel" else {"pid": 77, "tid": 1}
        args = {} if corr is None else {"correlation": corr}
        row = {"ph": "X", "cat": kind, "name": name, "ts": start, "dur": end - start}
        events.append({**row, **place, "args": args})

    for step in range(STEPS):
        began = now
        for name, length in (PRODUCT, SHORTER, LONGER) * TURNS:
            corr = len(events) + 1
            if operators:
                happened("cpu_op", "aten::op", now, now + host + 5)
            happened("cuda_runtime", "cudaLaunchKernel", now + host, now + host + 4, corr)
            start = max(now + host + 6, free + PAUSE)
            free = start + kernel * length
            happened("kernel", name, start, free, corr)
            now += host + 5
        happened("user_annotation", f"ProfilerStep#{step}", began, now)
    return load(grid.write(folder / "t.json", events))


def row_of(analysis: Analysis) -> dict[str, Any]:
    table = event_table("kernel_sequences", Selection(analysis, None))
    assert len(table) == 1
    return {name: values[0] for name, values in table.to_columns().items()}


def test_a_device_that_is_behind_gains_the_shorter_kernel_and_the_pause_before(
    tmp_path: Path,
) -> None:
    row = row_of(loop(tmp_path, host=5, kernel=100))
    assert (row["name"], row["kernels"]) == ("elementwise_add\nelementwise_mul", 2)
    assert row["count"] == STEPS * TURNS
    assert row["total_us"] == STEPS * TURNS * 300
    assert row["removable_us"] == STEPS * TURNS * 100
    assert row["gain_us_per_step"] == pytest.approx(TURNS * (100 + PAUSE), rel=0.02)


def test_a_host_that_is_behind_gains_the_operator_that_launches_the_shorter_kernel(
    tmp_path: Path,
) -> None:
    row = row_of(loop(tmp_path, host=40, kernel=2))
    assert row["gain_us_per_step"] == pytest.approx(TURNS * 45, rel=0.02)


def test_without_operators_the_launch_alone_is_gone(tmp_path: Path) -> None:
    row = row_of(loop(tmp_path, host=40, kernel=2, operators=False))
    assert row["gain_us_per_step"] == pytest.approx(TURNS * 4, rel=0.05)


def test_one_kernel_of_each_occurrence_stays_the_longest(tmp_path: Path) -> None:
    analysis = loop(tmp_path, host=5, kernel=10)
    found = find_sequences(analysis, np.ones(len(analysis.device_events), bool))
    longest = longest_kernels(found, OperatorCalls(Selection(analysis, None)))
    duration = analysis.device_events.duration[found.kernel]
    for number in range(len(found.sequence)):
        mine = found.occurrence == number
        assert duration[mine & longest].tolist() == [duration[mine].max()]


def test_an_operator_that_launches_a_kernel_that_stays_keeps_its_time(tmp_path: Path) -> None:
    """One operator around both launches of an occurrence: only a launch is gone."""
    picture = """
    main ops   [aten::gelu                  ]        [aten::gelu                  ]
    main calls    [launch corr=1][launch corr=2]         [launch corr=3][launch corr=4]
    gpu  kernel                [k corr=1][kk corr=2 ]   [gemm]          [k corr=3][kk corr=4 ]
    """
    names = {"k": "elementwise_a", "kk": "elementwise_b", "launch": "cudaLaunchKernel"}
    analysis = load(grid.write(tmp_path / "t.json", grid.events(picture, names)))
    calls = OperatorCalls(Selection(analysis, None))
    found = find_sequences(analysis, np.ones(len(analysis.device_events), bool))
    gone = found.kernel[~longest_kernels(found, calls)]
    change = fused(calls, gone)
    (host,) = change.host
    events = analysis.trace.events
    rows = analysis.device_events.launch[gone]
    assert host.time is not None
    assert host.time.tolist() == [
        [analysis.call_tree.start[row], analysis.call_tree.end[row]] for row in rows.tolist()
    ]
    assert {analysis.trace.strings[n] for n in events.name[analysis.device_events.event[gone]]} == {
        "elementwise_a"
    }
