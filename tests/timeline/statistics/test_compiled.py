"""Modules of a selection in compiled code: what a graph ran for several is shared among them."""

from __future__ import annotations

from pathlib import Path

import pytest
from analysis.compiled.drawn import analyzed, device, host, reported
from analysis.compiled.test_placement import BACKWARD, CPU, FORWARD, GPU, ON_GPU

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.timeline import Timeline
from tb_hookview.timeline.statistics.statistics import statistics


def self_times(analysis: Analysis, kind: str, share: float = 1) -> dict[str, float | None]:
    """Self time of each module in the first part of the trace."""
    first, last = analysis.bounds
    top = statistics(Timeline(analysis), 0, round((last - first) * share)).top
    found = {"" if row.name == "(root)" else row.name: row for row in top if row.kind == kind}
    return {path: row.self_us for path, row in found.items() if row.self_us}


def test_kernels_are_shared_as_in_the_report(tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, GPU, ON_GPU, names={"l": "cudaLaunchKernel"})
    assert self_times(analysis, "forward") == device(reported(analysis))


def test_host_time_is_shared_as_in_the_report(tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, CPU, FORWARD, BACKWARD)
    data = reported(analysis)
    for kind in ("forward", "backward"):
        assert self_times(analysis, kind) == host(data, kind)


def test_a_part_of_a_kernel_is_shared_as_the_whole(tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, GPU, ON_GPU, names={"l": "cudaLaunchKernel"})
    half = self_times(analysis, "forward", 0.9)
    assert half[""] == pytest.approx(2 * (half["norm"] - 10), abs=4e-3)
