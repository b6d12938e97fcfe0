"""`profile`: torch's profiler with hooks while it records, and one whole file per recording."""

from __future__ import annotations

import gc
import inspect
import json
import os
import socket
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch
from support.recording import Trace, hooks_below, only_trace
from torch import nn

import tb_hookview as hookview
from tb_hookview.markers import MANIFEST_KEY, VERSION


def model_and_step():
    model = hookview.wrap(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    return model, lambda: model(torch.ones(1, 4)).sum().backward()


def traces(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.pt.trace.json.gz"))


def test_it_yields_torchs_own_profiler(tmp_path):
    with hookview.profile(tmp_path, record_shapes=True, with_stack=False) as profiler:
        torch.ones(1).add(1)
    assert isinstance(profiler, torch.profiler.profile)
    assert any(event.key == "aten::add" for event in profiler.key_averages())


def test_an_unknown_keyword_is_torchs_own_error(tmp_path):
    with pytest.raises(TypeError, match="no_such_option"):
        hookview.profile(tmp_path, no_such_option=1)


def test_the_file_is_named_as_tensorboard_expects(tmp_path):
    folder = tmp_path / "not" / "there yet"
    with hookview.profile(folder):
        pass
    (path,) = folder.iterdir()
    worker, time, *rest = path.name.rsplit(".", 5)
    assert worker == f"{socket.gethostname()}_{os.getpid()}"
    assert time.isdecimal()
    assert rest == ["pt", "trace", "json", "gz"]


@pytest.mark.parametrize(
    ("rank", "world", "prefix"), [("3", "16", "rank03_"), ("0", "2", "rank0_")]
)
def test_ranks_of_a_launcher_sort_and_do_not_collide(tmp_path, monkeypatch, rank, world, prefix):
    monkeypatch.setenv("RANK", rank)
    monkeypatch.setenv("WORLD_SIZE", world)
    model, step = model_and_step()
    with hookview.profile(tmp_path):
        step()
    (path,) = traces(tmp_path)
    assert path.name.startswith(prefix + socket.gethostname())
    manifest = Trace(path).manifest
    assert (manifest["rank"], manifest["world_size"]) == (int(rank), int(world))
    hookview.unwrap(model)


def test_two_recordings_of_one_instant_are_two_files(tmp_path, monkeypatch):
    """Two containers may have one host name and process number on shared storage."""
    ticks = iter([5, 5, 5, 6, 7])
    monkeypatch.setattr("time.time_ns", lambda: next(ticks))
    with hookview.profile(tmp_path):
        pass
    (first,) = traces(tmp_path)
    (tmp_path / f".{first.name.replace('.5.', '.6.')}.partial").touch()  # another is at it
    with hookview.profile(tmp_path):
        pass
    stamps = {path.name.split(".")[-5] for path in traces(tmp_path)}
    assert stamps == {"5", "7"}
    assert next(ticks, None) is None
    assert all(Trace(path).manifest for path in traces(tmp_path))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"ranks": 0}, "such as [0]"),
        ({"ranks": []}, "nothing"),
        ({"ranks": [0, -1]}, "-1"),
        ({"ranks": "01"}, "'0'"),
        ({"ranks": [True]}, "True"),
        ({"ranks": [1.0]}, "1.0"),
        ({"ranks": [0, 1], "rank0_only": True}, "contradict"),
    ],
)
def test_ranks_that_cannot_be_meant_are_refused_at_the_call(tmp_path, options, says):
    with pytest.raises(hookview.UsageError) as refused:
        hookview.profile(tmp_path, **options)
    assert says in str(refused.value)


@pytest.mark.parametrize("options", [{"ranks": [0]}, {"rank0_only": True}, {"ranks": range(2)}])
def test_a_process_on_its_own_is_rank_0(tmp_path, options):
    with hookview.profile(tmp_path, **options):
        pass
    assert len(traces(tmp_path)) == 1


def test_ranks_that_the_run_does_not_have_are_logged_once(tmp_path, caplog):
    model, step = model_and_step()
    seen: list[object] = []
    with hookview.profile(tmp_path / "runs", ranks=[1, 2], on_trace_ready=seen.append) as profiler:
        for _ in range(3):
            step()
            assert hooks_below(model[0]) == []
            profiler.step()
    assert seen == []
    assert not (tmp_path / "runs").exists()
    assert [record.getMessage() for record in caplog.records] == [
        "tb_hookview: nothing is recorded: ranks=[1, 2], and this run has rank 0 only"
    ]
    hookview.unwrap(model)


def test_a_launchers_rank_that_is_not_chosen_says_nothing(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with hookview.profile(tmp_path, rank0_only=True):
        pass
    assert (traces(tmp_path), caplog.records) == ([], [])


@pytest.mark.parametrize("rank", [0, 1])
def test_an_execution_trace_is_observed_where_the_rank_records(tmp_path, rank):
    path = tmp_path / "execution.json"
    observer = torch.profiler.ExecutionTraceObserver().register_callback(str(path))
    with hookview.profile(tmp_path, ranks=[rank], execution_trace_observer=observer):
        torch.ones(1).add(1)
    assert ("aten::add" in path.read_text()) == (rank == 0)
    assert len(traces(tmp_path)) == (rank == 0)


def test_hooks_are_attached_in_the_active_steps_only(tmp_path):
    model, step = model_and_step()
    attached: list[int] = []
    model[1].register_forward_hook(lambda *_: attached.append(len(hooks_below(model))))
    schedule = torch.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    with hookview.profile(tmp_path, schedule=schedule) as profiler:
        for _ in range(6):
            step()
            profiler.step()
    assert [count > 1 for count in attached] == [False, False, True, True, False, False]
    assert [count for count in attached if count <= 1] == [1] * 4
    trace = only_trace(tmp_path)
    assert trace.paths("forward") == {"": 2, "0": 2, "1": 2}
    assert len(trace.named("ProfilerStep#2")) == len(trace.named("ProfilerStep#3")) == 1
    hookview.unwrap(model)


def test_every_cycle_is_a_file_with_its_own_manifest(tmp_path):
    model, step = model_and_step()
    seen: list[int] = []
    schedule = torch.profiler.schedule(wait=0, warmup=1, active=1, repeat=3)
    with hookview.profile(
        tmp_path, schedule=schedule, on_trace_ready=lambda _: seen.append(len(traces(tmp_path)))
    ) as profiler:
        for _ in range(6):
            step()
            profiler.step()
    assert seen == [1, 2, 3]
    assert all(Trace(path).manifest["version"] == VERSION for path in traces(tmp_path))
    assert all(Trace(path).paths("forward")[""] == 1 for path in traces(tmp_path))
    hookview.unwrap(model)


def test_what_was_recorded_is_written_when_training_raises(tmp_path):
    model, step = model_and_step()
    model[1].register_forward_hook(lambda *_: 1 // 0)
    with pytest.raises(ZeroDivisionError), hookview.profile(tmp_path):
        step()
    assert only_trace(tmp_path).paths("forward")[""] == 1
    hookview.unwrap(model)


def test_a_step_inside_forward_closes_what_is_open(tmp_path):
    class Steps(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            profiler.step()
            return x

    model = hookview.wrap(nn.Sequential(nn.Identity(), Steps()))
    schedule = torch.profiler.schedule(wait=0, warmup=1, active=1, repeat=2)
    with hookview.profile(tmp_path, schedule=schedule) as profiler:
        for _ in range(4):
            model(torch.ones(1))
    recorded = [Trace(path).paths("forward") for path in traces(tmp_path)]
    assert recorded[0] == {"": 1, "0": 1, "1": 1}
    hookview.unwrap(model)


def test_a_trace_that_cannot_be_written_is_a_warning(tmp_path, expected_fault):
    blocked = tmp_path / "file"
    blocked.write_text("a file where the folder should be")
    model, step = model_and_step()
    seen: list[object] = []
    recording = hookview.profile(blocked / "runs", on_trace_ready=seen.append)
    with (
        pytest.warns(
            RuntimeWarning, match="writing a trace into .* failed.*this recording is lost"
        ),
        recording as profiler,
    ):
        step()
    assert seen == [profiler]
    assert model[0].weight.grad is not None
    hookview.unwrap(model)


@pytest.mark.slow
def test_a_full_disk_leaves_a_warning_and_no_broken_file(tmp_path):
    script = f"""
import resource, signal, warnings, pathlib, torch
import tb_hookview as hookview
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
model = hookview.wrap(torch.nn.Linear(4, 4))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with hookview.profile({str(tmp_path)!r}):
        for _ in range(50):
            model(torch.ones(1, 4)).sum().backward()
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
ours = [w for w in caught if "writing a trace into" in str(w.message)]
print(len(ours), list(pathlib.Path({str(tmp_path)!r}).iterdir()))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=Path.cwd()
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("1 []")


def test_the_manifest_describes_the_tree(tmp_path):
    model = nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.Linear(3, 2).half()))
    model[1].requires_grad_(False)
    hookview.wrap(model, exclude=["1"])
    loss = hookview.wrap(nn.MSELoss(), name="loss", markers="forward")
    with hookview.profile(tmp_path):
        pass
    manifest = only_trace(tmp_path).manifest
    assert manifest["torch"] == torch.__version__
    assert manifest["markers"] == ["auto", "forward"]
    assert (manifest["rank"], manifest["world_size"]) == (None, None)
    rows = [
        (r["path"], r["class"], r["parameters"], r["bytes"], r["trainable"], r["marked"])
        for r in manifest["modules"]
    ]
    assert rows == [
        ("", "Sequential", 0, 0, False, True),
        ("0", "Linear", 15, 60, True, True),
        ("1", "Sequential", 0, 0, False, False),
        ("1.0", "Linear", 8, 16, False, True),
        ("loss", "MSELoss", 0, 0, False, True),
    ]
    installed = Path(torch.__file__).parents[1]
    source = (installed / manifest["modules"][1]["file"]).read_text().splitlines()
    assert source[manifest["modules"][1]["line"] - 1].startswith("class Linear(")
    hookview.unwrap(model)
    hookview.unwrap(loss)


def test_the_manifest_lists_the_roots_in_order(tmp_path):
    model = hookview.wrap(nn.ModuleDict({"head": nn.Linear(2, 2), "loss": nn.Identity()}))
    hookview.wrap(model["head"], name='the "head"')
    loss = hookview.wrap(nn.MSELoss(), name='loss "1"')
    with hookview.profile(tmp_path):
        pass
    assert only_trace(tmp_path).manifest["roots"] == ["", 'loss "1"']
    hookview.unwrap(model)
    with hookview.profile(tmp_path / "parts"):
        pass
    assert only_trace(tmp_path / "parts").manifest["roots"] == ['the "head"', 'loss "1"']
    hookview.unwrap(model["head"])
    hookview.unwrap(loss)


def test_a_shared_parameter_is_counted_once(tmp_path):
    model = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False))
    model[1].weight = model[0].weight
    hookview.wrap(model)
    with hookview.profile(tmp_path):
        pass
    counts = [row["parameters"] for row in only_trace(tmp_path).manifest["modules"]]
    assert counts == [0, 16, 0]
    hookview.unwrap(model)


def test_without_a_wrapped_module_the_manifest_still_tells_torchs_version(tmp_path):
    with hookview.profile(tmp_path):
        pass
    manifest = only_trace(tmp_path).manifest
    assert (manifest["torch"], manifest["modules"]) == (torch.__version__, [])


def test_a_large_manifest_survives(tmp_path):
    model = hookview.wrap(nn.ModuleList(nn.Identity() for _ in range(5000)))
    with hookview.profile(tmp_path):
        pass
    manifest = only_trace(tmp_path).manifest
    assert len(manifest["modules"]) == 5001
    assert MANIFEST_KEY not in json.dumps(manifest)
    hookview.unwrap(model)


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
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT + rest],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert done.stderr.count("nothing was recorded") == 1
    assert says in done.stderr
    assert done.stderr.startswith("<string>:4: ")  # where the profiler was made


def test_torchs_keywords_are_in_the_signature_with_torchs_defaults():
    ours = inspect.signature(hookview.profile).parameters
    theirs = inspect.signature(torch.profiler.profile).parameters
    deprecated = {"use_cuda"}
    assert set(theirs) - set(ours) <= deprecated
    assert {n: ours[n].default for n in theirs if n in ours} == {
        n: p.default for n, p in theirs.items() if n in ours
    }


def test_every_keyword_reaches_torch(tmp_path):
    config = torch._C._profiler._ExperimentalConfig(verbose=True)
    profiler = hookview.profile(
        tmp_path,
        activities=[torch.profiler.ProfilerActivity.CPU],
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
        with_flops=True,
        experimental_config=config,
    )
    profiler.stand_by()
    assert profiler.activities == {torch.profiler.ProfilerActivity.CPU}
    assert profiler.record_shapes
    assert profiler.profile_memory
    assert profiler.with_stack
    assert profiler.with_flops
    assert profiler.experimental_config is config


def test_step_times_of_a_recording_are_in_its_manifest(tmp_path):
    schedule = torch.profiler.schedule(wait=3, warmup=1, active=2, repeat=2)
    with hookview.profile(tmp_path, schedule=schedule) as profiler:
        for _ in range(12):
            torch.ones(1).add(1)
            profiler.step()
    times = [Trace(path).manifest["steps"] for path in traces(tmp_path)]
    # The first step of each wait is left out, and so are the steps of the warmup.
    assert [(len(t["unrecorded_us"]), len(t["recorded_us"])) for t in times] == [(2, 2), (4, 2)]
    assert times[1]["unrecorded_us"][:2] == times[0]["unrecorded_us"]
    assert all(us > 0 for t in times for kind in t.values() for us in kind)


def test_a_block_without_steps_has_no_step_times(tmp_path):
    with hookview.profile(tmp_path):
        torch.ones(1)
    assert "steps" not in only_trace(tmp_path).manifest


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


def test_where_torch_writes_no_file_there_is_one_line(tmp_path, monkeypatch, expected_fault):
    """As where an exporter of torch skips a recording."""
    monkeypatch.setattr(torch.profiler.profile, "export_chrome_trace", lambda *_: None)
    with (
        pytest.warns(RuntimeWarning, match="torch wrote no file.*this recording is lost"),
        hookview.profile(tmp_path),
    ):
        torch.ones(1)
    assert list(tmp_path.iterdir()) == []


def test_an_export_in_another_thread_is_waited_for(tmp_path, monkeypatch):
    """As torch's asynchronous export, which has a method to wait for it."""
    export = torch.profiler.profile.export_chrome_trace
    later = []

    def export_later(profiler, path):
        later.append(lambda: export(profiler, path))

    monkeypatch.setattr(torch.profiler.profile, "export_chrome_trace", export_later)
    monkeypatch.setattr(
        torch.profiler.profile, "wait_for_exports", lambda _: later.pop()(), raising=False
    )
    model, step = model_and_step()
    with hookview.profile(tmp_path):
        step()
    assert only_trace(tmp_path).paths("before backward") == {"": 1, "0": 1, "1": 1}
    hookview.unwrap(model)
