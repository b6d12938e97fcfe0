from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_hookview.errors import TraceError
from tb_hookview.trace import EventCategory, read_trace


def event(**changed: Any) -> dict[str, Any]:
    base = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 2, "ts": 5, "dur": 3}
    return {**base, **changed}


def write(folder: Path, content: Any, name: str = "a.pt.trace.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(content))
    return path


def read(folder: Path, *events: dict[str, Any], **root: Any) -> Any:
    return read_trace(write(folder, {**root, "traceEvents": list(events)}))


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        ("cpu_op", EventCategory.OPERATOR),
        ("Operator", EventCategory.OPERATOR),
        ("user_annotation", EventCategory.ANNOTATION),
        ("Runtime", EventCategory.RUNTIME),
        ("cuda_runtime", EventCategory.RUNTIME),
        ("cuda_driver", EventCategory.RUNTIME),
        ("xpu_runtime", EventCategory.RUNTIME),
        ("Kernel", EventCategory.KERNEL),
        ("gpu_memcpy", EventCategory.COPY),
        ("Memset", EventCategory.SET),
        ("python_function", EventCategory.PYTHON),
        ("a category of the future", EventCategory.OTHER),
    ],
)
def test_categories_of_every_era(tmp_path: Path, category: str, kind: EventCategory) -> None:
    trace = read(tmp_path, event(cat=category))
    assert trace.events.kind.tolist() == [kind]


def test_unknown_categories_are_read_and_counted(tmp_path: Path) -> None:
    trace = read(tmp_path, event(cat="new_thing"), event(cat="new_thing"), event())
    assert len(trace.events) == 3
    (notice,) = trace.notices
    assert (notice.code, notice.times) == ("unknown-category", 2)
    assert "new_thing" in notice.message


def test_annotations_among_old_operators(tmp_path: Path) -> None:
    trace = read(tmp_path, event(cat="Operator", name="ProfilerStep#3"))
    assert trace.events.kind.tolist() == [EventCategory.ANNOTATION]


@pytest.mark.parametrize(
    ("ts", "nanoseconds"),
    [
        (12, 12_000),
        (12.345, 12_345),
        ("12.345", 12_345),
        (1_700_000_000_123_456.789, 1_700_000_000_123_456_789),
        ("1700000000123456.789", 1_700_000_000_123_456_789),
        (1_700_000_000_123_456, 1_700_000_000_123_456_000),
    ],
)
def test_timestamps_are_exact_nanoseconds(tmp_path: Path, ts: object, nanoseconds: int) -> None:
    path = tmp_path / "t.json"
    # written by hand: json.dumps would round the long decimals before we ever see them
    number = f'"{ts}"' if isinstance(ts, str) else f"{ts:.3f}" if isinstance(ts, float) else ts
    start = f'{{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":{number},"dur":1.5}}'
    path.write_text(f'{{"traceEvents":[{start}]}}')
    if nanoseconds == 1_700_000_000_123_456_789:
        path.write_text(path.read_text().replace("123456.750", "123456.789"))
    trace = read_trace(path)
    assert trace.events.start.tolist() == [nanoseconds]
    assert trace.events.duration.tolist() == [1500]


def test_list_root(tmp_path: Path) -> None:
    trace = read_trace(write(tmp_path, [event(), event(ph="i")]))
    assert (trace.format, trace.event_count, len(trace.events)) == ("chrome-list", 2, 1)


def test_gzip_is_detected_by_content_not_by_name(tmp_path: Path) -> None:
    path = tmp_path / "plain_name.json"
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": [event()]}).encode()))
    assert len(read_trace(path).events) == 1


def test_arguments_under_either_spelling(tmp_path: Path) -> None:
    old = event(cat="Kernel", args={"correlation": 7, "device": "1"})
    new = event(args={"External id": 4, "Sequence number": 9, "Fwd thread id": 2})
    older = event(cat="Runtime", args={"external id": 5, "correlation": 7})
    events = read(tmp_path, old, new, older).events
    assert events.correlation.tolist() == [7, -1, 7]
    assert events.sequence.tolist() == [-1, 9, -1]
    assert events.forward_thread.tolist() == [0, 2, 0]
    assert events.external.tolist() == [-1, 4, 5]
    assert events.device.tolist() == [1, -1, -1]


def test_one_thread_written_as_number_and_text(tmp_path: Path) -> None:
    name = event(ph="M", name="thread_name", tid=25738, args={"name": "thread 25738 (python)"})
    trace = read(tmp_path, event(tid="25738"), event(tid=25738), name)
    assert trace.events.thread.tolist() == [0, 0]
    assert trace.threads[0].name == "thread 25738 (python)"


def test_values_of_unexpected_type_cost_only_themselves(tmp_path: Path) -> None:
    odd = event(args={"correlation": [1], "Sequence number": 3}, tid=None)
    trace = read(tmp_path, odd, event(), "no event at all")  # type: ignore[arg-type]
    assert trace.events.sequence.tolist() == [3, -1]
    noticed = [(notice.code, notice.times) for notice in trace.notices]
    assert noticed == [("unexpected-type", 2), ("no-thread", 1)]


def test_what_events_lack_is_counted(tmp_path: Path) -> None:
    lacking = [{k: v for k, v in event().items() if k != key} for key in event()]
    trace = read(tmp_path, event(), *lacking)
    noticed = {notice.code: notice.times for notice in trace.notices}
    assert noticed == {
        "unknown-category": 1,
        "no-timestamp": 1,
        "no-duration": 1,
        "no-phase": 1,
        "no-name": 1,
        "no-thread": 2,
    }
    assert (trace.event_count, len(trace.events)) == (8, 6)


def test_pairs_of_begin_and_end_are_counted(tmp_path: Path) -> None:
    pair = [{**event(), "ph": phase, "ts": 5 + 5 * (phase == "E")} for phase in "BE"]
    trace = read(tmp_path, event(), *pair)
    assert [(notice.code, notice.times) for notice in trace.notices] == [("begin-end", 2)]
    assert len(trace.events) == 1


def test_numbers_beyond_64_bits_are_dropped_alone(tmp_path: Path) -> None:
    trace = read(tmp_path, event(args={"External id": 2**70, "Sequence number": 3}))
    assert trace.events.sequence.tolist() == [3]
    assert trace.events.external.tolist() == [-1]


def test_flows_join_by_id(tmp_path: Path) -> None:
    arrow = {"cat": "fwdbwd", "pid": 1, "id": 4}
    start = {**arrow, "ph": "s", "tid": 2, "ts": 5}
    trace = read(tmp_path, event(), {**arrow, "ph": "f", "tid": 9, "ts": 50}, start)
    assert trace.flows.from_time.tolist() == [5000]
    assert trace.flows.to_time.tolist() == [50_000]
    assert trace.threads[int(trace.flows.to_thread[0])].tid == "9"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"%PDF-1.7 ...", "not JSON"),
        (bytes(range(256)), "not JSON"),
        (b"\x1f\x8b\x08 cut", "gzip"),
        (b'{"schemaVersion": 1}', "traceEvents"),
        (b'{"traceEvents": {}}', "traceEvents"),
        (b'{"traceEvents": [{"ph": "X", ', "damaged or cut off"),
        (b'[{"name": "x"}]', "no phase"),
        (b"[1, 2]", "not a PyTorch trace"),
        (b"[]", "not a PyTorch trace"),
    ],
)
def test_what_is_no_trace_is_refused_in_one_line(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(TraceError) as caught:
        read_trace(path)
    message = str(caught.value)
    assert str(path) in message
    assert reason in message
    assert "\n" not in message


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="no such file"):
        read_trace(tmp_path / "nowhere.json")


def test_shapes_are_stored_as_text_and_one_text_once(tmp_path: Path) -> None:
    shaped = event(cat="cpu_op", args={"Input Dims": [[8, 16], []]})
    trace = read(tmp_path, shaped, event(cat="cpu_op"), shaped)
    assert trace.events.shapes.tolist() == [1, 0, 1]
    assert [json.loads(text) for text in trace.texts.texts[1:]] == [[[8, 16], []]]


def test_shapes_survive_values_of_unexpected_type(tmp_path: Path) -> None:
    args = {"Input Dims": [[8, 16], []], "Sequence number": "many"}
    trace = read(tmp_path, event(cat="cpu_op", args=args), event(cat="cpu_op", args=None))
    assert [trace.texts[number] for number in trace.events.shapes.tolist()] == ["[[8,16],[]]", ""]


@pytest.mark.parametrize("odd", ["inf", "N/A", [1], {"a": 1}, 10**400, 1e300, None])
def test_a_measure_that_is_no_number_costs_only_itself(tmp_path: Path, odd: Any) -> None:
    kernels = [event(cat="kernel", args={"blocks per SM": value}) for value in (odd, 2, 0.5)]
    events = read(tmp_path, *kernels).events
    assert np.array_equal(events.blocks_per_sm, [np.nan, 2.0, 0.5], equal_nan=True)


def test_few_events_hold_memory_and_collectives(tmp_path: Path) -> None:
    told = {"Device Type": 1, "Device Id": 0, "Bytes": -8, "Total Allocated": 5, "Addr": 2**53 + 1}
    instant = {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "ts": 7, "pid": 1}
    message = {"Collective name": "allreduce", "In msg nelems": 4, "Group size": 2, "dtype": 5}
    trace = read(
        tmp_path,
        event(),
        {**instant, "tid": 2, "args": told},
        {**instant, "name": "[OutOfMemory]", "tid": 2, "ts": 8, "args": {"Bytes": 9}},
        event(name="record_param_comms", args=message),
    )
    memory, calls = trace.memory, trace.collectives
    columns = (memory.time, memory.device_type, memory.device_index, memory.amount)
    assert [column.tolist() for column in columns] == [[7000], [1], [0], [-8]]
    assert (memory.allocated.tolist(), memory.reserved.tolist()) == ([5], [-1])
    assert memory.address.tolist() == [2**53 + 1]
    assert [trace.threads[number].tid for number in memory.thread.tolist()] == ["2"]
    lacking = trace.out_of_memory
    assert (lacking.time.tolist(), lacking.amount.tolist()) == ([8000], [9])
    assert (calls.event.tolist(), calls.collective, calls.dtype) == ([1], ("allreduce",), ("",))
    assert (calls.sent.tolist(), calls.received.tolist()) == ([4], [-1])


def test_what_devices_can_do(tmp_path: Path) -> None:
    full = {"id": 0, "name": "A", "computeMajor": 8, "computeMinor": 6, "totalGlobalMem": 9}
    trace = read(tmp_path, event(), deviceProperties=[full, {"id": 1, "totalGlobalMem": "much"}])
    assert trace.devices[0][2:] == ((8, 6), 9)
    assert trace.devices[1] == (1, "", None, None)


@pytest.mark.parametrize(
    "text",
    [
        '{"meta": {"traceEvents": []}, "traceEvents": [%s]}',
        '{"traceEvents": [], "traceEvents": [%s]}',
    ],
)
def test_a_list_of_the_same_name_before_that_of_the_events(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.pt.trace.json"
    path.write_text(text % ",".join([json.dumps(event())] * 10))
    assert len(read_trace(path).events) == 10
    path.write_text(text % ",".join([json.dumps(event())] * 30_000))
    with pytest.raises(TraceError, match="two lists `traceEvents`"):
        read_trace(path)


def test_collectives_after_one_without_details(tmp_path: Path) -> None:
    silent = event(name="record_param_comms")
    telling = event(name="record_param_comms", args={"Group size": 2})
    trace = read(tmp_path, silent, *[event()] * 30_000, telling)
    assert trace.collectives.group_size.tolist()[-1] == 2
