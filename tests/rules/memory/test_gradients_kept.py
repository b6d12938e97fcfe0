"""`gradients-kept`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.memory.drawn_memory import MB, STEP, each_step, findings
from support.allocator_rows import CPU, CUDA


def test_gradients_freed_after_the_next_forward(tmp_path: Path) -> None:
    changes = sorted(
        [
            *each_step((4, 40), (25, -40)),
            *[(n * STEP + 17, 7, 30 * MB) for n in range(4)],
            *[(n * STEP + 14, 7, -30 * MB) for n in range(1, 4)],
        ]
    )
    (found,) = findings(tmp_path, changes)["gradients-kept"]
    assert "31.5 MB of gradients" in found.evidence
    assert "right after optimizer.step()" in found.fix


@pytest.mark.parametrize(("size", "fires"), [(50, False), (20, True)])
def test_gradients_freed_before_a_later_peak(tmp_path: Path, size: int, fires: bool) -> None:
    """40 MB are freed as the forward ends; the backward's peak has 10 MB of new ones."""
    changes = sorted(
        [
            *each_step((4, 40), (25, -40), (16, size), (16.5, -size)),
            *[(n * STEP + at, mb, mb * MB) for n in range(4) for at, mb in ((15.5, 10), (17, 30))],
            *[(n * STEP + 14, mb, -mb * MB) for n in range(1, 4) for mb in (10, 30)],
        ]
    )
    assert ("gradients-kept" in findings(tmp_path, changes)) is fires


def test_gradients_never_freed(tmp_path: Path) -> None:
    changes = sorted([*each_step((4, 40), (25, -40)), (17, 7, 30 * MB)])
    assert "set_to_none=True" in findings(tmp_path, changes)["gradients-kept"][0].fix


@pytest.mark.parametrize(("device", "on_cpu"), [(CPU, True), (CUDA, False)])
def test_the_peak_says_what_is_left_out_of_it(
    tmp_path: Path, device: tuple[int, int], on_cpu: bool
) -> None:
    changes = sorted([*each_step((4, 40), (25, -40)), (17, 7, 30 * MB)])
    found = findings(tmp_path, changes, device=device, before=MB)["gradients-kept"][0]
    peak = "73.4 MB without what was there before the recording;" if on_cpu else "74.4 MB;"
    assert f"the peak is {peak}" in found.evidence


def test_gradients_freed_after_the_step(tmp_path: Path) -> None:
    assert "gradients-kept" not in findings(tmp_path, each_step((17, 30), (45, -30)))


def test_a_forward_before_the_first_allocation_has_no_gradients(tmp_path: Path) -> None:
    changes = [(2 * STEP + 17, 7, 30 * MB), (2 * STEP + 18, 8, MB), (3 * STEP + 45, 7, -30 * MB)]
    assert "gradients-kept" not in findings(tmp_path, changes)


def test_a_device_without_memory_events_before_the_forward(tmp_path: Path) -> None:
    changes = each_step((4, 40), (25, -40), (17, 30), (45, -30))[4 * 3 :]
    found = findings(tmp_path, sorted(changes))
    assert "gradients-kept" not in found
    assert "memory-peak" in found


@pytest.mark.parametrize(
    ("at", "phrase"), [(16, "the peak is higher by them"), (33, "which needs them")]
)
def test_what_they_do_to_the_peak(tmp_path: Path, at: int, phrase: str) -> None:
    """It lies in the backward, or in the optimizer."""
    kept = [*each_step((4, 40), (25, -40)), (17, 7, 30 * MB), *each_step((at, 90), (at + 1, -90))]
    (found,) = findings(tmp_path, sorted(kept))["gradients-kept"]
    assert phrase in found.evidence
