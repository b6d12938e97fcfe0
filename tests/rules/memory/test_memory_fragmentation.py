"""`memory-fragmentation`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.memory.drawn_memory import MB, each_step, findings
from support.allocator_rows import CPU


@pytest.mark.parametrize(("reserved", "fires"), [(60, True), (49, False), (90, True)])
def test_reserved_bytes_that_are_not_in_use(tmp_path: Path, reserved: int, fires: bool) -> None:
    changes = each_step((4, 45), (25, -45))
    found = findings(tmp_path, changes, reserved=reserved * MB)
    assert ("memory-fragmentation" in found) == fires
    if fires:
        assert "expandable_segments" in found["memory-fragmentation"][0].fix


def test_the_host_holds_nothing_back(tmp_path: Path) -> None:
    assert "memory-fragmentation" not in findings(
        tmp_path, each_step((4, 45), (25, -45)), device=CPU
    )
