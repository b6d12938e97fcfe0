"""Traces that torch 2.15's own second exporter wrote, from records made by hand, are read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from support import cuspy

from tb_hookview.errors import TraceError
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.trace import Trace, read_trace

GRAPH = {"correlation_id": 4, "graph_id": 3, "stream_id": 31, "logical_lane": 7}
NODE = 3 << 32
CALLS: list[cuspy.Record] = [
    {"us": (10, 5), "cbid": cuspy.LAUNCH, "correlation_id": 1},
    {"us": (20, 50), "cbid": cuspy.COPY, "correlation_id": 2},
    {"us": (71, 5), "cbid": cuspy.STREAM_SYNC, "correlation_id": 3},
    {"us": (80, 5), "cbid": cuspy.GRAPH_LAUNCH, "correlation_id": 4},
]
KERNELS: list[cuspy.Record] = [
    {"us": (30, 10.25), "name": "gemm", "correlation_id": 1},
    {"us": (100, 10), "name": "one", **GRAPH, "graph_node_id": NODE | 1, "lane_name": "main"},
    {"us": (120, 10), "name": "two", **GRAPH, "graph_node_id": NODE | 4},
]
COPY: cuspy.Record = {
    "us": (41, 20),
    "copy_kind": 2,
    "src_kind": 3,
    "dst_kind": 1,
    "correlation_id": 2,
}
SYNC: cuspy.Record = {"us": (71, 4), "sync_type": 3, "stream_id": 7, "correlation_id": 3}
RECORDS: dict[str, list[cuspy.Record]] = {
    "cuda_runtime": CALLS,
    "kernel": KERNELS,
    "gpu_memcpy": [COPY],
    "gpu_memset": [{"us": (62, 2), "memory_kind": 3, "correlation_id": 9}],
    "graph_event_node": [{"us": (111, 0), **GRAPH, "graph_node_id": NODE | 2}],
    "graph_host_node": [{"us": (112, 5), **GRAPH, "graph_node_id": NODE | 3}],
    "cuda_sync": [SYNC],
    "environment": [{"us": (50, 0), "environment_kind": 3, "data": 300_000}],
}
OPERATORS = [cuspy.operator("aten::item", 5, 73, 1), cuspy.operator("aten::run", 79, 10, 2)]
EDGES = {"graph_deps": {NODE | 4: [NODE | 1]}}


def written(folder: Path, name: str = "cuspy.pt.trace.json") -> Path:
    return cuspy.write(folder, RECORDS, OPERATORS, name, **EDGES)


def names_of(trace: Trace) -> list[str]:
    return [trace.strings[name] for name in trace.events.name.tolist()]


@pytest.mark.parametrize("name", ["cuspy.pt.trace.json", "cuspy.pt.trace.json.gz"])
def test_everything_is_read_and_nothing_is_unknown(tmp_path: Path, name: str) -> None:
    trace = read_trace(written(tmp_path, name))
    assert trace.notices == ()
    names = names_of(trace)
    assert {"Memcpy DtoH (Device -> Pageable)", "Memset (Device)"} <= set(names)
    assert {"EventRecord", "HostNode", "Stream Sync"} <= set(names)
    assert trace.events.duration[names.index("gemm")] == 10_250


def test_syncs_and_launches_are_those_of_the_records(tmp_path: Path) -> None:
    made = load(written(tmp_path))
    (sync,) = build_report(made).data.syncs
    assert (sync.api, sync.operator, sync.cause, sync.duration_us) == (
        "cudaMemcpyAsync",
        "aten::item",
        "sync-scalar-item",
        56,
    )
    launched = {
        made.trace.strings[int(made.trace.events.name[event])]: (
            made.host.name(launch) if launch >= 0 else None
        )
        for event, launch in zip(
            made.device_events.event.tolist(), made.device_events.launch.tolist(), strict=True
        )
    }
    assert launched == {
        "gemm": "cudaLaunchKernel",
        "one": "cudaGraphLaunch",
        "two": "cudaGraphLaunch",
        "Memcpy DtoH (Device -> Pageable)": "cudaMemcpyAsync",
        "Memset (Device)": None,
    }


def test_graphs_are_on_the_lanes_that_torch_chose(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path))
    lanes = {trace.threads[thread] for thread in trace.events.thread.tolist()}
    assert {(lane.tid, lane.name) for lane in lanes if lane.pid == "0"} == {("7", "main")}


def test_sync_rows_keep_their_arguments(tmp_path: Path) -> None:
    recorded = {"us": (9, 0), "correlation_id": 8, "cuda_event_sync_id": 5, "device_id": 0}
    waiting = {"us": (12, 1), "sync_type": 2, "stream_id": 9, "correlation_id": 6}
    records = {
        "cuda_event": [recorded],
        "cuda_sync": [{**waiting, "cuda_event_id": 11, "cuda_event_sync_id": 5}],
    }
    syncs = read_trace(cuspy.write(tmp_path, records, OPERATORS)).cuda_syncs
    assert (syncs.kind, syncs.stream.tolist()) == (("Stream Wait Event",), [9])
    assert syncs.record_correlation.tolist() == [8]
    assert syncs.cuda_event.tolist() == [11]
    assert syncs.wait_on_stream.tolist() == [-1]


@pytest.mark.parametrize("packed", [True, False], ids=["gzip", "plain"])
def test_a_perfetto_trace_is_one_line_that_says_what_to_record(
    tmp_path: Path, packed: bool
) -> None:
    path = written(tmp_path, "cuspy.pftrace")
    if not packed:
        path.write_bytes(gzip.decompress(path.read_bytes()))
    with pytest.raises(TraceError, match=r"Perfetto trace.*\.json\.gz") as caught:
        read_trace(path)
    assert "\n" not in str(caught.value)
