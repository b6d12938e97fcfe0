"""`dataparallel-used`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.eager import findings, operators, row

RULE = "dataparallel-used"
FORWARD = row("user_annotation", "DataParallel.forward", 990, 200)
BROADCAST = row("cpu_op", "Broadcast", 995, 40)
COPY = operators([("aten::copy_", "Memcpy PtoP (Device -> Device)")])
FIRST = operators([("aten::mm", "gemm")], start=1060)
SECOND = operators([("aten::mm", "gemm")], start=1100, device=1)


def test_one_process_on_two_devices(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, COPY, FIRST, SECOND, [FORWARD, BROADCAST])[RULE]
    assert finding.cost_us_per_step == pytest.approx(4)
    assert "2 devices" in finding.evidence


def test_severity_is_by_the_mean_of_the_devices(tmp_path: Path) -> None:
    """12 us of two devices, each of which has the 200 us: 3%."""
    copies = operators([("aten::copy_", "Memcpy PtoP (Device -> Device)")] * 3)
    broadcast = {**BROADCAST, "dur": 64}
    (finding,) = findings(tmp_path, copies, FIRST, SECOND, [FORWARD, broadcast])[RULE]
    assert finding.cost_us_per_step == pytest.approx(12)
    assert finding.severity == "medium"


def test_without_its_mark(tmp_path: Path) -> None:
    """Older torch marks nothing; then its functions show it."""
    functions = [BROADCAST, row("cpu_op", "Scatter", 1040, 10)]
    assert RULE in findings(tmp_path, COPY, FIRST, SECOND, functions)


def test_one_device(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, COPY, FIRST, [FORWARD, BROADCAST])


def test_the_distributed_one(tmp_path: Path) -> None:
    forward = {**FORWARD, "name": "DistributedDataParallel.forward"}
    assert RULE not in findings(tmp_path, COPY, FIRST, SECOND, [forward, BROADCAST])
