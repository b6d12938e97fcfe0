"""Whose clock the steps of a rank are measured by, by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import numpy as np
import pytest

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.loading import load
from tb_hookview.ranks.map.summary import summarize

BEGINS, END = (0.0, 10.0, 20.0, 32.0), 42.0
"""Of steps on the host, the first of which warms up; milliseconds."""


def recorded(folder: Path, first: float) -> Analysis:
    """Steps with a kernel of 9 ms each, the first step's of another length."""
    rows: list[dict[str, Any]] = []

    def add(category: str, name: str, start: float, end: float, **args: Any) -> None:
        times = {"ts": 1000 * start, "dur": 1000 * (end - start)}
        thread = {"pid": 0, "tid": 7} if category == "kernel" else {"pid": 9, "tid": 9}
        rows.append({"ph": "X", "cat": category, "name": name, **thread, **times, "args": args})

    free = 0.0
    for number, (begin, end) in enumerate(zip(BEGINS, (*BEGINS[1:], END), strict=True)):
        add("user_annotation", f"ProfilerStep#{number}", begin, end)
        add("cpu_op", "aten::mm", begin + 0.1, end - 0.1)
        add("cuda_runtime", "cudaLaunchKernel", begin + 0.5, begin + 0.6, correlation=number + 1)
        start, free = max(free, begin + 1), max(free, begin + 1) + (9.0 if number else first)
        add("kernel", "gemm", start, free, correlation=number + 1, device=0, stream=7)
    return load(grid.write(folder / "t.json", rows))


@pytest.mark.parametrize(("first", "by_device"), [(18.0, True), (10.0, False)])
def test_steps_of_a_device_that_is_far_behind_hold_its_work_for_them(
    tmp_path: Path, first: float, by_device: bool
) -> None:
    """The host takes 32 ms for three steps, the device 27: it is behind by 4 at the end."""
    steps = summarize(recorded(tmp_path, first)).summary.steps
    assert steps.counted.tolist() == [False, True, True, True]
    durations = [9.0, 9.0, 9.0] if by_device else [10.0, 12.0, 10.0]
    assert steps.duration[1:] / 1e6 == pytest.approx(durations)
    assert np.array_equal(steps.duration, steps.compute + steps.exposed + steps.idle)
    if by_device:
        assert steps.compute[1:] / 1e6 == pytest.approx(durations)
