"""Ids of rows; that they are unique and that references lead to rows is among the invariants."""

from __future__ import annotations

from pathlib import Path

import grid
import numpy as np

from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.report.tables.devices import stream_rows
from tb_hookview.tables.events.names import stream_ids


def test_streams_of_a_thread_with_several_devices_differ(tmp_path: Path) -> None:
    events = grid.events("gpu kernel [a ] [b ]")
    for device, event in enumerate(e for e in events if e.get("cat") == "kernel"):
        event["args"] = {**event.get("args", {}), "device": device}
    analysis = load(grid.write(tmp_path / "t.json", events))
    ids = stream_ids(analysis)
    assert len(np.unique(ids)) == 2
    rows = stream_rows(select(analysis, None))
    assert [(row.device, row.id) for row in rows] == [("0", ids[0]), ("1", ids[1])]
