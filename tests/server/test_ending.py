"""`hookview serve` told to end while it reads: it ends, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from support.web_api import RECORDED

from tb_hookview.trace.source.inflate import BLOCK
from tb_hookview.workers.limits import VARIABLE, cores

PROGRAM = """
import sys, threading
from tb_hookview.loading import CachedReader

def endless(reader, file, show, count):
    print("reading", flush=True)
    try:
        while True:
            show("decoding", 0.5)
            threading.Event().wait(0.01)
    finally:
        print("stopped", flush=True)

CachedReader.analysis = endless
from tb_hookview.cli import main
sys.argv = ["hookview", "serve", sys.argv[1]]
main()
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """All files that might be left behind are left below `tmp_path`."""
    return {**os.environ, "HOOKVIEW_CACHE": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}


@contextmanager
def serving(path: Path, *program: str, env: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A server of its own process, which has said where it is."""
    started = subprocess.Popen(
        [sys.executable, *program, str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
    )  # fmt: skip
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


@contextmanager
def asking(server: subprocess.Popen[str], trace: Path) -> Iterator[None]:
    """A client that asked for a trace, and waits."""
    assert server.stdout
    port = re.search(r"127\.0\.0\.1:(\d+)", server.stdout.readline())
    assert port
    with socket.create_connection(("127.0.0.1", int(port[1])), timeout=300) as client:
        query = f"run=.&worker={trace.name.split('.')[0]}"
        client.sendall(f"GET /api/timeline?{query} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        yield


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda n: n.name)
def test_it_ends_at_once_and_leaves_nothing_behind(
    tmp_path: Path, environment: dict[str, str], number: signal.Signals
) -> None:
    with (
        serving(RECORDED, "-c", PROGRAM, env=environment) as server,
        asking(server, RECORDED),
    ):
        assert server.stdout
        assert server.stdout.readline() == "reading\n"
        server.send_signal(number)
        said, complaints = server.communicate(timeout=300)
    assert said.startswith("stopped\n"), "the reading had its chance to clear up"
    assert "Traceback" not in complaints
    assert server.returncode == (128 + number if number == signal.SIGTERM else 0)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


IN_SHARES = """
import signal, sys
from tb_hookview.loading import cached_reader
from tb_hookview.trace import reader
from tb_hookview.workers import pool

start = pool._Process.__init__

def start_stopped(process, *given):
    start(process, *given)
    process._popen.send_signal(signal.SIGSTOP)  # so that it never comes to its end
    print(process._popen.pid, flush=True)

pool._Process.__init__ = start_stopped
cached_reader.SMALLEST_SHARE = reader.SMALLEST_SHARE = 1000  # a small trace is worth two
reader.BYTES_PER_S = 1
from tb_hookview.cli import main
sys.argv = ["hookview", "serve", sys.argv[1]]
main()
"""


@pytest.mark.skipif(cores() < 2, reason="needs two processors: one reads in one process")
def test_the_second_process_of_a_reading_ends_too(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    trace, env = tmp_path / "rank0.1.pt.trace.json", {**environment, VARIABLE: "2"}
    trace.write_text(f'{{"traceEvents": [{" " * 4 * BLOCK}]}}')
    with serving(trace, "-c", IN_SHARES, env=env) as server, asking(server, trace):
        assert server.stdout
        second = psutil.Process(int(server.stdout.readline()))
        server.send_signal(signal.SIGTERM)
        _, complaints = server.communicate(timeout=300)
    assert (server.returncode, complaints) == (128 + signal.SIGTERM, "")
    _, alive = psutil.wait_procs([second], timeout=300)
    for process in alive:
        process.kill()
    assert not alive
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [trace]
