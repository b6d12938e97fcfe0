"""A larger batch is no remedy for kernels of the optimizer, which are as large as parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.eager import ADD, findings, operators, row

ADDS = [("aten::add", ADD)] * 60
DEVICE = [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 1000}]
ADVISING = {
    "tiny-kernels-launch-bound": operators(ADDS),
    "launch-queue-shallow": operators(ADDS[:12]),
    "gpu-low-utilization": operators(ADDS[:12]),
    "small-grid-low-occupancy": operators(ADDS[:12]),
}
"""Rules that advise it, and what makes them hold."""
for each in ADVISING["small-grid-low-occupancy"]:
    if each["cat"] == "kernel":
        each["args"]["blocks per SM"] = 0.1


def optimizer(length: float) -> list[dict[str, Any]]:
    """A step of an optimizer for some time from the first operator on."""
    return [row("user_annotation", "Optimizer.step#Mine.step", 999, length)]


@pytest.mark.parametrize("rule", ADVISING)
def test_what_the_optimizer_launches(rule: str, tmp_path: Path) -> None:
    (usual,) = findings(tmp_path, ADVISING[rule])[rule]
    (finding,) = findings(tmp_path, ADVISING[rule], optimizer(2000))[rule]
    assert "batch" in usual.fix
    assert "a larger batch neither makes them larger nor fewer" in finding.fix
    assert "foreach=True" in finding.fix


@pytest.mark.parametrize("rule", ADVISING)
def test_half_of_it_is_the_models(rule: str, tmp_path: Path) -> None:
    length = len([each for each in ADVISING[rule] if each["cat"] == "kernel"]) * 10
    (usual,) = findings(tmp_path, ADVISING[rule])[rule]
    assert findings(tmp_path, ADVISING[rule], optimizer(length))[rule][0].fix == usual.fix


def test_the_model_is_not_in_the_trace(tmp_path: Path) -> None:
    """Free memory after its forward and backward says nothing, and there is nothing to compile."""
    args = {"Device Type": 1, "Device Id": 0, "Bytes": 8, "Total Allocated": 50}
    args["Total Reserved"] = 100
    place = {"pid": 77, "tid": "main", "ts": 1005, "s": "t"}
    memory = {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", **place, "args": args}
    rules = {"memory-near-limit-or-idle", "eager-compile-candidate"}
    rows = (operators(ADDS), [memory])
    assert rules <= findings(tmp_path, *rows, deviceProperties=DEVICE).rules
    found = findings(tmp_path, *rows, optimizer(2000), deviceProperties=DEVICE).rules
    assert not rules & found
