"""A file read by several processes gives what one gives, and no fault of another one shows."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shared_traces
from hypothesis import given
from hypothesis import strategies as st
from support.children import children
from support.same_trace import assert_same

from tb_hookview.errors import TraceError
from tb_hookview.trace import LocalFile, Trace, Wanted, read_trace, reader
from tb_hookview.trace.columns.builder import Builder
from tb_hookview.workers import pool
from tb_hookview.workers.pool import Workers

LARGE = 20_000


@pytest.fixture(autouse=True)
def several_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shares for files of any size, as if every process were ready."""
    monkeypatch.setattr(pool, "START_S", 0.0)
    monkeypatch.setattr(reader, "SMALLEST_SHARE", 1)


@pytest.fixture
def absorbed(monkeypatch: pytest.MonkeyPatch) -> list[Builder]:
    """The parts that were taken from other processes."""
    parts = []
    absorb = Builder.absorb

    def noting(builder: Builder, part: Builder) -> None:
        parts.append(part)
        absorb(builder, part)

    monkeypatch.setattr(Builder, "absorb", noting)
    return parts


def alone(path: Path) -> Trace:
    return read_trace(path)


def together(path: Path, processes: int = 2, **more: Any) -> Trace:
    others = children()
    workers = Workers(processes - 1)
    try:
        return read_trace(path, **more, workers=workers)
    finally:
        workers.shutdown()
        assert not children() - others


def events(count: int = LARGE) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "name": "thread_name", "pid": 1, "tid": "7", "args": {"name": "main"}}
    for number in range(count):
        # Every value comes in both spellings, and again in both halves.
        pid, tid = (1, "7") if number % 3 else ("1", number % 2000 % 7)
        yield {
            "ph": "X",
            "cat": ("cpu_op", "kernel", f"new {number % 4000 % 5}")[number % 3],
            "name": f"aten::op{number % 977}",
            "pid": pid,
            "tid": tid,
            "ts": number + 0.5,
            "dur": 0.25,
            "args": {
                "External id": number,
                "Sequence number": number // 2,
                "Input Dims": [[number % 13]],
                "correlation": number,
                "device": 0,
            },
        }
        if number % 50 == 0:
            arrow = {"cat": "fwdbwd", "name": "fwdbwd", "id": number, "pid": pid, "tid": tid}
            yield {"ph": "s", "ts": number + 0.5, **arrow}
            yield {"ph": "f", "ts": number + 9, **arrow, "id": (number + 5000) % LARGE}
        if number % 99 == 0:
            fields = {"Device Type": 1, "Device Id": 0, "Bytes": number, "Total Allocated": 9}
            yield {"ph": "i", "name": "[memory]", "pid": 1, "tid": 7, "ts": number, "args": fields}
        if number % 101 == 0:
            fields = {"Group size": 2, "In msg nelems": number, "Collective name": "all_reduce"}
            args = {"args": fields, "dur": 1, "pid": 1, "tid": 7, "ts": number}
            yield {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", **args}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "w.pt.trace.json"
    path.write_text(
        json.dumps({"deviceProperties": [{"id": 0, "name": "A"}], "traceEvents": [*events()]})
    )
    return path


@pytest.mark.parametrize("processes", [2, 3, 5])
def test_several_processes_read_what_one_reads(
    large: Path, absorbed: list[Builder], processes: int
) -> None:
    trace = together(large, processes)
    assert len(absorbed) == processes - 1
    assert sum(part.event_count for part in absorbed) > LARGE / 4
    assert len(trace.flows.from_time) > 100
    assert len(trace.memory.time) > 100
    assert len(trace.collectives.event) > 100
    assert_same(trace, alone(large))


def with_texts(name: str) -> bool:
    return name.startswith("aten::op1")


def test_what_is_wanted_alone_is_read_alike(large: Path, absorbed: list[Builder]) -> None:
    wanted = Wanted(frozenset({"shapes", "device"}), with_texts, "nn.Module: ", details=False)
    read = together(large, wanted=wanted)
    assert absorbed
    assert len(read.events.grid) == 0
    assert_same(read, read_trace(large, wanted=wanted))


def test_a_bare_list(tmp_path: Path, absorbed: list[Builder]) -> None:
    path = tmp_path / "w.pt.trace.json"
    path.write_text(json.dumps([*events()]))
    assert_same(together(path), alone(path))
    assert absorbed


@pytest.mark.parametrize(
    "name",
    [
        "tracelens_h100_qwen",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in (
                "tracelens_b200",
                "hta_a100_cuda_graphs",
                "hta_mtia_training",
                "hta_v100",
                "hta_a100_nccl",
            )
        ),
    ],
)
def test_shared_traces(name: str, absorbed: list[Builder]) -> None:
    path = shared_traces.shared_trace(name)
    assert_same(together(path, 3), alone(path))
    assert absorbed


def test_progress_and_count_only_grow(large: Path, absorbed: list[Builder]) -> None:
    done: list[float | None] = []
    counted: list[int] = []

    def say(stage: str, fraction: float | None) -> None:
        if stage == "decoding":
            done.append(fraction)

    trace = together(large, 3, progress=say, count=counted.append)
    assert absorbed
    assert done == sorted(done, key=lambda fraction: fraction or 0.0)
    assert done[-1] == 1.0
    assert counted == sorted(counted)
    assert counted[-1] == trace.event_count


@pytest.mark.parametrize("when", ["before", "after"])
def test_one_that_is_killed_is_not_missed(
    large: Path, absorbed: list[Builder], monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    killed: list[Any] = []
    submit = Workers.submit

    def submitting(self: Workers, *what: Any) -> Any:
        if when == "before":
            return submit(self, os._exit, 1)
        job = submit(self, *what)
        killed.append((self, job))
        return job

    def say(_stage: str, _done: float | None) -> None:
        for workers, job in killed:
            workers.stop(job)

    monkeypatch.setattr(Workers, "submit", submitting)
    assert_same(together(large, 3, progress=say), alone(large))
    assert not absorbed


def test_a_file_that_changes_between_the_two_is_read_by_one(
    large: Path, absorbed: list[Builder], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = LocalFile.state
    monkeypatch.setattr(LocalFile, "state", lambda self: state(self)._replace(modified_ns=0))
    assert_same(together(large), alone(large))
    assert not absorbed


@pytest.mark.parametrize(
    "place",
    [0.1, 0.5, 0.9, *(pytest.param(place, marks=pytest.mark.slow) for place in (0.49, 0.51))],
)
def test_a_damaged_file_is_read_by_one(large: Path, tmp_path: Path, place: float) -> None:
    content = bytearray(large.read_bytes())
    middle = content.index(b'"ts": ', int(len(content) * place))
    content[middle + 6 : middle + 7] = b"{"
    path = tmp_path / "w.pt.trace.json"
    path.write_bytes(content)
    assert_same(together(path, 3), alone(path))
    assert [notice.code for notice in alone(path).notices].count("lost-events") == 1


@pytest.mark.parametrize("end", ["]}\n", "]}    \n", "]}"])
@pytest.mark.parametrize("estimate", [None, 1 << 30])
def test_a_file_that_is_shorter_than_it_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, estimate: int | None
) -> None:
    """A plain text under the name of a gzip file; one that ends before the others' shares."""
    path = tmp_path / "w.pt.trace.json.gz"
    rows = ",".join(json.dumps(event) for event in events(2000))
    path.write_text('{"traceEvents": [' + rows + end)
    if estimate:
        monkeypatch.setattr("tb_hookview.trace.reader.estimated_size", lambda _file: estimate)
    assert_same(together(path, 4), alone(path))


def test_a_limit_holds_for_all_shares_together(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = alone(large).event_count - 1
    monkeypatch.setenv("HOOKVIEW_MAX_EVENTS", str(most))
    with pytest.raises(TraceError, match=f"more than {most:,} events"):
        together(large)


def test_none_is_left_when_the_reading_is_given_up(large: Path) -> None:
    def stop(_events: int) -> None:
        raise KeyboardInterrupt

    others = children()
    workers = Workers(2)
    with pytest.raises(KeyboardInterrupt):
        read_trace(large, count=stop, workers=workers)
    workers.shutdown()
    assert not children() - others


def test_what_is_prepared_is_used(large: Path, absorbed: list[Builder]) -> None:
    workers = Workers(1, preload="tb_hookview.trace.reader")
    workers.prepare(1)
    while workers.ready_in()[0] > 0:
        time.sleep(0.01)
    assert_same(read_trace(large, workers=workers), alone(large))
    assert absorbed
    workers.shutdown()


@given(st.integers(1, 1 << 40), st.lists(st.floats(0, 2), max_size=20), st.integers(1, 24 << 20))
def test_shares_cover_the_file_and_none_is_too_small(
    size: int, ready_in: list[float], smallest: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "SMALLEST_SHARE", smallest)
        ends = reader.shares(size, sorted(ready_in))
    assert ends[-1] == pytest.approx(size)
    assert len(ends) <= len(ready_in) + 1
    own, *others = [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
    assert own > 0
    assert all(smallest <= other <= own for other in others)


def test_shares_of_processes_that_are_ready_end_together() -> None:
    """Inflating and cutting all that is before a share takes its part of the time."""
    ends = reader.shares(10 << 30, [0.0] * 7)
    begins = [0.0, *ends[:-1]]
    spent = [
        reader.CUTTING * end + (1 - reader.CUTTING) * (end - begin)
        for begin, end in zip(begins, ends, strict=True)
    ]
    assert spent == pytest.approx([spent[0]] * 8)
