"""Warnings of `profile` about recordings that hold nothing, or less than expected."""

from __future__ import annotations

import gc
import inspect
import warnings
from pathlib import Path

import pytest
import torch
from support.forked_python import run_python
from support.recording import model_and_step, only_trace, traces

import tb_hookview as hookview


@pytest.fixture
def unfiltered(recwarn):
    """All warnings, however often Python has seen them."""
    warnings.simplefilter("always")
    return lambda: [str(w.message) for w in recwarn if "tb_hookview" in str(w.message)]


def skipping(steps: int):
    return torch.profiler.schedule(wait=steps - 1, warmup=1, active=1, repeat=1)


@pytest.mark.parametrize(
    ("steps", "says"),
    [
        (0, "skips 5 steps first, and profiler.step() was never called; call it at the end of"),
        (1, "skips 5 steps first, and the training had 1 step (calls of profiler.step())"),
        (4, "the training had 4 steps (calls of profiler.step()); train for more, or lower the"),
    ],
)
def test_a_block_that_records_nothing_is_one_warning(tmp_path, unfiltered, steps, says):
    with hookview.profile(tmp_path, schedule=skipping(5)) as profiler:
        for _ in range(steps):
            profiler.step()
    del profiler
    gc.collect()
    (warning,) = unfiltered()
    assert warning.startswith("tb_hookview: nothing was recorded: ")
    assert says in warning
    assert traces(tmp_path) == []


def test_a_schedule_that_never_records_is_a_warning(tmp_path, unfiltered):
    with hookview.profile(tmp_path, schedule=lambda _: torch.profiler.ProfilerAction.NONE):
        pass
    (warning,) = unfiltered()
    assert "the schedule records no step" in warning


@pytest.mark.parametrize("steps", [0, 3])
def test_a_profiler_that_is_never_entered_is_one_warning(tmp_path, unfiltered, steps):
    profiler = hookview.profile(tmp_path)
    for _ in range(steps):
        profiler.step()
    del profiler
    gc.collect()
    (warning,) = unfiltered()
    assert "was never started; use it as `with hookview.profile(...) as profiler:`" in warning


@pytest.mark.parametrize(
    ("started", "says"), [(True, "was dropped while it recorded"), (False, "was never started")]
)
def test_a_recording_dropped_before_it_is_written_is_a_warning(tmp_path, unfiltered, started, says):
    profiler = hookview.profile(tmp_path, schedule=skipping(2))
    if started:
        profiler.start()
    for _ in range(2):
        profiler.step()  # torch begins to record
    profiler.stop_trace()
    del profiler
    gc.collect()
    (warning,) = unfiltered()
    assert f"{says}; use it as `with" in warning


def test_the_warning_is_about_the_line_that_made_the_profiler(tmp_path, unfiltered, recwarn):
    line = inspect.currentframe().f_lineno + 1
    hookview.profile(tmp_path)
    gc.collect()
    (warning,) = recwarn
    assert (warning.filename, warning.lineno) == (__file__, line)


def test_one_process_is_warned_once(tmp_path, unfiltered):
    for _ in range(3):
        with hookview.profile(tmp_path, schedule=skipping(5)):
            pass
    assert len(unfiltered()) == 1


def test_what_was_recorded_is_no_reason_to_warn(tmp_path, unfiltered):
    with hookview.profile(tmp_path, schedule=skipping(2)) as profiler:
        for _ in range(9):
            profiler.step()
    with hookview.profile(tmp_path):
        pass
    with hookview.profile(tmp_path, schedule=skipping(1)) as profiler:  # ends while it records
        profiler.step()
    stepped = hookview.profile(tmp_path, schedule=skipping(3))  # torch records without `start`
    for _ in range(4):
        stepped.step()
    assert len(traces(tmp_path)) == 4
    del profiler, stepped
    gc.collect()
    assert unfiltered() == []


def test_a_training_that_fails_early_has_its_own_error_only(tmp_path, unfiltered):
    with pytest.raises(ZeroDivisionError), hookview.profile(tmp_path, schedule=skipping(5)):
        raise ZeroDivisionError
    gc.collect()
    assert unfiltered() == []


def test_a_rank_that_is_not_chosen_is_not_warned(tmp_path, unfiltered, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with hookview.profile(tmp_path, schedule=skipping(5), rank0_only=True):
        pass
    hookview.profile(tmp_path, ranks=[0])
    gc.collect()
    assert unfiltered() == []


SCRIPT = """
import torch
import tb_hookview as hookview
profiler = hookview.profile("runs", schedule=torch.profiler.schedule(wait=5, warmup=1, active=1))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rest", "says"),
    [
        ("", "never started"),
        ("profiler.start(); profiler.step()", "the training had 1 step"),
        ("import os; os.fork() or os._exit(0); os.wait()", "never started"),
    ],
)
def test_the_end_of_the_process_warns_too(tmp_path, rest, says):
    paths = {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = run_python("-c", SCRIPT + rest, cwd=tmp_path, environment=paths)
    assert done.returncode == 0
    assert done.stderr.count("nothing was recorded") == 1
    assert says in done.stderr
    assert done.stderr.startswith("<string>:4: ")  # where the profiler was made


def test_a_profiler_without_events_is_one_warning(tmp_path, unfiltered):
    """The marks on the backward are found by the profiler's events, which torch can leave out."""
    config = torch._C._profiler._ExperimentalConfig
    if "trace_only" not in str(config.__init__.__doc__):
        pytest.skip("this torch has no trace_only")
    model, step = model_and_step()
    with hookview.profile(tmp_path, experimental_config=config(trace_only=True)):
        step()
    trace = only_trace(tmp_path)
    assert trace.paths("forward") == {"": 1, "0": 1, "1": 1}
    assert trace.paths("before backward") == {}
    (warning,) = unfiltered()
    assert "trace_only" in warning
    hookview.unwrap(model)


def test_a_recording_is_not_written_as_pftrace(tmp_path, unfiltered):
    """torch writes a recording once, and ours is JSON."""
    wanted = tmp_path / "x.pftrace"
    with hookview.profile(
        tmp_path / "runs", on_trace_ready=lambda p: p.export_chrome_trace(str(wanted))
    ):
        torch.ones(1)
    assert not wanted.exists()
    (warning,) = unfiltered()
    assert "x.pftrace is not written: this recording is" in warning
    assert len(traces(tmp_path / "runs")) == 1
