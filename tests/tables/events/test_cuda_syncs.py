"""The table `cuda_syncs`: arguments of the rows, and the calls they are about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import shared_traces

from tb_hookview.loading import analyze

NAMES = {"wait": "cudaEventSynchronize", "record": "cudaEventRecord", "step": "ProfilerStep#3"}
PICTURE = """
    main notes                            [step            ]
    main calls  [record corr=5]  [wait corr=6  ]  [wait corr=7]
    """


def row(kind: str, start: int, **args: Any) -> dict[str, Any]:
    place = {"ph": "X", "cat": "cuda_sync", "pid": 0, "tid": 7, "ts": 1000 + start, "dur": 4}
    return {**place, "name": kind, "args": {"cuda_sync_kind": kind, **args}}


def table(folder: Path, *rows: dict[str, Any], step: str | None = None) -> dict[str, list[Any]]:
    path = grid.write(folder / "t.json", [*grid.events(PICTURE, NAMES), *rows])
    return analyze(path, steps=[step] if step else None).tables()["cuda_syncs"].to_columns()


def test_a_row_leads_to_its_call_its_sync_and_the_recording_of_its_event(tmp_path: Path) -> None:
    waited = {"correlation": 6, "wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": 5}
    found = table(
        tmp_path,
        row("Event Sync", 20, **waited, wait_on_cuda_event_id=8, stream=-1, device=0),
        row("Context Sync", 50, correlation=99, stream=0xFFFFFFFF),
    )
    assert {name: column[0] for name, column in found.items()} == {
        "id": 4,
        "cuda_sync_kind": "Event Sync",
        "start_us": 1020.0,
        "duration_us": 4.0,
        "device_id": "0",
        "stream": None,
        "correlation": 6,
        "call": "cudaEventSynchronize",
        "call_id": 2,
        "sync_id": 0,
        "wait_on_stream": 20,
        "wait_on_cuda_event_id": 8,
        "wait_on_cuda_event_record_corr_id": 5,
        "record_id": 1,
        "step": None,
        "step_id": None,
    }
    unknown = {name: column[1] for name, column in found.items() if column[1] is not None}
    assert unknown == {
        "id": 5,
        "cuda_sync_kind": "Context Sync",
        "start_us": 1050.0,
        "duration_us": 4.0,
        "correlation": 99,
        "step": "ProfilerStep#3",
        "step_id": 0,
    }


def test_rows_are_those_of_the_selected_step(tmp_path: Path) -> None:
    rows = [row("Stream Sync", start, correlation=6) for start in (10, 50)]
    assert table(tmp_path, *rows, step="ProfilerStep#3")["id"] == [5]


def test_a_trace_without_such_rows_has_none(tmp_path: Path) -> None:
    assert table(tmp_path)["id"] == []


def test_a_real_trace_by_its_events() -> None:
    path = shared_traces.shared_trace("hta_a100_alexnet_sync_events")
    tables = analyze(path).tables()
    found = tables["cuda_syncs"].to_columns()
    kinds = found["cuda_sync_kind"]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        "Stream Wait Event": 20,
        "Stream Sync": 16,
        "Context Sync": 5,
    }
    pairs = set(zip(kinds, found["call"], strict=True))
    assert pairs == {
        ("Stream Wait Event", "cudaStreamWaitEvent"),
        ("Stream Sync", "cudaStreamSynchronize"),
        ("Context Sync", "cudaDeviceSynchronize"),
    }
    names = dict(zip(*map(tables["events"].to_columns().get, ("id", "name")), strict=True))
    recorded = {names[record] for record in found["record_id"] if record is not None}
    assert recorded == {"cudaEventRecord"}
    waits = [kind == "Stream Wait Event" for kind in kinds]
    assert [sync is None for sync in found["sync_id"]] == waits
