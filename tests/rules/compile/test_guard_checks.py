"""`guard-checks`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.eager import findings, operators, row

RULE = "guard-checks"


def step(number: int, kernel: float) -> list[dict[str, Any]]:
    """A step of 1000 us with a kernel at either end."""
    start = 1000 + 1000 * number
    ends = [
        row
        for at in (start + 10, start + 900)
        for row in operators([("aten::mm", "gemm")], start=at, kernel=kernel)
    ]
    return [row("user_annotation", f"ProfilerStep#{number}", start, 990), *ends]


@pytest.mark.parametrize(
    ("length", "kernel", "cost"),
    [
        pytest.param(300, 4, 0, id="the host, which has other things to do as well"),
        pytest.param(300, 885, 0, id="with a busy device"),
        pytest.param(880, 4, 889, id="all that the device waits for"),
        pytest.param(30, 4, None, id="less than a twentieth"),
    ],
)
def test_guards(tmp_path: Path, length: float, kernel: float, cost: float | None) -> None:
    lookup = [row("cpu_op", "TorchDynamo Cache Lookup", 2020, length)]
    found = findings(tmp_path, step(0, kernel), step(1, kernel), lookup)
    assert (RULE in found) == (cost is not None)
    if cost is not None:
        assert found[RULE][0].cost_us_per_step == pytest.approx(cost, abs=15)
        assert "1 time a step the guards of compiled code are tested" in found[RULE][0].evidence
        assert "nothing is compiled for that" in found[RULE][0].evidence


def test_a_trace_without_a_device(tmp_path: Path) -> None:
    rows = [
        row("cpu_op", "aten::mm", 1000, 100),
        row("cpu_op", "TorchDynamo Cache Lookup", 1100, 99),
    ]
    (finding,) = findings(tmp_path, rows)[RULE]
    assert "the devices had work" not in finding.evidence
    assert finding.severity == "info"
