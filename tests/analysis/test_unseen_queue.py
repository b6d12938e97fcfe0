"""A stream that begins long after its launch was busy with what is not in the file."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from shared_traces import shared_trace

from tb_hookview.loading import analyze, load
from tb_hookview.report.build import build_report
from tb_hookview.schema import TraceWarning

NAMES = {"go": "cudaLaunchKernel"}
PICTURE = """
    main ops    [aten::mm                                                ]
    main calls   [go corr=1]            [go corr=2]           [go corr=3]
    gpu  kernel    [k corr=1]             [k corr=2]                                       [k corr=3]
    """


def traced(folder: Path, second_stream: int) -> Path:
    events = grid.events(PICTURE, NAMES)
    for event in events:
        if event["name"] == "k":
            event["tid"] = 7 if event["args"]["correlation"] < 3 else second_stream
    return grid.write(folder / "t.json", events)


def unseen(warnings: list[TraceWarning]) -> list[TraceWarning]:
    return [row for row in warnings if row.code == "unseen-queue"]


def test_a_second_stream_that_begins_late(tmp_path: Path) -> None:
    """Nothing in the file says what the queue held for 18 us."""
    path = traced(tmp_path, second_stream=8)
    data = build_report(load(path)).data
    idle = data.steps[0].idle
    assert idle is not None
    assert (idle.unknown, idle.device) == (18.0, 0.0)
    (row,) = unseen(data.trace.warnings)
    assert row.severity == "high"
    assert row.count == 1
    assert "18.0 us in all, 21.2% of the trace" in row.message


def test_the_same_delay_within_a_stream_is_the_devices(tmp_path: Path) -> None:
    data = build_report(load(traced(tmp_path, second_stream=7))).data
    idle = data.steps[0].idle
    assert idle is not None
    assert (idle.unknown, idle.device) == (0.0, 18.0)
    assert not unseen(data.trace.warnings)


@pytest.mark.parametrize(
    ("name", "idle_us"),
    [
        ("tracelens_mi300_sglang_decode", 463_246.865),
        ("tracelens_mi300_vllm_piecewise", 149_000.0),
        ("tracelens_h100_bert_small", None),
    ],
)
def test_real_traces(name: str, idle_us: float | None) -> None:
    data = analyze(shared_trace(name)).data
    rows = unseen(data.trace.warnings)
    assert len(rows) == (idle_us is not None)
    idle = data.steps[0].idle
    assert idle is not None
    if idle_us is not None:
        assert idle.unknown == pytest.approx(idle_us, rel=0.02)
        assert idle.device < 0.01 * idle.unknown
