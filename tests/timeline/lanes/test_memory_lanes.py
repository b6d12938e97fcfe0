"""Lanes of memory, against the rows of the file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import grid
import pytest
from shared_traces import shared_trace

from tb_hookview.loading import load
from tb_hookview.timeline import Timeline

CPU, CUDA = 0, 1
HOST = grid.events("main ops [a                                          ]")


def memory(ts: int, kind: int, index: int, allocated: int, reserved: int) -> dict[str, Any]:
    args = {"Device Type": kind, "Device Id": index, "Bytes": 4, "Addr": ts}
    totals = {"Total Allocated": allocated, "Total Reserved": reserved}
    place = {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 77}
    return {**place, "tid": 1, "ts": ts, "args": {**args, **totals}}


def curves(timeline: Timeline) -> dict[tuple[str, str], tuple[list[int], list[int]]]:
    """Moments and values of every lane of memory, by title and subtitle."""
    found = {}
    for number in timeline.lanes_of("memory"):
        entry, (first, last) = timeline.entries[number], timeline.analysis.bounds
        time, value = timeline.curve(number).within(first, last + 1, 1)
        found[entry.title, entry.subtitle] = (time.tolist(), value.tolist())
    return found


def test_each_device_has_what_is_allocated_and_what_is_reserved(tmp_path: Path) -> None:
    rows = [
        memory(1010, CUDA, 0, 100, 400),
        memory(1010, CUDA, 0, 150, 400),
        memory(1020, CPU, -1, 7, 0),
        memory(1030, CUDA, 0, 50, 500),
    ]
    path = tmp_path / "t.json"
    found = curves(Timeline(load(grid.write(path, [*HOST, *rows]))))
    us = 1000
    assert found == {
        ("memory allocated", "bytes, cpu"): ([1020 * us], [7]),
        ("memory allocated", "bytes, cuda:0"): ([1010 * us, 1030 * us], [150, 50]),
        ("memory reserved", "bytes, cuda:0"): ([1010 * us, 1030 * us], [400, 500]),
    }


def test_without_its_totals_or_without_memory_there_is_no_lane(tmp_path: Path) -> None:
    row = memory(1010, CUDA, 0, 1, 1)
    del row["args"]["Total Allocated"], row["args"]["Total Reserved"]
    for more in ([], [row]):
        path = grid.write(tmp_path / "t.json", [*HOST, *more])
        assert not curves(Timeline(load(path)))


@pytest.mark.parametrize("name", ["tracelens_h100_bert_small", "tracelens_h100_qwen"])
def test_curves_of_recorded_traces_are_the_rows_of_the_file(name: str) -> None:
    path = shared_trace(name)
    rows = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    totals: dict[str, dict[int, int]] = {}
    for row in sorted(
        (r for r in rows if r.get("name") == "[memory]"), key=lambda r: round(r["ts"] * 1000)
    ):
        args = row["args"]
        device = "cpu" if args["Device Type"] == CPU else f"cuda:{args['Device Id']}"
        totals.setdefault(device, {})[round(row["ts"] * 1000)] = args["Total Allocated"]
    found = curves(Timeline(load(path)))
    assert totals
    assert {key[1]: value for key, value in found.items() if key[0] == "memory allocated"} == {
        f"bytes, {device}": (list(values), list(values.values()))
        for device, values in totals.items()
    }
