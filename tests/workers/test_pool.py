"""Functions called in other processes: results, failures, and that no process is left behind."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
from support.children import children

from tb_hookview.workers.limits import WorkerDiedError, WorkerError
from tb_hookview.workers.pool import Workers


@pytest.fixture
def workers() -> Iterator[Workers]:
    made = Workers(2)
    yield made
    made.shutdown(cancel_futures=True)


def until_gone(processes: Collection[psutil.Process]) -> bool:
    return not psutil.wait_procs(processes, timeout=300)[1]


def test_results_come_back_and_no_process_stays(workers: Workers) -> None:
    others = children()
    calls = [workers.submit(math.sqrt, number * number) for number in range(20)]
    assert [call.result(60) for call in calls] == list(range(20))
    assert list(workers.map(abs, [-1, -2])) == [1, 2]
    workers.shutdown()
    assert not children() - others


def test_at_most_so_many_processes_at_once(workers: Workers) -> None:
    numbers = {call.result(60) for call in [workers.submit(os.getpid) for _ in range(9)]}
    assert 1 <= len(numbers) <= 2
    assert os.getpid() not in numbers


def test_arrays_are_equal(workers: Workers) -> None:
    found = workers.submit(np.arange, 1_000_000, dtype=np.int32).result(60)
    assert found.dtype == np.int32
    assert np.array_equal(found, np.arange(1_000_000))


def test_what_a_function_raises_or_prints_harms_no_other_call(workers: Workers) -> None:
    raised = workers.submit(math.sqrt, -1)
    printed = workers.submit(print, "hello", flush=True)
    with pytest.raises(WorkerError, match="ValueError: math domain error"):
        raised.result(60)
    assert printed.result(60) is None
    assert workers.submit(abs, -1).result(60) == 1


def test_a_process_that_dies_takes_no_other_call_along() -> None:
    workers = Workers(1)
    died = [workers.submit(os._exit, 3), workers.submit(signal.raise_signal, signal.SIGKILL)]
    with pytest.raises(WorkerDiedError, match="ended with code 3"):
        died[0].result(60)
    with pytest.raises(WorkerDiedError, match="ended by SIGKILL"):
        died[1].result(60)
    assert workers.submit(abs, -1).result(60) == 1


def test_a_function_that_cannot_be_sent_is_an_error_of_its_call(workers: Workers) -> None:
    with pytest.raises(WorkerError):
        workers.submit(lambda: 1).result(60)
    assert workers.submit(abs, -1).result(60) == 1


def test_to_cancel_a_call_under_way_ends_its_process() -> None:
    others = children()
    workers = Workers(1)
    sleeping, waiting = workers.submit(time.sleep, 300), workers.submit(abs, -1)
    while not (sleeping.running() and (started := children() - others)):
        time.sleep(0.01)
    workers.stop(sleeping)
    with pytest.raises(WorkerDiedError):
        sleeping.result(60)
    assert until_gone(started)
    assert waiting.result(60) == 1


def test_shutdown_ends_what_is_under_way_and_refuses_more(workers: Workers) -> None:
    others = children()
    calls = [workers.submit(time.sleep, 300) for _ in range(4)]
    while not calls[0].running():
        time.sleep(0.01)
    workers.shutdown(cancel_futures=True)
    assert all(call.cancelled() or call.exception(60) for call in calls)
    assert not children() - others
    with pytest.raises(RuntimeError):
        workers.submit(abs, 1)


def test_one_that_was_prepared_is_ready_and_used(workers: Workers) -> None:
    others = children()
    workers.prepare(1)
    while workers.ready_in()[0] > 0:
        time.sleep(0.01)
    (prepared,) = children() - others
    assert len(workers.ready_in()) == 2
    assert workers.submit(os.getpid).result(60) == prepared.pid


def test_nothing_is_imported_from_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be that of a stranger's trace."""
    for name in ("json", "pickle", "multiprocessing", "numpy", "threading", "tb_hookview"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path, Path("odd")])
    assert Workers(1, preload="tb_hookview.trace.reader").submit(abs, -1).result(60) == 1
    assert not (tmp_path / "run").exists()


def test_a_program_without_a_main_guard_is_not_run_again(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "print('once')\nfrom tb_hookview.workers.pool import Workers\n"
        "print(Workers(1).submit(abs, -1).result(60))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == ("once\n1\n", "")


def test_what_others_write_to_the_pipe_is_not_a_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('hello')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(WorkerDiedError):
        Workers(1).submit(abs, -1).result(60)


def test_without_a_python_to_start_the_call_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    workers = Workers(1)
    workers.prepare(1)
    with pytest.raises(WorkerDiedError, match="none"):
        workers.submit(abs, -1).result(60)


@pytest.mark.parametrize("busy", [False, True])
def test_processes_end_with_the_one_that_started_them(busy: bool) -> None:
    """Killed outright, with no time to clean up: their standard input closes."""
    program = f"""
import os, signal, time
from tb_hookview.workers.pool import Workers
workers = Workers(2)
if {busy}:
    sleeping = workers.submit(time.sleep, 300)
    while not sleeping.running():
        time.sleep(0.01)
    time.sleep(0.3)
workers.prepare(2)
while workers.ready_in() and workers.ready_in()[-1] > 0:
    time.sleep(0.01)
import glob
print(*(open(f).read() for f in glob.glob("/proc/self/task/*/children")), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    numbers = {int(number) for number in ended.stdout.split()}
    assert len(numbers) == 2
    running = [psutil.Process(number) for number in numbers if psutil.pid_exists(number)]
    assert until_gone([process for process in running if process.status() != "zombie"])
