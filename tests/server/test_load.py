"""Many traces asked for at once, over real connections: bounded, in turn, all answered."""

from __future__ import annotations

import gc
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen
from weakref import ref

import grid
import pytest
from support.web_api import NODE, SMALL

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.loading import CachedReader
from tb_hookview.loading.store import Store
from tb_hookview.progress import Count
from tb_hookview.progress import Progress as Show
from tb_hookview.report.open_trace import PER_COLUMNS, Budget, OpenTrace
from tb_hookview.server import Server
from tb_hookview.server import served as served_by
from tb_hookview.trace import TraceFile, read_trace
from tb_hookview.workers.limits import cores

Traces = Store[TraceFile, OpenTrace]
TRACES, CLIENTS, BAD = 24, 8, 7
FEW = 5
"""How many of the traces fit into what is kept."""


class Readings:
    """Readings that are counted, and held back until they may begin."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.columns: list[ref[Any]] = []
        """A column of each analysis, for whether it is still in memory."""
        self.at_once, self.most = 0, 0
        self.begin = threading.Event()
        self._lock = threading.Lock()

    def __call__(self, file: TraceFile, show: Show, count: Count) -> Analysis:
        with self._lock:
            self.began.append(Path(file.address).parent.name)
            self.at_once += 1
            self.most = max(self.most, self.at_once)
        try:
            show("decoding", 0.0)
            assert self.begin.wait(120)
            analysis = CachedReader.from_environment().analysis(file, show, count)
            self.columns.append(ref(analysis.trace.events.start))
            return analysis
        finally:
            with self._lock:
                self.at_once -= 1

    def in_memory(self) -> int:
        """How many analyses are still there."""
        gc.collect()
        return sum(column() is not None for column in self.columns)


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """So many runs with a trace each, of which one is bad."""
    for number in range(TRACES):
        (tmp_path / f"run{number}").mkdir()
        write(trace_of(tmp_path, number))
    trace_of(tmp_path, BAD).write_bytes(b"%PDF-1.7")
    return tmp_path


def trace_of(logdir: Path, run: int) -> Path:
    return logdir / f"run{run}" / "rank0.1.pt.trace.json"


def write(path: Path) -> Path:
    return grid.write(path, grid.events(SMALL, NODE))


@pytest.fixture
def readings() -> Readings:
    return Readings()


@pytest.fixture
def store(readings: Readings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Traces]:
    """The store of every application that is made from now on."""
    room = FEW * PER_COLUMNS * read_trace(write(tmp_path / "alone.json")).nbytes
    made: Traces = Store(readings, lambda _file, read: OpenTrace(read), Budget(room))
    monkeypatch.setattr(served_by, "trace_store", lambda *_: made)
    yield made
    readings.begin.set()


@pytest.fixture
def served(store: Traces, logdir: Path) -> Iterator[Server]:
    server = Server(logdir)
    thread = threading.Thread(target=server.run)
    thread.start()
    yield server
    server.close()
    thread.join()


def ask(server: Server, question: str, run: int) -> tuple[int, Any]:
    try:
        with urlopen(
            f"{server.url}api/{question}?run=run{run}&worker=rank0", timeout=300
        ) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, json.load(error)


def until(condition: Callable[[], bool]) -> None:
    waited, end = threading.Event(), time.monotonic() + 60
    while time.monotonic() < end:
        if condition():
            return
        waited.wait(0.01)
    raise AssertionError("it never came about")


def test_many_traces_at_once_are_read_a_few_at_a_time_and_all_answered(
    served: Server, readings: Readings
) -> None:
    readings.begin.set()
    with ThreadPoolExecutor(CLIENTS) as clients:
        answers = list(clients.map(lambda run: ask(served, "report", run), range(TRACES)))
    assert Counter(status for status, _ in answers) == {200: TRACES - 1, 422: 1}
    assert answers[BAD][0] == 422
    assert len({answer["trace"]["events"] for status, answer in answers if status == 200}) == 1
    assert 1 <= readings.most <= cores()
    assert Counter(readings.began).most_common(1)[0][1] == 1, "each is read once"
    assert len(readings.columns) == TRACES - 1
    # Threads let go of what they answered with, and a report holds no analysis.
    until(lambda: 1 <= readings.in_memory() <= FEW)


def test_first_come_first_served(served: Server, readings: Readings, store: Traces) -> None:
    order = [run for run in range(20, 20 - CLIENTS, -1) if run != BAD]
    with ThreadPoolExecutor(CLIENTS) as clients:
        asked = []
        for place, run in enumerate(order, 1):
            asked.append(clients.submit(ask, served, "timeline", run))
            until(lambda place=place: len(store._readings) == place)  # type: ignore[misc]
        until(lambda: len(readings.began) == min(cores(), len(order)))
        assert ask(served, "progress", order[0])[1]["stage"] == "decoding"
        assert ask(served, "progress", order[-1])[1]["stage"] == "waiting"
        assert ask(served, "runs", 0)[0] == 200, "others are answered meanwhile"
        readings.begin.set()
        assert {answer.result(120)[0] for answer in asked} == {200}
    # Those that begin at once may tell of it in any order.
    place = {run: readings.began.index(f"run{run}") for run in order}
    assert all(abs(place[run] - came) < cores() for came, run in enumerate(order))
