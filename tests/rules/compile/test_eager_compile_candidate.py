"""`eager-compile-candidate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.eager import ADD, findings, operators, row

RULE = "eager-compile-candidate"
ADDS = [("aten::add", ADD)] * 60


def step(number: int, calls: list[tuple[str, str]]) -> list[dict[str, Any]]:
    """A step of 1400 us."""
    start = 1000 + 1400 * number
    name = f"ProfilerStep#{number}"
    return [row("user_annotation", name, start, 1390), *operators(calls, start=start + 10)]


def test_short_kernels_in_equal_steps(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, *(step(number, ADDS) for number in range(3)))[RULE]
    assert (
        "tiny-kernels-launch-bound and pointwise-unfused hold; no syncs, the same kernels"
        in finding.evidence
    )
    assert (finding.severity, finding.gain_bound_us_per_step) == ("info", None)


def test_steps_that_differ(tmp_path: Path) -> None:
    some = (step(number, ADDS[number:]) for number in range(3))
    assert RULE not in findings(tmp_path, *some)


@pytest.mark.parametrize(("length", "fires"), [(120, True), (800, False)])
def test_a_model_of_which_a_part_is_compiled(tmp_path: Path, length: int, fires: bool) -> None:
    regions = [
        row("cpu_op", "Torch-Compiled Region: 0/0", 1001 + 1400 * number, length)
        for number in range(3)
    ]
    found = findings(tmp_path, *(step(number, ADDS) for number in range(3)), regions)
    assert (RULE in found) == fires
    if fires:
        assert found[RULE][0].evidence.startswith(
            "compiled code has 10% of device work; pointwise-unfused holds; no syncs"
        )


def test_a_model_that_is_replayed(tmp_path: Path) -> None:
    capture = [row("cuda_runtime", "cudaStreamBeginCapture", 900, 5)]
    some = (step(number, ADDS) for number in range(3))
    assert RULE not in findings(tmp_path, *some, capture)


def test_a_model_that_syncs(tmp_path: Path) -> None:
    waits = [
        row("cuda_runtime", "cudaStreamSynchronize", 1000 + 1400 * number + 1250 + 5 * i, 4)
        for number in range(3)
        for i in range(3)
    ]
    some = (step(number, ADDS) for number in range(3))
    assert RULE not in findings(tmp_path, *some, waits)


def test_neither_short_kernels_nor_chains(tmp_path: Path) -> None:
    some = (step(number, [("aten::mm", "gemm")] * 20) for number in range(3))
    assert RULE not in findings(tmp_path, *some)
