"""Events in any order give the same report.

Only what the order decides by itself is left out: which of two names of a thread holds, the order
of rows that rank alike, and ids, which number what the file holds.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gallery
import pytest
import shared_traces

from tb_hookview.loading import analyze

QUICK = 200_000
"""Bytes of a file that is shuffled and analyzed in well under a second."""
NAMES = (
    "hta_a100_nccl_training",
    "hta_mi250_minitoy_training",
    "hta_a100_event_sync",
    "hta_cpu_only",
    "tracelens_h100_bert_small",
    "tracelens_mi300_compile_triton",
)


def unordered(path: Path) -> dict[str, Any]:
    """Return the report without its file; rows of equal rank may come in any order."""
    data: dict[str, Any] = without_ids(json.loads(analyze(path).to_json()))
    for table in ("kernels", "operators", "nodes", "threads", "streams", "devices", "modules"):
        data[table] = sorted(data[table], key=lambda row: json.dumps(row, sort_keys=True))
    data["trace"] = {
        key: value for key, value in data["trace"].items() if key not in ("path", "format")
    }
    return data


def without_ids(value: Any) -> Any:
    if isinstance(value, list):
        return [without_ids(each) for each in value]
    if not isinstance(value, dict):
        return value
    fields = {key: without_ids(each) for key, each in value.items()}
    return {key: fields[key] for key in fields if key != "id" and not key.endswith(("_id", "_ids"))}


def rewritten(path: Path, folder: Path, reorder: Callable[[list[Any]], None]) -> Path:
    """Write a trace with its events in another order; names of threads stay as they are."""
    text = path.read_bytes()
    trace = json.loads(gzip.decompress(text) if path.suffix == ".gz" else text)
    everything = trace if isinstance(trace, list) else trace["traceEvents"]
    names = [event for event in everything if event.get("ph") == "M"]
    events = [event for event in everything if event.get("ph") != "M"]
    reorder(events)
    moved = folder / "moved.pt.trace.json"
    both = [*events, *names]
    moved.write_text(
        json.dumps(both if isinstance(trace, list) else {**trace, "traceEvents": both})
    )
    return moved


ORDERS: dict[str, Callable[[list[Any]], None]] = {
    "reversed": lambda events: events.reverse(),
    "shuffled": lambda events: random.Random(7).shuffle(events),
    "by end": lambda events: events.sort(
        key=lambda event: float(event.get("ts", 0)) + float(event.get("dur", 0))
    ),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("order", ORDERS)
def test_the_report_does_not_depend_on_the_order(tmp_path: Path, name: str, order: str) -> None:
    path = shared_traces.shared_trace(name)
    moved = rewritten(path, tmp_path, ORDERS[order])
    assert unordered(moved) == unordered(path)


def _traces() -> list[Any]:
    return [
        pytest.param(
            path,
            id=gallery.label(path),
            marks=[pytest.mark.slow] if path.stat().st_size > QUICK else [],
        )
        for path in gallery.all_traces()
    ]


@pytest.mark.parametrize("path", _traces())
def test_every_real_trace_can_be_shuffled(tmp_path: Path, path: Path) -> None:
    """Rows of equal extent nest by their ids, and not as they stand in the file."""
    assert unordered(rewritten(path, tmp_path, ORDERS["shuffled"])) == unordered(path)


@pytest.mark.parametrize("name", ["hta_mi250_minitoy_training", "hta_a100_nccl_training"])
def test_of_two_windows_in_one_file_each_counts(tmp_path: Path, name: str) -> None:
    """All numbers begin again in the second one: correlations, sequence numbers, ids."""
    path = shared_traces.shared_trace(name)
    trace = json.loads(gzip.decompress(path.read_bytes()))
    later = [
        {**event, "ts": float(event["ts"]) + 60e6}
        for event in trace["traceEvents"]
        if event["ph"] == "X" and "ts" in event
    ]
    both = tmp_path / "both.pt.trace.json"
    both.write_text(json.dumps({**trace, "traceEvents": [*trace["traceEvents"], *later]}))
    once, twice = analyze(path).data.totals, analyze(both).data.totals
    assert once.backward_device_us
    assert twice.backward_device_us == pytest.approx(2 * once.backward_device_us, rel=1e-6)
    assert twice.forward_device_us == pytest.approx(2 * (once.forward_device_us or 0), rel=1e-6)
    assert twice.sync_count == 2 * once.sync_count
