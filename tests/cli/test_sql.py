"""`hookview sql`."""

from __future__ import annotations

import json
from pathlib import Path

import grid
import pytest
from support.command import call
from support.here import ranks_read_here

__all__ = ["ranks_read_here"]
pytest.importorskip("duckdb")
PICTURE = """
main     notes   [ProfilerStep#1                                           ]
main     ops      [mm seq=1 ]
main     calls      [launch corr=7]
gpu      kernel                     [k corr=7]
"""


def trace(path: Path) -> str:
    return str(grid.write(path, grid.events(PICTURE)))


def test_rows_for_people_and_for_programs(tmp_path: Path) -> None:
    path, query = trace(tmp_path / "t.json"), "select name, duration_us from device_events"
    assert "k" in call("sql", path, query).stdout
    assert "1 row" in call("sql", path, query).stdout
    (row,) = json.loads(call("sql", path, query, "--format", "json").stdout)
    assert row["name"] == "k"
    lines = call("sql", path, query, "--format", "csv").stdout.splitlines()
    assert lines[0] == '"name","duration_us"'


@pytest.mark.usefixtures("ranks_read_here")
def test_a_run_names_the_worker_of_each_row(tmp_path: Path) -> None:
    for worker in ("gpu0", "gpu1"):
        trace(tmp_path / f"{worker}.1.pt.trace.json")
    query = "select worker, count(*) n from device_events group by 1 order by 1"
    rows = json.loads(call("sql", str(tmp_path), query, "--format", "json").stdout)
    assert rows == [{"worker": "gpu0", "n": 1}, {"worker": "gpu1", "n": 1}]
    of_one = ["sql", str(tmp_path), "select count(*) n from device_events", "--format", "json"]
    assert json.loads(call(*of_one, "--worker", "gpu1").stdout) == [{"n": 1}]
    ranks = call("sql", str(tmp_path), "select count(*) n from ranks", "--format", "json")
    assert json.loads(ranks.stdout) == [{"n": 2}]


def test_a_mistake_is_one_line(tmp_path: Path) -> None:
    answer = call("sql", trace(tmp_path / "t.json"), "selec 1")
    assert answer.returncode == 2
    assert answer.stderr.splitlines() == [
        "hookview: sql: syntax error at or near \"selec\" (line 1, at 'selec')"
    ]
