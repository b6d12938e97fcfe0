"""`memory-growth`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.memory.drawn_memory import MB, STEP, Change, each_step, findings
from support.allocator_rows import CPU, CUDA


@pytest.mark.parametrize(("device", "name"), [(CUDA, "cuda:0"), (CPU, "cpu")])
def test_growth_from_step_to_step(tmp_path: Path, device: tuple[int, int], name: str) -> None:
    kept = [(number * STEP + 5, number, MB) for number in range(4)]
    changes = sorted([*each_step((4, 40), (25, -40)), *kept])
    (found,) = findings(tmp_path, changes, device=device)["memory-growth"]
    assert "grows in each of 3 steps, by 1.05 MB per step" in found.evidence
    assert found.module == "fc"
    assert f"device {name}" in found.where or found.where == "fc"


def test_growth_outside_of_all_modules(tmp_path: Path) -> None:
    kept = [(number * STEP + 40, number, MB) for number in range(4)]
    (found,) = findings(tmp_path, sorted([*each_step((4, 40), (25, -40)), *kept]))["memory-growth"]
    assert "; by module: not in a module (2.10 MB)" in found.evidence


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(each_step((4, 40), (25, -40)), id="level"),
        pytest.param(sorted([*each_step((4, 40), (25, -40)), (5, 1, MB)]), id="once"),
        pytest.param([(n * STEP + 5, n, 8) for n in range(4)], id="a few bytes"),
    ],
)
def test_what_is_no_growth(tmp_path: Path, changes: list[Change]) -> None:
    assert "memory-growth" not in findings(tmp_path, changes)
