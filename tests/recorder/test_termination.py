"""SIGTERM and sys.exit: what was recorded is written, or one line says why not."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import forked_scripts
from support.recording import traces

SCRIPT = """
import os, signal, sys, threading, torch
import tb_hookview as hookview

where, step, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
model = hookview.wrap(torch.nn.Linear(4, 4))
if how == "handler":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
if how in ("twice", "stuck", "blocked"):
    from tb_hookview.recorder import profiling, termination, writing

    termination.SECONDS = 600 if how == "twice" else 0.01
if how in ("twice", "stuck"):
    write = writing._export

    def export(*given):  # the signals come while torch writes its file
        os.kill(os.getpid(), signal.SIGTERM)
        if how == "stuck":
            threading.Event().wait()
        os.kill(os.getpid(), signal.SIGTERM)
        write(*given)

    writing._export = export
if how == "stopping":
    stop = torch.profiler.profile.stop_trace

    def stop_trace(self):  # the signal comes while torch stops
        os.kill(os.getpid(), signal.SIGTERM)
        stop(self)

    torch.profiler.profile.stop_trace = stop_trace
schedule = torch.profiler.schedule(wait=2, warmup=1, active=50)
if how == "early":
    os.kill(os.getpid(), signal.SIGTERM)
with hookview.profile(where, schedule=schedule) as profiler:
    for number in range(9):
        model(torch.ones(1, 4)).sum().backward()
        profiler.step()
        if number == step:
            if how in ("signal", "handler"):
                os.kill(os.getpid(), signal.SIGTERM)
            elif how == "exit":
                sys.exit(3)
            elif how == "blocked":  # nothing of Python runs here again, as in a lost collective
                sys.setswitchinterval(1000)  # the thread runs once this one is blocked
                go, lost = threading.Lock(), threading.Lock()
                go.acquire(), lost.acquire()

                def kill():
                    go.acquire()
                    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

                threading.Thread(target=kill).start()
                go.release()
                lost.acquire()
            elif how == "fails":
                raise ValueError("of the script")
            else:
                break
"""
CASES = {
    "recording": ("6", "signal"),
    "waiting": ("0", "signal"),
    "handler": ("6", "handler"),
    "exit": ("6", "exit"),
    "early": ("6", "early"),
    "twice": ("6", "twice"),
    "stuck": ("6", "stuck"),
    "stopping": ("6", "stopping"),
    "fails": ("6", "fails"),
    "blocked": ("6", "blocked"),
}

PLAIN = """
import os, signal, torch

model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for number in range(9):
    model(torch.ones(1, 4)).sum().backward()
    optimizer.step()
    if number == 5:
        os.kill(os.getpid(), signal.SIGTERM)
"""
UNDER_RUN = "run"
"""The case of a plain script under `hookview run`."""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, list[Path]]]:
    folder = tmp_path_factory.mktemp("ended")
    (folder / "train.py").write_text(SCRIPT)
    (folder / "plain.py").write_text(PLAIN)
    calls = [["train.py", str(folder / name), *case] for name, case in CASES.items()]
    run = ["-m", "tb_hookview.cli", "run", "--logdir", str(folder / UNDER_RUN), "plain.py"]
    done = subprocess.run(
        [sys.executable, forked_scripts.__file__],
        input=json.dumps([*calls, run]),
        capture_output=True,
        text=True,
        cwd=folder,
        check=True,
    )
    found = json.loads(done.stdout[done.stdout.index("[[") :])
    return {
        name: (code, errors, traces(folder / name))
        for name, (code, _, errors) in zip([*CASES, UNDER_RUN], found, strict=True)
    }


def lines(errors: str) -> list[str]:
    return [line for line in errors.splitlines() if line.startswith("tb_hookview: ")]


def test_what_is_recorded_is_written_and_the_signal_ends_the_process(ended):
    code, errors, files = ended["recording"]
    assert code == -signal.SIGTERM
    assert len(files) == 1
    assert lines(errors)[-1] == f"tb_hookview: SIGTERM: wrote {files[0]}"


def test_under_hookview_run_it_is_the_same(ended):
    code, errors, files = ended[UNDER_RUN]
    assert (code, len(files)) == (-signal.SIGTERM, 1)
    assert f"\nhookview: wrote {files[0]} (" in errors
    assert lines(errors) == [f"tb_hookview: SIGTERM: wrote {files[0]}"]


def test_before_the_first_recorded_step_one_line_says_why_not(ended):
    code, errors, files = ended["waiting"]
    assert (code, files) == (-signal.SIGTERM, [])
    assert lines(errors) == [
        "tb_hookview: SIGTERM: no step was being recorded, so nothing is written"
    ]


@pytest.mark.parametrize(("name", "code"), [("handler", 7), ("exit", 3)])
def test_a_handler_of_the_scripts_and_sys_exit_decide_alone(ended, name, code):
    found, errors, files = ended[name]
    assert (found, len(files)) == (code, 1)
    (line,) = lines(errors)
    assert line.startswith(f"tb_hookview: wrote {files[0]} (")


@pytest.mark.parametrize("name", ["twice", "stopping"])
def test_signals_that_come_while_a_recording_ends_wait_for_its_file(ended, name):
    """A launcher passes on the signal that the whole group got."""
    code, errors, files = ended[name]
    assert (code, len(files)) == (-signal.SIGTERM, 1)
    assert lines(errors)[-1] == f"tb_hookview: SIGTERM: wrote {files[0]}"


@pytest.mark.parametrize("name", ["stuck", "blocked"])
def test_an_end_that_takes_longer_than_the_limit_is_given_up(ended, name):
    code, errors, files = ended[name]
    assert (code, files) == (128 + signal.SIGTERM, [])
    assert lines(errors) == [
        "tb_hookview: SIGTERM: the recording is not written, as that takes more than 0 s"
    ]


def test_an_exception_reaches_the_caller_after_its_recording_is_written(ended):
    code, errors, files = ended["fails"]
    assert (code, len(files)) == (1, 1)
    assert errors.rstrip().endswith("ValueError: of the script")


def test_before_profile_the_signal_is_the_scripts(ended):
    assert ended["early"] == (-signal.SIGTERM, "", [])


def test_before_the_first_step_of_an_optimizer_the_signal_ends_hookview_run(tmp_path):
    script = tmp_path / "train.py"
    script.write_text("import os, signal\nimport torch\nos.kill(os.getpid(), signal.SIGTERM)\n")
    command = ["-m", "tb_hookview.cli", "run", "--logdir", str(tmp_path / "runs"), str(script)]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGTERM
    assert traces(tmp_path / "runs") == []
    assert "Traceback" not in done.stderr
