"""`memory-near-limit-or-idle`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.eager import ADD, findings, operators, row

RULE = "memory-near-limit-or-idle"
GEMM = [("aten::mm", "gemm")]
DEVICE = [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 1000}]


def memory(reserved: int, kind: int = 1) -> list[dict[str, Any]]:
    """One allocation after which this share is reserved."""
    args = {"Device Type": kind, "Device Id": 0, "Bytes": 8, "Total Allocated": reserved // 2}
    args["Total Reserved"] = reserved
    place = {"pid": 77, "tid": "main", "ts": 1005, "s": "t"}
    return [{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", **place, "args": args}]


def busy(share: float) -> list[dict[str, Any]]:
    """A device that is busy for such a part of the time."""
    return operators([("aten::add", ADD)] * 12, period=100, kernel=100 * share, delay=8)


def test_memory_that_is_nearly_full(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, busy(0.9), memory(901), deviceProperties=DEVICE)[RULE]
    assert finding.severity == "info"
    assert "90.1% of" in finding.evidence
    assert "retried" in finding.evidence


def test_memory_that_is_free_on_an_idle_device(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, busy(0.1), memory(499), deviceProperties=DEVICE)[RULE]
    assert "larger batch" in finding.evidence


@pytest.mark.parametrize(
    ("share", "told", "devices"),
    [
        pytest.param(0.9, memory(900), DEVICE, id="room"),
        pytest.param(0.9, memory(100), DEVICE, id="free on a busy device"),
        pytest.param(0.1, memory(500), DEVICE, id="half on an idle device"),
        pytest.param(0.9, memory(950, kind=0), DEVICE, id="of the host"),
        pytest.param(0.9, memory(950), [], id="a device of no known size"),
        pytest.param(0.1, [], DEVICE, id="not recorded"),
    ],
)
def test_what_is_none(tmp_path: Path, share: float, told: list[Any], devices: list[Any]) -> None:
    assert RULE not in findings(tmp_path, busy(share), told, deviceProperties=devices)


def on_agent(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same on a device that ROCm numbers 2: two CPUs come first."""
    for each in rows:
        if each["cat"] == "kernel":
            each["args"]["device"] = each["pid"] = 2
    return rows


def test_the_device_has_the_number_of_the_trace(tmp_path: Path) -> None:
    found = findings(tmp_path, on_agent(busy(0.1)), memory(499), deviceProperties=DEVICE)
    assert found[RULE][0].where == "device 2"


def test_which_of_two_devices_is_meant_is_unknown(tmp_path: Path) -> None:
    both = [*memory(950), *memory(950)]
    both[1]["args"]["Device Id"] = 1
    devices = [{**DEVICE[0], "id": number} for number in (0, 1)]
    found = findings(tmp_path, on_agent(busy(0.9)), both, deviceProperties=devices)
    assert [each.where for each in found[RULE]] == ["device 0 of torch", "device 1 of torch"]


def test_a_larger_batch_fills_no_time_of_a_loader(tmp_path: Path) -> None:
    """Most of the time is the loader's; the rest is as busy as it can be."""
    first, second = operators(GEMM * 12, kernel=18), operators(GEMM * 12, start=2000, kernel=18)
    name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    loader = [row("user_annotation", name, 1250, 740)]
    found = findings(tmp_path, first, loader, second, memory(10), deviceProperties=DEVICE)
    assert RULE not in found


def test_a_server_that_fills_the_memory_on_purpose(tmp_path: Path) -> None:
    """There is no backward."""
    (finding,) = findings(tmp_path, busy(0.9), memory(950), deviceProperties=DEVICE)[RULE]
    assert "checkpointing" not in finding.fix
