"""A recording that ran long before its first row."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest

from tb_hookview.loading import load
from tb_hookview.report.build import build_report

PICTURE = """
    main ops    [aten::mm                  ]
    main calls   [cudaLaunchKernel corr=1]
    gpu  kernel                              [k corr=1]
    """


@pytest.mark.parametrize(
    ("before_us", "after_us", "severity"),
    [
        (3_000_000, 100_000, "high"),
        (300_000, 1_000_000, "low"),
        (99_000, 1_000, None),
        (300_000, 3_000_000, None),
    ],
)
def test_a_recording_that_began_before_its_rows(
    before_us: int, after_us: int, severity: str | None, tmp_path: Path
) -> None:
    events = grid.events(PICTURE)
    begin = min(event["ts"] for event in events) - before_us
    window = {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans"}
    window |= {"tid": "PyTorch Profiler", "ts": begin, "dur": before_us + after_us}
    path = grid.write(tmp_path / "t.json", [*events, window])
    warnings = build_report(load(path)).data.trace.warnings
    found = [row for row in warnings if row.code == "late-first-row"]
    assert [row.severity for row in found] == ([severity] if severity else [])
    step = {**events[0], "cat": "user_annotation", "name": "ProfilerStep#1"}
    marked = grid.write(tmp_path / "marked.json", [*events, step, window])
    codes = {row.code for row in build_report(load(marked)).data.trace.warnings}
    assert "late-first-row" not in codes, "the verdict is about the step"
    if severity == "high":
        assert "3.00 s after its start, 96.8% of it" in found[0].message
