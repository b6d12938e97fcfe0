"""`tiny-kernels-launch-bound`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.eager import ADD, findings, operators

RULE = "tiny-kernels-launch-bound"
ADDS = [("aten::add", ADD)] * 60


def test_kernels_that_end_before_the_next_launch(tmp_path: Path) -> None:
    finding = findings(tmp_path, operators(ADDS))[RULE]
    assert finding.cost_us_per_step == pytest.approx(59 * 16 + 7)
    assert finding.count == 60
    assert finding.advice == []


def test_kernels_that_are_not_short(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, operators(ADDS, kernel=12))


def test_kernels_that_wait_in_the_queue(tmp_path: Path) -> None:
    """The host is fast, and the device goes from one to the next."""
    some = operators(ADDS, period=4.5, kernel=4.5, delay=40)
    assert RULE not in findings(tmp_path, some)


def test_few_kernels(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, operators(ADDS[:40]))


def test_long_pauses_of_the_host(tmp_path: Path) -> None:
    """What takes the host longer than a launch has other reasons."""
    assert RULE not in findings(tmp_path, operators(ADDS, period=300))
