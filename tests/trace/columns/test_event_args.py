"""Arguments of single events, read again from the file: always those of the row asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import shared_traces

from tb_hookview.trace import read_trace
from tb_hookview.trace.columns.event_args import EventArguments


def written(path: Path, events: list[Any]) -> Path:
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


def event(number: int, **more: Any) -> dict[str, Any]:
    args = {"number": number, "stack": "a;b"}
    return {"ph": "X", "cat": "cpu_op", "name": f"op{number}", "pid": 1, "tid": 1} | {
        "ts": number,
        "dur": 1,
        "args": args,
        **more,
    }


OTHERS: list[Any] = [
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "x"}},
    {"ph": "i", "name": "instant", "ts": 5},
    {"ph": "X", "name": "without a time"},
    {"ph": "X", "name": "at no time", "ts": 1e300},
]
ODD: list[Any] = [7, None, {"ph": "X", "ts": "soon", "name": "odd"}, {"ph": "X", "ts": "1.5"}]


@pytest.mark.parametrize("odd", [[], ODD], ids=["well formed", "of odd types"])
def test_rows_are_those_of_the_reader(tmp_path: Path, odd: list[Any]) -> None:
    events: list[Any] = []
    for number in range(20):
        events += [event(number), *(OTHERS if number % 3 else odd)]
    path = written(tmp_path / "t.json", events)
    trace, arguments = read_trace(path), EventArguments(path)
    names = [trace.strings[name] for name in trace.events.name.tolist()]
    assert len(names) == 20 + names.count("")
    for row, name in enumerate(names):
        found = arguments.of(row, name)
        assert found == ({"number": int(name[2:]), "stack": "a;b"} if name else {})


def test_arguments_of_a_real_trace_are_those_of_its_rows() -> None:
    path = shared_traces.shared_trace("tracelens_b200_eager")
    trace, arguments = read_trace(path), EventArguments(path)
    for row in range(0, len(trace.events), 997):
        found = arguments.of(row, trace.strings[int(trace.events.name[row])])
        assert found is not None
        correlation = int(trace.events.correlation[row])
        if correlation >= 0:
            assert found["correlation"] == correlation


@pytest.mark.parametrize("args", [[1, 2], "text", None])
def test_arguments_that_are_no_object_are_returned_in_one(tmp_path: Path, args: Any) -> None:
    path = written(tmp_path / "t.json", [event(0, args=args), event(1)])
    assert EventArguments(path).of(0, "op0") == {"args": args}
    assert EventArguments(path).of(1, "op1") == {"number": 1, "stack": "a;b"}


def test_arguments_that_are_no_text_are_none(tmp_path: Path) -> None:
    path = written(tmp_path / "t.json", [event(0, args={"k": "bytes"}), event(1)])
    path.write_bytes(path.read_bytes().replace(b"bytes", b"\xff\xfe"))
    assert len(read_trace(path).events) == 2
    assert EventArguments(path).of(0, "op0") is None
    assert EventArguments(path).of(1, "op1") == {"number": 1, "stack": "a;b"}


def test_a_file_that_is_gone_or_another_has_none(tmp_path: Path) -> None:
    path = written(tmp_path / "t.json", [event(0)])
    assert EventArguments(path).of(0, "another") is None
    assert EventArguments(path).of(1, "op1") is None
    path.write_text("{")
    assert EventArguments(path).of(0, "op0") is None
    path.unlink()
    assert EventArguments(path).of(0, "op0") is None
