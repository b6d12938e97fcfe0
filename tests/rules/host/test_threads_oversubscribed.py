"""`threads-oversubscribed`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.cpu import findings, operator, step

RULE = "threads-oversubscribed"
ROWS = [step(4000), operator("aten::mm", 1001, 1900)]


def host(threads: Any, cores: float, processes: int = 1) -> dict[str, Any]:
    return {"threads": threads, "cores": cores, "processes": processes}


def test_more_threads_than_cores(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, ROWS, host=host(16, 2))[RULE]
    assert finding.severity == "info"
    assert finding.evidence.startswith("torch computes with 16 threads, and 2 cores are there")
    assert "torch.set_num_threads(2)" in finding.fix


def test_several_processes(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, ROWS, host=host(8, 16, 4))[RULE]
    assert "torch.set_num_threads(4)" in finding.fix


@pytest.mark.parametrize("entry", [host(2, 2), host("many", 2), {}, None, [3]])
def test_enough_cores_or_unknown(tmp_path: Path, entry: object) -> None:
    assert RULE not in findings(tmp_path, ROWS, host=entry)
