"""`loader-single-process`."""

from __future__ import annotations

from pathlib import Path

from rules.data.test_loader_wait import NAMES, STEP
from rules.drawn import findings


def test_batches_made_between_the_steps(tmp_path: Path) -> None:
    found = findings(tmp_path, STEP.format(loader="single", before="k"), NAMES)
    (finding,) = found["loader-single-process"]
    assert finding.where == NAMES["single"]
    assert finding.cost_us_per_step
    assert finding.cost_us_per_step > 20
    assert "host-copy-torch-tensor" in {advice.id for advice in finding.advice}


def test_a_loader_with_workers(tmp_path: Path) -> None:
    found = findings(tmp_path, STEP.format(loader="next", before="k"), NAMES)
    assert "loader-single-process" not in found


def test_the_device_is_busy_meanwhile(tmp_path: Path) -> None:
    busy = STEP.format(loader="single", before="k" + " " * 46)
    assert "loader-single-process" not in findings(tmp_path, busy, NAMES)
