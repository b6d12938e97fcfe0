"""Long readings over HTTP: others are answered meanwhile, and one nobody waits for stops."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.loading import CachedReader
from tb_hookview.loading.store import Store
from tb_hookview.progress import Count
from tb_hookview.progress import Progress as Show
from tb_hookview.report.open_trace import OpenTrace
from tb_hookview.server import Server, served
from tb_hookview.trace import TraceFile

NEWEST = "run=rank2&worker=host_1"


class Readings:
    """Readings that last until they are told to finish, or are given up."""

    def __init__(self) -> None:
        self.began, self.ended, self.finish = (threading.Event() for _ in range(3))

    def __call__(self, file: TraceFile, show: Show, count: Count) -> Analysis:
        try:
            count(7)
            show("decoding", 0.5)
            self.began.set()
            while not self.finish.wait(0.02):
                show("decoding", 0.5)
            return CachedReader.from_environment().analysis(file, show, count)
        finally:
            self.ended.set()


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> Readings:
    made = Readings()
    monkeypatch.setattr(
        served,
        "trace_store",
        lambda _reader, budget, who: Store(made, lambda _, read: OpenTrace(read), budget, who),
    )
    return made


@pytest.fixture
def slow(readings: Readings, server: Server) -> Iterator[Server]:
    yield server
    readings.finish.set()


@pytest.fixture
def asking(slow: Server, readings: Readings) -> Iterator[socket.socket]:
    """A client that asked for a report, and waits."""
    with socket.create_connection(("127.0.0.1", urlsplit(slow.url).port or 0)) as client:
        client.sendall(f"GET /api/report?{NEWEST} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        assert readings.began.wait(60)
        yield client


def answer(server: Server, question: str) -> object:
    with urlopen(server.url + question, timeout=300) as response:
        return json.load(response)


@pytest.mark.usefixtures("asking")
def test_others_are_answered_while_a_trace_is_read(slow: Server, newest: Path) -> None:
    assert answer(slow, "api/runs")
    size = newest.stat().st_size
    expected = {"stage": "decoding", "done": 0.5, "bytes": round(size / 2), "events": 7}
    assert answer(slow, f"api/progress?{NEWEST}") == expected


def test_a_reading_ends_when_its_client_goes_away(
    slow: Server, readings: Readings, asking: socket.socket
) -> None:
    assert not readings.ended.wait(0.5), "its client is still there"
    asking.close()
    assert readings.ended.wait(60)
    assert answer(slow, f"api/progress?{NEWEST}") == {
        "stage": "waiting", "done": None, "bytes": None, "events": None,
    }  # fmt: skip


def test_a_client_that_stays_is_answered(readings: Readings, asking: socket.socket) -> None:
    readings.finish.set()
    assert b" 200 " in asking.recv(15)
