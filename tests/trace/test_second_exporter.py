"""Facts of the second exporter of torch 2.15 (Cuspy), drawn by hand: read as well as Kineto's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.schema import ReportData
from tb_hookview.trace import EventCategory, Trace, read_trace, trace_file
from tb_hookview.trace.columns.event_args import EventArguments

Event = dict[str, Any]
ON_DEVICE = {"device": 0, "context": 1, "stream": 7}


def host(category: str, name: str, start: float, length: float, **args: Any) -> Event:
    place = {"pid": 77, "tid": 78, "ts": start, "dur": length}
    return {"ph": "X", "cat": category, "name": name, **place, "args": args}


def device(
    category: str, name: str, start: float, length: float, stream: int = 7, **args: Any
) -> Event:
    place = {"pid": 0, "tid": stream, "ts": start, "dur": length}
    return {"ph": "X", "cat": category, "name": name, **place, "args": {**ON_DEVICE, **args}}


def kinds(copy: str, source: str, target: str) -> dict[str, str]:
    return {"copy kind": copy, "src kind": source, "dst kind": target}


def written(folder: Path, events: list[Event], name: str = "t.json") -> Path:
    """Write a trace in one line, as that exporter does."""
    path = folder / name
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}, separators=(",", ":")))
    return path


def names_of(trace: Trace) -> list[str]:
    return [trace.strings[name] for name in trace.events.name.tolist()]


def item(copy: Event) -> list[Event]:
    """A blocking copy in `aten::item`."""
    return [
        host("cpu_op", "aten::item", 0, 90),
        host("cuda_runtime", "cudaLaunchKernel", 2, 4, correlation=1),
        device("kernel", "gemm", 8, 30, correlation=1),
        host("cuda_runtime", "cudaMemcpyAsync", 10, 50, correlation=2),
        copy,
        host("cuda_runtime", "cudaStreamSynchronize", 62, 8, correlation=3),
    ]


def report_of(folder: Path, events: list[Event]) -> ReportData:
    return build_report(load(written(folder, events))).data


@pytest.mark.parametrize(
    ("name", "given", "api"),
    [
        ("DtoH (Device -> Pageable)", kinds("DtoH", "device", "pageable"), "cudaMemcpyAsync"),
        ("HtoD (Pageable -> Device)", kinds("HtoD", "pageable", "device"), "cudaMemcpyAsync"),
        ("HtoD (Pinned -> Device)", kinds("HtoD", "pinned", "device"), "cudaStreamSynchronize"),
        ("DtoD (Device -> Device)", kinds("DtoD", "device", "device"), "cudaStreamSynchronize"),
    ],
)
def test_a_copy_in_either_form_gives_the_same_report(
    tmp_path: Path, name: str, given: dict[str, str], api: str
) -> None:
    times = {"start": 40.0, "length": 15.0, "correlation": 2, "bytes": 4}
    kineto = device("gpu_memcpy", f"Memcpy {name}", **times)
    cuspy = device("gpu_memcpy", "Memcpy", **times, **given)
    reports = [report_of(tmp_path, item(copy)) for copy in (kineto, cuspy)]
    assert reports[0] == reports[1]
    assert [sync.api for sync in reports[1].syncs] == [api]


def test_arguments_of_a_renamed_copy_are_found(tmp_path: Path) -> None:
    copy = device("gpu_memcpy", "Memcpy", 1, 2, bytes=4, **kinds("HtoD", "pinned", "device"))
    path = written(tmp_path, [copy])
    assert names_of(read_trace(path)) == ["Memcpy HtoD (Pinned -> Device)"]
    found = EventArguments(trace_file(path)).of(0, "Memcpy HtoD (Pinned -> Device)")
    assert found is not None
    assert found["copy kind"] == "HtoD"
    assert EventArguments(trace_file(path)).of(0, "Memcpy DtoH (Pinned -> Device)") is None


def test_counters_are_counted_and_leave_no_row(tmp_path: Path) -> None:
    counter = {"ph": "C", "name": "Power (W)", "pid": "GPU 0 Counters", "ts": 3.0}
    order = {"ph": "M", "name": "process_sort_index", "ts": 0.0, "pid": "GPU 0 Counters", "tid": 0}
    events = [device("kernel", "gemm", 1, 2), {**counter, "args": {"": 300.0}}, order]
    trace = read_trace(written(tmp_path, events))
    assert (trace.event_count, len(trace.events), trace.notices) == (3, 1, ())
    assert [thread.pid for thread in trace.threads] == ["0"]


@pytest.mark.parametrize(
    ("category", "name"),
    [("graph_event_node", "EventRecord"), ("graph_host_node", "HostNode: callback")],
)
def test_nodes_of_a_graph_keep_no_device_busy(tmp_path: Path, category: str, name: str) -> None:
    node = device(category, name, 20, 40, correlation=4, **{"graph id": 3})
    made = load(written(tmp_path, [*launched_graph(), node]))
    assert made.trace.notices == ()
    assert made.trace.events.kind.tolist()[-1] == EventCategory.DEVICE_ANNOTATION
    assert made.device_events.busy[0].tolist() == [[12_000, 22_000], [25_000, 30_000]]


def launched_graph() -> list[Event]:
    edge = {"cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "id": 1 << 40}
    lane = {"graph id": 3, "original_stream": 31}
    return [
        host("cpu_op", "aten::run", 0, 12),
        host("cuda_runtime", "cudaGraphLaunch", 2, 8, correlation=4),
        device("kernel", "first", 12, 10, correlation=4, **lane),
        device("kernel", "second", 25, 5, correlation=4, **lane),
        {**edge, "ph": "s", "ts": 22},
        {**edge, "ph": "f", "ts": 25, "bp": "e"},
    ]


def test_every_event_of_a_graph_has_its_launch_without_an_arrow(tmp_path: Path) -> None:
    made = load(written(tmp_path, launched_graph()))
    assert made.device_events.launch.tolist() == [1, 1]
    assert len(made.trace.flows) == 0


def test_a_lane_stands_for_the_streams_that_torch_drew_on_it(tmp_path: Path) -> None:
    (stream,) = report_of(tmp_path, launched_graph()).streams
    assert (stream.stream, stream.count) == ("7", 2)


def test_measures_that_are_not_in_the_trace_are_null(tmp_path: Path) -> None:
    report = report_of(tmp_path, launched_graph())
    (use,) = report.devices
    assert (use.sm_efficiency, use.occupancy_pct) == (None, None)
    assert {(k.blocks_per_sm, k.occupancy_pct) for k in report.kernels} == {(None, None)}


def test_one_long_line_is_read_in_pieces(tmp_path: Path) -> None:
    kernels = [device("kernel", f"k{n % 7}", n, 0.5, correlation=n) for n in range(40_000)]
    trace = read_trace(written(tmp_path, kernels))
    assert len(trace.events) == 40_000
    assert trace.events.start.tolist() == [n * 1000 for n in range(40_000)]
