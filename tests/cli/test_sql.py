"""`hookview sql`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import grid
import pytest

if TYPE_CHECKING:
    from conftest import Hookview

pytest.importorskip("duckdb")
PICTURE = """
main     notes   [ProfilerStep#1                                           ]
main     ops      [mm seq=1 ]
main     calls      [launch corr=7]
gpu      kernel                     [k corr=7]
"""


def trace(path: Path) -> str:
    return str(grid.write(path, grid.events(PICTURE)))


def test_rows_for_people_and_for_programs(hookview: Hookview, tmp_path: Path) -> None:
    path, query = trace(tmp_path / "t.json"), "select name, duration_us from device_events"
    assert "k" in hookview("sql", path, query).stdout
    assert "1 row" in hookview("sql", path, query).stdout
    (row,) = json.loads(hookview("sql", path, query, "--format", "json").stdout)
    assert row["name"] == "k"
    lines = hookview("sql", path, query, "--format", "csv").stdout.splitlines()
    assert lines[0] == '"name","duration_us"'


def test_a_run_names_the_worker_of_each_row(hookview: Hookview, tmp_path: Path) -> None:
    for worker in ("gpu0", "gpu1"):
        trace(tmp_path / f"{worker}.1.pt.trace.json")
    query = "select worker, count(*) n from device_events group by 1 order by 1"
    rows = json.loads(hookview("sql", str(tmp_path), query, "--format", "json").stdout)
    assert rows == [{"worker": "gpu0", "n": 1}, {"worker": "gpu1", "n": 1}]
    of_one = ["sql", str(tmp_path), "select count(*) n from device_events", "--format", "json"]
    assert json.loads(hookview(*of_one, "--worker", "gpu1").stdout) == [{"n": 1}]
    ranks = hookview("sql", str(tmp_path), "select count(*) n from ranks", "--format", "json")
    assert json.loads(ranks.stdout) == [{"n": 2}]


def test_a_mistake_is_one_line(hookview: Hookview, tmp_path: Path) -> None:
    answer = hookview("sql", trace(tmp_path / "t.json"), "selec 1")
    assert answer.returncode == 2
    assert answer.stderr.splitlines() == [
        "hookview: sql: syntax error at or near \"selec\" (line 1, at 'selec')"
    ]
