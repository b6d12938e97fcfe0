"""Traces by the functions of torch 2.15's second exporter, from records made by hand.

The records are what that exporter decodes from CUPTI: named columns per kind of activity. A device
is not needed to write them out.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BASE_NS = 1_700_000_000_000_000_000
"""What the times of records are counted from."""
PROCESS, THREAD = 4321, 4322
LAUNCH, COPY, SET, STREAM_SYNC, GRAPH_LAUNCH, WAIT_EVENT, RECORD = (211, 41, 51, 131, 311, 147, 135)
"""CUPTI's numbers of runtime calls (`CUpti_runtime_api_trace_cbid`)."""

Record = dict[str, Any]
_ELSE = {"logical_lane": "stream_id"}
"""Fields that stand for an absent one."""
_DEVICE = {"device_id": 0, "context_id": 1, "stream_id": 7, "correlation_id": 0}
_GRAPH = {"graph_id": 0, "graph_node_id": 0, "annotation": None}
_CHANNEL = {"channel": 0, "channel_type": 0}
_DEFAULTS: dict[str, Record] = {
    "kernel": {
        **_DEVICE,
        **_GRAPH,
        **_CHANNEL,
        **dict.fromkeys(("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z"), 1),
        "registers_per_thread": 32,
        "static_shared_memory": 0,
        "dynamic_shared_memory": 0,
        "priority": 0,
        "queued": 0,
    },
    "gpu_memcpy": {**_DEVICE, **_GRAPH, **_CHANNEL, "bytes": 4096, "flags": 0},
    "gpu_memset": {**_DEVICE, **_GRAPH, **_CHANNEL, "bytes": 64, "value": 0, "flags": 0},
    "graph_event_node": {**_DEVICE, **_GRAPH},
    "graph_host_node": {**_DEVICE, **_GRAPH, "process_id": PROCESS, "thread_id": THREAD},
    "cuda_runtime": {"process_id": PROCESS, "thread_id": THREAD},
    "cuda_sync": {"context_id": 1, "cuda_event_id": 0, "cuda_event_sync_id": 0},
    "cuda_event": _DEVICE,
    "environment": {"device_id": 0},
}


def write(
    folder: Path,
    records: dict[str, list[Record]],
    operators: list[Record],
    name: str = "cuspy.pt.trace.json",
    **window: Any,
) -> Path:
    """Write a trace; times of records and operators in microseconds after `BASE_NS`.

    Skips the test where torch has no such exporter, or what it imports is absent.
    """
    if importlib.util.find_spec("torch.profiler._cuspy") is None:
        pytest.skip("Cuspy needs torch 2.15: make versions")
    pytest.importorskip("cupti.cupti", reason="needs cupti: pip install cupti-python")
    exporter: Any = importlib.import_module("torch.profiler._cuspy.trace")
    host = folder / "host.json"
    host.write_text(
        json.dumps(
            {
                "schemaVersion": 1,
                "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "numSms": 132}],
                "baseTimeNanoseconds": BASE_NS,
                "traceEvents": operators,
            }
        )
    )
    columns = {kind: _columns(kind, rows) for kind, rows in records.items()}
    exporter.merge_trace_window_into_chrome_trace(
        host, folder / name, {"columns": columns, "thread_resource_map": {}, **window}
    )
    return folder / name


def _columns(kind: str, rows: list[Record]) -> dict[str, Any]:
    whole = [_record(_DEFAULTS[kind], row) for row in rows]
    columns = {}
    for field in {field: None for record in whole for field in record}:
        values = [record.get(field, record.get(_ELSE.get(field, ""))) for record in whole]
        texts = any(not isinstance(value, int) for value in values)
        columns[field] = np.array(values, object if texts else np.int64)
    return columns


def _record(defaults: Record, row: Record) -> Record:
    start, length = row["us"]
    times = {
        "start_ns": BASE_NS + round(start * 1000),
        "end_ns": BASE_NS + round((start + length) * 1000),
    }
    return {**defaults, **times, **{key: value for key, value in row.items() if key != "us"}}


def operator(name: str, start: float, length: float, number: int) -> Record:
    """An operator of the host as Kineto writes it."""
    return {
        "ph": "X",
        "cat": "cpu_op",
        "name": name,
        "pid": PROCESS,
        "tid": THREAD,
        "ts": start,
        "dur": length,
        "args": {"External id": number},
    }
