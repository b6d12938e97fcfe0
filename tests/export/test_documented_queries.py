"""The queries of export.md, run by SQLite, which Perfetto's queries are a dialect of."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from gallery import GPU

from tb_hookview.loading import load
from tb_hookview.report.build import build_report

if TYPE_CHECKING:
    from conftest import Export, PerfettoFile

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "export.md"


def database(file: PerfettoFile) -> sqlite3.Connection:
    """The columns of Perfetto's table of slices that the queries use."""
    connection = sqlite3.connect(":memory:")
    found = [shown.arguments for shown in file.slices]
    connection.create_function(
        "EXTRACT_ARG", 2, lambda number, name: found[number].get(name.removeprefix("debug."))
    )
    connection.execute("CREATE TABLE slice (name, category, ts, dur, track_id, arg_set_id)")
    connection.executemany(
        "INSERT INTO slice VALUES (?, ?, ?, ?, ?, ?)",
        [
            (s.name, s.category, s.start, s.end - s.start, s.track, number)
            for number, s in enumerate(file.slices)
        ],
    )
    return connection


def test_they_say_what_the_report_says(perfetto: Export) -> None:
    by_module, by_cause = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    path = GPU / "check_attribution" / "main.pt.trace.json.gz"
    data = build_report(load(path)).data
    with database(perfetto(path)) as connection:
        modules: dict[Any, float] = dict(connection.execute(by_module).fetchall())
        idle = connection.execute(by_cause).fetchall()
    assert modules.pop(None, 0.0) == pytest.approx(data.coverage.unattributed_us)
    expected = {m.path: m.backward.self_device_us for m in data.modules}
    assert modules == pytest.approx({path: us for path, us in expected.items() if us})
    assert data.coverage.unattributed_us
    assert sum(us for _, _, us in idle) == pytest.approx(sum(s.device_idle_us for s in data.steps))
