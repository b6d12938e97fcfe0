"""`profile`: torch's profiler with hooks while it records, and one whole file per recording."""

from __future__ import annotations

import inspect
import json
import os
import re
import socket
from pathlib import Path

import pytest
import torch
from support.forked_python import run_python
from support.recording import Trace, hooks_below, model_and_step, only_trace, traces
from torch import nn

import tb_hookview as hookview
from tb_hookview.markers import MANIFEST_KEY, VERSION
from tb_hookview.recorder import progress


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


def test_a_long_stop_is_announced_with_its_events_and_an_estimate(tmp_path, monkeypatch, capfd):
    said: list[str] = []
    for events in (505_000, 100_000):
        progress.announce(said.append, events)
    assert said == ["writing 505,000 events (about 6 s)"]
    monkeypatch.setattr(progress, "_LONG", 0.0)
    model, step = model_and_step()
    with hookview.profile(tmp_path):
        step()
    first, second = (
        line for line in capfd.readouterr().err.splitlines() if line.startswith("tb_hookview: ")
    )
    assert re.fullmatch(r"tb_hookview: writing [1-9]\d* events \(about 0 s\)", first)
    assert re.fullmatch(
        rf"tb_hookview: wrote {re.escape(str(*traces(tmp_path)))} \(\d+ kB, [\d.]+ s\)", second
    )
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
    assert [count > 0 for count in attached] == [False, False, True, True, False, False]
    assert [count for count in attached if count == 0] == [0] * 4
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


def test_a_fault_in_marks_hides_no_lost_recording(tmp_path, expected_fault, monkeypatch, recwarn):
    def broken(name: str) -> object:
        raise RuntimeError("broken on purpose")

    blocked = tmp_path / "file"
    blocked.write_text("a file where the folder should be")
    model, step = model_and_step()
    monkeypatch.setattr("tb_hookview.recorder.hooks.new_range", broken)
    for _ in range(2):
        with hookview.profile(blocked / "runs"):
            step()
    marks, lost = (str(warning.message) for warning in recwarn)
    assert "may lack marks" in marks
    assert "this recording is lost" in lost
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
    done = run_python("-c", script)
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
