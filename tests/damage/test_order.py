"""Events in any order give the same report.

Only what the order decides by itself is left out: which of two names of a thread holds, which of
two rows of one extent is around the other, which of many alike is the example, and ids, which
number what the file holds.
"""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
import shared_traces

from tb_hookview.loading import analyze

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
    for finding in data["findings"]:
        del finding["examples"]
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


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("order", ["reversed", "shuffled", "by end"])
def test_the_report_does_not_depend_on_the_order(tmp_path: Path, name: str, order: str) -> None:
    path = shared_traces.shared_trace(name)
    trace = json.loads(gzip.decompress(path.read_bytes()))
    names = [event for event in trace["traceEvents"] if event["ph"] == "M"]
    events = [event for event in trace["traceEvents"] if event["ph"] != "M"]
    if order == "reversed":
        events.reverse()
    elif order == "shuffled":
        random.Random(7).shuffle(events)
    else:
        events.sort(key=lambda event: float(event.get("ts", 0)) + float(event.get("dur", 0)))
    moved = tmp_path / "moved.pt.trace.json"
    moved.write_text(json.dumps({**trace, "traceEvents": [*events, *names]}))
    assert unordered(moved) == unordered(path)


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
