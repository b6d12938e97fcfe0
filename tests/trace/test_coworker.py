"""A file read by two processes gives what one gives, and no fault of the second one shows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shared_traces
from support.same_trace import assert_same

from tb_hookview.cache import FileState, file_state
from tb_hookview.trace import Trace, coworker, read_trace
from tb_hookview.trace.columns.builder import Builder
from tb_hookview.trace.columns.part import Part
from tb_hookview.trace.coworker import Coworker

LARGE = 20_000


@pytest.fixture(autouse=True)
def two_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second process for files of any size, on a machine of any size."""
    monkeypatch.setattr(coworker, "START_S", 0.0)
    monkeypatch.setattr(coworker, "SMALLEST_SHARE", 1)
    monkeypatch.setattr(coworker, "cores", lambda: 2)
    monkeypatch.delenv(coworker.PROCESSES, raising=False)


@pytest.fixture
def absorbed(monkeypatch: pytest.MonkeyPatch) -> list[Part]:
    """The parts that were taken from a second process."""
    parts = []
    absorb = Builder.absorb

    def noting(builder: Builder, part: Part) -> None:
        parts.append(part)
        absorb(builder, part)

    monkeypatch.setattr(Builder, "absorb", noting)
    return parts


def alone(path: Path) -> Trace:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(coworker.PROCESSES, "1")
        return read_trace(path)


def events(count: int = LARGE) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "name": "thread_name", "pid": 1, "tid": "7", "args": {"name": "main"}}
    for number in range(count):
        # Every value comes in both spellings, and anew in both halves.
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
            told = {"Device Type": 1, "Device Id": 0, "Bytes": number, "Total Allocated": 9}
            yield {"ph": "i", "name": "[memory]", "pid": 1, "tid": 7, "ts": number, "args": told}
        if number % 101 == 0:
            told = {"Group size": 2, "In msg nelems": number, "Collective name": "all_reduce"}
            args = {"args": told, "dur": 1, "pid": 1, "tid": 7, "ts": number}
            yield {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", **args}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "w.pt.trace.json"
    path.write_text(
        json.dumps({"deviceProperties": [{"id": 0, "name": "A"}], "traceEvents": [*events()]})
    )
    return path


def test_two_processes_read_what_one_reads(large: Path, absorbed: list[Part]) -> None:
    together = read_trace(large)
    assert absorbed[0].event_count > LARGE / 4
    assert len(together.flows.from_time) > 100
    assert len(together.memory.time) > 100
    assert len(together.collectives.event) > 100
    assert_same(together, alone(large))


def test_a_bare_list(tmp_path: Path, absorbed: list[Part]) -> None:
    path = tmp_path / "w.pt.trace.json"
    path.write_text(json.dumps([*events()]))
    assert_same(read_trace(path), alone(path))
    assert absorbed


@pytest.mark.parametrize(
    "name",
    ["tracelens_b200", "hta_a100_cuda_graphs", "hta_mtia_training", "hta_v100", "hta_a100_nccl"],
)
def test_shared_traces(name: str, absorbed: list[Part]) -> None:
    path = shared_traces.shared_trace(name)
    assert_same(read_trace(path), alone(path))
    assert absorbed


def test_progress_and_count_only_grow(large: Path, absorbed: list[Part]) -> None:
    done, counted = [], []

    def say(stage: str, fraction: float | None) -> None:
        if stage == "decoding":
            done.append(fraction)

    trace = read_trace(large, say, counted.append)
    assert absorbed
    assert done == sorted(done)
    assert done[-1] == 1.0
    assert counted == sorted(counted)
    assert counted[-1] == trace.event_count


@pytest.mark.parametrize("when", ["before", "after"])
def test_one_that_is_killed_is_not_missed(
    large: Path, absorbed: list[Part], monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    begin = Coworker.begin

    def killed(self: Coworker, path: Path, first: int) -> None:
        if when == "before":
            self._process.kill()
            self._process.wait()
        begin(self, path, first)
        if when == "after":
            self._process.kill()

    monkeypatch.setattr(Coworker, "begin", killed)
    assert_same(read_trace(large), alone(large))
    assert not absorbed


def test_a_file_that_changes_between_the_two_is_read_by_one(
    large: Path, absorbed: list[Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stale(path: Path) -> FileState:
        return file_state(path)._replace(modified_ns=0)

    monkeypatch.setattr(coworker, "file_state", stale)
    assert_same(read_trace(large), alone(large))
    assert not absorbed


@pytest.mark.parametrize("place", [0.1, 0.49, 0.5, 0.51, 0.9])
def test_a_damaged_file_is_read_by_one(
    large: Path, tmp_path: Path, absorbed: list[Part], place: float
) -> None:
    content = bytearray(large.read_bytes())
    middle = content.index(b'"ts": ', int(len(content) * place))
    content[middle + 6 : middle + 7] = b"{"
    path = tmp_path / "w.pt.trace.json"
    path.write_bytes(content)
    assert_same(read_trace(path), alone(path))
    assert [notice.code for notice in alone(path).notices].count("lost-events") == 1
    assert not absorbed


def test_one_whose_output_others_write_to_is_not_missed(
    large: Path, absorbed: list[Part], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('hello')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert_same(read_trace(large), alone(large))
    assert not absorbed


@pytest.mark.parametrize("end", ["]}\n", "]}    \n", "]}"])
def test_a_file_that_is_shorter_than_it_looks(
    tmp_path: Path, absorbed: list[Part], end: str
) -> None:
    """A plain text under the name of a gzip file; one that ends before the other's share."""
    path = tmp_path / "w.pt.trace.json.gz"
    rows = ",".join(json.dumps(event) for event in events(2000))
    path.write_text('{"traceEvents": [' + rows + end)
    assert_same(read_trace(path), alone(path))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coworker, "estimated_size", lambda _path: 1 << 30)
        assert_same(read_trace(path), alone(path))
    assert not absorbed


def test_nothing_of_the_folder_one_stands_in_is_run(
    large: Path, absorbed: list[Part], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be that of a stranger's trace."""
    for name in ("json", "msgspec", "numpy", "threading", "tb_hookview"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path, Path("odd")])
    read_trace(large)
    assert absorbed
    assert not (tmp_path / "run").exists()


def test_preparing_within_a_reading_does_nothing(large: Path, absorbed: list[Part]) -> None:
    read_trace(large, count=lambda _events: coworker.prepare(large))
    assert absorbed
    assert not coworker._waiting


def test_without_a_python_to_start_it_is_read_by_one(
    large: Path, absorbed: list[Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(large))
    assert_same(read_trace(large), alone(large))
    assert not absorbed


def test_none_is_left_when_the_reading_is_given_up(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    create = Coworker.__init__

    def noting(self: Coworker) -> None:
        create(self)
        started.append(self)

    monkeypatch.setattr(Coworker, "__init__", noting)

    def stop(_events: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        read_trace(large, count=stop)
    assert [coworker.is_alive for coworker in started] == [False]


def test_it_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    """Killed outright, with no time to clean up: its standard input closes."""
    program = (
        "import os, signal; from tb_hookview.trace import coworker as c; c.cores = lambda: 2; "
        "c._size = lambda path: 1 << 30; c.prepare(''); "
        "print(c._waiting[0]._process.pid, flush=True); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL
    for _ in range(1000):
        try:
            os.kill(int(ended.stdout), 0)
        except ProcessLookupError:
            return
        if Path(f"/proc/{int(ended.stdout)}/stat").read_text().split(") ")[1][0] == "Z":
            return
        time.sleep(0.02)
    pytest.fail("the second process outlived the first")


def test_what_is_prepared_is_used(large: Path, absorbed: list[Part]) -> None:
    coworker.prepare(large)
    (prepared,) = coworker._waiting
    coworker.prepare(large)
    assert coworker._waiting == [prepared]
    while prepared.ready_in():
        time.sleep(0.01)
    assert_same(read_trace(large), alone(large))
    assert absorbed
    assert not coworker._waiting
    assert not prepared.is_alive
