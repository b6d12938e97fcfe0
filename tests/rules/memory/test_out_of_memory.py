"""`out-of-memory`."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from rules.diagnosed import diagnosed
from rules.memory.drawn_memory import MB, each_step, findings, steps
from support.allocator_rows import rows

from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.report.tables.memory import out_of_memory_rows


@pytest.mark.parametrize(("reserved", "remedy"), [(70, "expandable_segments"), (41, "smaller")])
def test_out_of_memory(tmp_path: Path, reserved: int, remedy: str) -> None:
    (failed,) = rows([(104, 1, 20 * MB)], before=20 * MB, reserved=reserved * MB)
    failed["name"] = "[OutOfMemory]"
    path = grid.write(tmp_path / "t.json", [*steps(3), failed])
    (found,) = diagnosed(path)["out-of-memory"]
    assert "1 allocation failed, the largest of 21.0 MB with 41.9 MB in use" in found.evidence
    assert (found.module, remedy in found.fix) == ("fc", True)
    (row,) = out_of_memory_rows(select(load(path), None))
    assert (row.device, row.module, row.requested_bytes) == ("cuda:0", "fc", 20 * MB)


def test_without_such_an_event_there_is_none(tmp_path: Path) -> None:
    assert "out-of-memory" not in findings(tmp_path, each_step((4, 99), (25, -99)))
