"""`cuda_sync` rows keep their arguments, in Kineto's spellings of all years."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import shared_traces

from tb_hookview.trace import read_trace
from tb_hookview.trace.columns.trace import CudaSyncs

KEYS = {
    "stream": "stream",
    "wait_on_stream": "wait_on_stream",
    "record_correlation": "wait_on_cuda_event_record_corr_id",
    "cuda_event": "wait_on_cuda_event_id",
    "correlation": "correlation",
    "device": "device",
}


def table(folder: Path, *arguments: dict[str, Any]) -> CudaSyncs:
    place = {"ph": "X", "cat": "cuda_sync", "pid": 0, "tid": 7, "ts": 1, "dur": 1}
    events: list[Any] = [{**place, "cat": "kernel", "name": "k"}]
    events += [{**place, "name": "Stream Sync", "args": found} for found in arguments]
    path = folder / "t.json"
    path.write_text(json.dumps({"traceEvents": events}))
    return read_trace(path).cuda_syncs


def test_arguments_become_columns_and_absent_ones_are_unknown(tmp_path: Path) -> None:
    whole = {"cuda_sync_kind": "Event Sync"} | {key: n for n, key in enumerate(KEYS.values(), 5)}
    found = table(tmp_path, whole, {}, {"cuda_sync_kind": 4, "stream": "seven"})
    assert found.event.tolist() == [1, 2, 3]
    assert found.kind == ("Event Sync", "", "")
    for number, column in enumerate(KEYS, 5):
        assert getattr(found, column).tolist() == [number, -1, -1], column


def test_the_number_for_no_stream_is_none(tmp_path: Path) -> None:
    found = table(tmp_path, {"stream": 0xFFFFFFFF, "wait_on_stream": 0xFFFFFFFF})
    assert (found.stream.tolist(), found.wait_on_stream.tolist()) == ([-1], [-1])


@pytest.mark.parametrize(
    "name",
    [
        "hta_a100_alexnet_sync_events",
        "hta_a100_event_sync.",
        "hta_a100_event_sync_multi_stream",
        "hta_a100_overlaid_critical_path",
    ],
)
def test_rows_of_real_traces_have_what_the_file_says(name: str) -> None:
    path = shared_traces.shared_trace(name)
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    rows = [event for event in events if event.get("ph") == "X"]
    syncs = [(n, row["args"]) for n, row in enumerate(rows) if row.get("cat") == "cuda_sync"]
    found = read_trace(path).cuda_syncs
    assert found.event.tolist() == [number for number, _ in syncs]
    assert list(found.kind) == [args["cuda_sync_kind"] for _, args in syncs]
    for column, key in KEYS.items():
        expected = [args.get(key, -1) for _, args in syncs]
        expected = [-1 if value == 0xFFFFFFFF else value for value in expected]
        assert getattr(found, column).tolist() == expected, column
