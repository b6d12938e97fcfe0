"""`watch` where something goes wrong: training goes on, and what was written is whole."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import torch
from support.forked_python import run_python
from torch import nn

import tb_hookview as hookview
from tb_hookview.history.answer import read_history
from tb_hookview.watching import keeping
from tb_hookview.watching.agreement import RecordingPlan, StoreBoard

PROGRAM = """
import os, resource, signal, sys, time
import torch
from torch import nn
import tb_hookview as hookview

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
options = dict(first=None, slow_factor=None)

def step():
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    watch.step()

with hookview.watch("run", model=model, **options) as watch:
"""

KILLED = """
    step()
    while not list(__import__("pathlib").Path("run").glob("*.jsonl")):
        step()
    watch.record(steps=1000)
    while watch._recorder.plan is None or watch._step < watch._recorder.plan.start + 3:
        step()
    seen = watch._step
    while watch._keeper._written < seen:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
"""

FULL = """
    for _ in range(20):
        step()
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    end = time.monotonic() + 60
    while not watch.lost and time.monotonic() < end:
        step()
    lost, seen, scalars = watch.lost, watch._step, watch._keeper._scalars
    points = scalars._points
    while scalars._points <= points and time.monotonic() < end:
        step()
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    while watch._keeper._written <= seen and time.monotonic() < end:
        step()
    print(lost > 0)
"""

GONE = """
    import shutil
    step()
    shutil.rmtree("run", ignore_errors=True)
    open("run", "w").close()
    watch.record()
    end = time.monotonic() + 60
    keeper = watch._keeper
    def unhurried_step():
        while len(keeper.ended) > 1000 and time.monotonic() < end:
            time.sleep(0.01)  # steps that its thread has no time for are lost too
        step()
    while not (keeper._lost and keeper._file.lost) and time.monotonic() < end:
        unhurried_step()
    points = keeper._scalars._points
    while keeper._scalars._points <= points and time.monotonic() < end:
        unhurried_step()
    print(keeper._lost, keeper._file.lost > 0)
"""


INTERRUPTED = """
    while watch._step < 5:
        step()
    if sys.argv[1] == "recording":
        watch.record(steps=1000)
        while watch._recorder.plan is None or watch._step < watch._recorder.plan.start + 3:
            step()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    print(watch._step, flush=True)
    os.kill(os.getpid(), signal.SIGINT)
    while True:
        step()
"""


def whole_lines(folder: Path) -> int:
    """Number of whole lines; a write that broke off leaves at most its last one in pieces."""
    count = 0
    for path in folder.glob("*.steps.jsonl"):
        lines = path.read_bytes().split(b"\n")
        for line in lines[:-1]:
            json.loads(line)
            count += 1
    return count


def test_killed_while_recording_leaves_whole_rows_and_no_trace(tmp_path):
    done = run_python("-c", PROGRAM + KILLED, cwd=tmp_path)
    assert done.returncode == -9
    assert whole_lines(tmp_path / "run") >= 4
    assert list((tmp_path / "run").glob("*.pt.trace.json.gz")) == []
    assert read_history(str(tmp_path / "run")).recordings == []


@pytest.mark.parametrize("state", ["recording", "watching"])
def test_ctrl_c_reaches_the_training_and_what_was_seen_is_whole(tmp_path, state):
    done = run_python("-c", PROGRAM + INTERRUPTED, state, cwd=tmp_path)
    assert "KeyboardInterrupt" in done.stderr.splitlines()[-1]
    assert "RuntimeWarning" not in done.stderr
    seen = int(done.stdout)
    folder = tmp_path / "run"
    (rank,) = read_history(str(folder)).ranks
    assert (rank.lost_lines, rank.missing_steps) == (0, 0)
    recorded = int(state == "recording")
    assert len(list(folder.glob("*.pt.trace.json.gz"))) == recorded
    assert whole_lines(folder) >= 1 + seen + recorded


LEFT = """
import atexit, threading
atexit.register(lambda: print([each.name for each in threading.enumerate()]))  # after ours
"""


def test_a_watch_that_is_never_stopped_is_at_exit(tmp_path):
    """A thread of ours that is at a store while Python ends aborts the process."""
    program = PROGRAM.replace("with hookview.watch(", "watch = hookview.watch(")
    program = program.replace(") as watch:", ")\nwatch.start()\n[step() for _ in range(7)]")
    done = run_python("-c", LEFT + program, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "['MainThread']\n"), done.stderr
    (rank,) = read_history(str(tmp_path / "run")).ranks
    assert (rank.steps, rank.missing_steps) == (7, 0)


def test_a_full_disk_is_one_warning_and_a_counter(tmp_path):
    done = run_python("-c", PROGRAM + FULL, cwd=tmp_path)
    assert (done.returncode, done.stdout.split()) == (0, ["True"]), done.stderr
    assert done.stderr.count("RuntimeWarning: tb_hookview: writing steps") == 1
    assert "Traceback" not in done.stderr
    rank = read_history(str(tmp_path / "run")).ranks[0]
    assert (rank.lost_lines, rank.missing_steps > 0) == (0, True)  # room came back after that
    (file,) = (tmp_path / "run").glob("*.steps.jsonl")
    assert file.stat().st_size > 4096


def test_a_folder_that_is_gone_is_a_warning_for_steps_and_one_for_recordings(tmp_path):
    done = run_python("-c", PROGRAM + GONE, cwd=tmp_path)
    assert (done.returncode, done.stdout.split()) == (0, ["1", "True"]), done.stderr
    warned = [line for line in done.stderr.splitlines() if "RuntimeWarning: tb_hookview:" in line]
    assert sorted(line.rpartition(", ")[2] for line in warned) == [
        "these steps are not kept",
        "this recording is lost",
    ]
    assert "Traceback" not in done.stderr


def test_many_short_steps_are_written_before_there_is_no_room_for_more(tmp_path, monkeypatch):
    monkeypatch.setattr(keeping, "PERIOD_S", 3600)
    monkeypatch.setattr(keeping, "_WAITING", 4000)
    with hookview.watch(tmp_path, first=None, slow_factor=None, scalars=False) as watch:
        end = time.monotonic() + 60
        while not watch._keeper._written and time.monotonic() < end:
            watch.step()
            time.sleep(0.0001)
        assert watch._keeper._written


def test_a_clock_that_jumps_changes_no_duration(tmp_path, monkeypatch):
    model, now = nn.Linear(2, 2), iter(range(10**9, 0, -(10**6)))
    with hookview.watch(
        tmp_path, model=model, first=None, slow_factor=None, scalars=False
    ) as watch:
        for _ in range(12):
            model(torch.ones(1, 2)).sum().backward()
            with monkeypatch.context() as jumps:
                jumps.setattr(time, "time", lambda: next(now))
                watch.step()
    said = read_history(str(tmp_path))
    assert (said.ranks[0].steps, said.ranks[0].missing_steps) == (12, 0)
    assert said.points.min_us[-1] is not None
    assert said.points.min_us[-1] > 0


def start_server() -> torch.distributed.TCPStore:
    return torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)


@pytest.mark.skipif(
    not hasattr(getattr(torch.distributed, "TCPStore", None), "clone"),
    reason="this torch opens no second connection to a store: ranks agree in a folder",
)
def test_ranks_agree_through_a_store():
    server = start_server()
    mine, yours = StoreBoard(server), StoreBoard(server)
    one, two = RecordingPlan(10, 3, "slow", 0, None, 1.5), RecordingPlan(11, 1, "call", 1)
    assert mine.look(0) is None
    assert mine.post(0, one) == one
    assert yours.post(0, two) == one == yours.look(0)
    assert yours.look(1) is None


@pytest.mark.skipif(
    not hasattr(getattr(torch.distributed, "TCPStore", None), "clone"),
    reason="this torch opens no second connection to a store: ranks agree in a folder",
)
def test_a_store_that_goes_away_stops_nothing(tmp_path, expected_fault):
    server = start_server()
    client = torch.distributed.TCPStore("127.0.0.1", server.port, wait_for_workers=False)
    board = StoreBoard(client)
    del server
    model = nn.Linear(2, 2)

    def train() -> None:
        with hookview.watch(
            tmp_path, model=model, first=None, slow_factor=None, scalars=False
        ) as watch:
            watch._keeper._board = board
            for _ in range(30):
                model(torch.ones(1, 2)).sum().backward()
                watch.step()

    with pytest.warns(RuntimeWarning, match="watching the training failed"):
        train()
    assert read_history(str(tmp_path)).ranks[0].steps == 30
