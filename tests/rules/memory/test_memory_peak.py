"""`memory-peak`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.memory.drawn_memory import Change, each_step, findings
from support.allocator_rows import CPU


def test_the_peak_names_modules_classes_and_what_checkpointing_frees(tmp_path: Path) -> None:
    changes = each_step((4, 40), (5, 15), (20, -15), (25, -40))
    (found,) = findings(tmp_path, changes)["memory-peak"]
    assert (found.module, found.severity) == ("fc", "info")
    assert "57.7 MB of 105 MB are in use at the peak: saved activations 57.7 MB" in found.evidence
    assert "fc (57.7 MB)" in found.evidence
    assert "Checkpoint" in found.fix


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        pytest.param(each_step((4, 40), (25, -40)), {}, id="less than half"),
        pytest.param(each_step((4, 60), (25, -60)), {"device": CPU}, id="of no known size"),
    ],
)
def test_a_peak_that_does_not_matter(
    tmp_path: Path, changes: list[Change], options: dict[str, Any]
) -> None:
    assert "memory-peak" not in findings(tmp_path, changes, **options)
