"""Arguments of single events, read again from the file: always those of the row asked for."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pytest
import shared_traces

from tb_hookview.cache import FileState
from tb_hookview.trace import read_trace, trace_file
from tb_hookview.trace.columns import event_args
from tb_hookview.trace.columns.event_args import EventArguments

MANY = 1000
"""Events of more than a block of text."""


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
    trace, arguments = read_trace(path), EventArguments(trace_file(path))
    names = [trace.strings[name] for name in trace.events.name.tolist()]
    assert len(names) == 20 + names.count("")
    for row, name in enumerate(names):
        found = arguments.of(row, name)
        assert found == ({"number": int(name[2:]), "stack": "a;b"} if name else {})


def test_arguments_of_a_real_trace_are_those_of_its_rows() -> None:
    path = shared_traces.shared_trace("tracelens_b200_eager")
    trace, arguments = read_trace(path), EventArguments(trace_file(path))
    for row in range(0, len(trace.events), 997):
        found = arguments.of(row, trace.strings[int(trace.events.name[row])])
        assert found is not None
        correlation = int(trace.events.correlation[row])
        if correlation >= 0:
            assert found["correlation"] == correlation


@pytest.mark.parametrize("args", [[1, 2], "text", None])
def test_arguments_that_are_no_object_are_returned_in_one(tmp_path: Path, args: Any) -> None:
    path = written(tmp_path / "t.json", [event(0, args=args), event(1)])
    assert EventArguments(trace_file(path)).of(0, "op0") == {"args": args}
    assert EventArguments(trace_file(path)).of(1, "op1") == {"number": 1, "stack": "a;b"}


def test_arguments_that_are_no_text_are_none(tmp_path: Path) -> None:
    path = written(tmp_path / "t.json", [event(0, args={"k": "bytes"}), event(1)])
    path.write_bytes(path.read_bytes().replace(b"bytes", b"\xff\xfe"))
    assert len(read_trace(path).events) == 2
    assert EventArguments(trace_file(path)).of(0, "op0") is None
    assert EventArguments(trace_file(path)).of(1, "op1") == {"number": 1, "stack": "a;b"}


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_that_is_written_to_keeps_what_was_read_of_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, packed: bool
) -> None:
    """Rows of the same names, and of other arguments: nothing of them is shown."""
    monkeypatch.setattr(event_args, "SMALL", 1)

    def write(note: str) -> None:
        events = [event(number, args={"note": note * 500}) for number in range(2 * MANY)]
        text = json.dumps({"traceEvents": events}).encode()
        path.write_bytes(gzip.compress(text, 1) if packed else text)

    path = tmp_path / ("t.json.gz" if packed else "t.json")
    write("old")
    arguments = EventArguments(trace_file(path))
    assert arguments.of(0, "op0") == {"note": "old" * 500}
    write("new")
    assert arguments.of(2 * MANY - 1, f"op{2 * MANY - 1}") is None
    assert arguments.of(0, "op0") == {"note": "old" * 500}
    again = EventArguments(trace_file(path))
    assert again.of(2 * MANY - 1, f"op{2 * MANY - 1}") == {"note": "new" * 500}


class InMemory(NamedTuple):
    """A trace that is no file of this machine."""

    address: str
    content: bytes

    @property
    def name(self) -> str:
        return self.address

    @property
    def size(self) -> int:
        return len(self.content)

    def open(self) -> BinaryIO:
        return io.BytesIO(self.content)

    def state(self) -> FileState:
        return FileState(len(self.content), 0, 0, 0)


def test_arguments_are_read_from_where_the_trace_was() -> None:
    text = json.dumps({"traceEvents": [event(0), event(1)]}).encode()
    trace = read_trace(InMemory("memory://run/t.json.gz", gzip.compress(text)))
    assert trace.path == "memory://run/t.json.gz"
    assert EventArguments(trace.file).of(1, "op1") == {"number": 1, "stack": "a;b"}


def test_a_file_that_is_gone_or_another_has_none(tmp_path: Path) -> None:
    path = written(tmp_path / "t.json", [event(0)])
    assert EventArguments(trace_file(path)).of(0, "another") is None
    assert EventArguments(trace_file(path)).of(1, "op1") is None
    path.write_text("{")
    assert EventArguments(trace_file(path)).of(0, "op0") is None
    path.unlink()
    assert EventArguments(trace_file(path)).of(0, "op0") is None
