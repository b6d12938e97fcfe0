"""`watch`: rows of all steps, recordings of some, and a training that does not notice."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import textwrap
import threading
import time
import tracemalloc
import weakref
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
import torch
from support.forked_python import run_python
from support.recording import Trace, hooks_on, traces
from support.watched import QUIET, lines, net, rows, sample_all, train, until
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import tb_hookview as hookview
from tb_hookview.errors import UsageError
from tb_hookview.recorder.hooks import SLOT
from tb_hookview.watching import phases
from tb_hookview.watching.agreement import Alone, FolderBoard, RecordingPlan
from tb_hookview.watching.clock import ROOT
from tb_hookview.watching.scalars import Scalars
from tb_hookview.watching.step_rows import row_of


def test_every_step_has_a_row_with_its_parts(tmp_path):
    model = net()
    with hookview.watch(tmp_path, model=model, **QUIET) as watch:
        train(model, 8, watch.step)
    header, *_ = lines(tmp_path)
    assert header["watch"] == 1
    assert (header["rank"], header["world_size"]) == (0, 1)
    assert header["blocks"] == ["0", "1"]
    assert [row["step"] for row in rows(tmp_path)] == [1, 2, 3, 4, 5, 6, 7, 8]
    for row in rows(tmp_path)[4:]:  # once the last gradients are known
        parts = ("data_us", "forward_us", "backward_us", "after_backward_us", "optimizer_us")
        assert all(row[part] >= 0 for part in parts)
        assert sum(row[part] for part in parts) <= row["duration_us"] + len(parts)  # rounded
        assert sum(row["forward"]) <= row["forward_us"] + 2
        assert sum(row["backward"]) <= row["backward_us"] + 2
    assert rows(tmp_path)[-1]["memory_bytes"] > 0


def test_blocks_are_timed_in_some_runs_of_steps_and_all_else_in_every_step(tmp_path):
    model = net()
    with hookview.watch(tmp_path, model=model, **{**QUIET, "blocks_every": 3}) as watch:
        train(model, 40, watch.step)
    assert lines(tmp_path)[0]["blocks_every"] == 3
    timed = [row["step"] for row in rows(tmp_path) if "forward" in row]
    assert timed == [*range(1, 9), *range(25, 33)]
    assert [row["step"] for row in rows(tmp_path) if "backward" in row] == timed
    parts = ("forward_us", "backward_us", "after_backward_us", "optimizer_us")
    assert all(row[part] is not None for row in rows(tmp_path) for part in parts)
    assert all(None not in row["forward"] + row["backward"] for row in rows(tmp_path)[25:32])
    assert all(SLOT not in vars(module) for module in model.modules())


@pytest.mark.parametrize("has_model", [False, True])
def test_in_short_steps_only_loading_is_timed_in_every_step(tmp_path, has_model, monkeypatch):
    model, options = net(), sample_all(monkeypatch, 3)
    given = {"model": model} if has_model else {}
    with hookview.watch(tmp_path, **given, **options) as watch:
        train(model, 40, watch.step)
    timed = [*range(1, 9), *range(25, 33)]
    parts = ["backward_us", "optimizer_us", *(["forward_us", "after_backward_us"] * has_model)]
    for part in parts:
        known = [row["step"] for row in rows(tmp_path) if row[part] is not None]
        assert known == timed, part
    assert all(row["data_us"] is not None for row in rows(tmp_path))
    assert [row["step"] for row in rows(tmp_path) if "phases" not in row] == timed
    assert [row["step"] for row in rows(tmp_path) if "forward" in row] == timed * has_model
    assert all(SLOT not in vars(module) for module in model.modules())
    assert torch.autograd.backward.__module__ == "torch.autograd"


def test_what_wraps_a_watched_backward_keeps_it_in_place_once(tmp_path, monkeypatch):
    model, options = net(), sample_all(monkeypatch)
    with hookview.watch(tmp_path, model=model, **options) as watch:
        train(model, 2, watch.step)
        watched = torch.autograd.backward
        with monkeypatch.context() as wrapping:
            wrapping.setattr(torch.autograd, "backward", lambda *a, **k: watched(*a, **k))
            train(model, 44, watch.step)
            assert len(phases._installed["backward"]) == 1
    known = [row["step"] for row in rows(tmp_path) if row["backward_us"] is not None]
    assert known == [*range(1, 9), *range(17, 25), *range(33, 41)]
    assert not hasattr(torch.autograd.backward, "__wrapped__")


def test_a_block_may_be_compiled_while_it_is_not_timed(tmp_path):
    model, plain = net(), net()
    with hookview.watch(tmp_path, model=model, **{**QUIET, "blocks_every": 2}) as watch:
        torch.manual_seed(1)
        losses = train(model, 12, watch.step)
        model[0].compile(backend="eager")
        called = vars(model[0])[SLOT]
        losses += train(model, 24, watch.step)
    torch.manual_seed(1)
    assert losses == train(plain, 12) + train(plain, 24)
    assert vars(model[0])[SLOT] is called
    assert len([row for row in rows(tmp_path) if "forward" in row]) == 20


@pytest.mark.parametrize("sampled", [False, True])
def test_a_model_lives_no_longer_for_being_watched(tmp_path, sampled, monkeypatch):
    model, options = net(), sample_all(monkeypatch) if sampled else {**QUIET, "blocks_every": 2}
    with hookview.watch(tmp_path, model=model, **options) as watch:
        train(model, 12, watch.step)
        block = weakref.ref(model[0])
        del model
        gc.collect()
        assert block() is None
        watch.step()


def test_nothing_is_attached_to_other_modules_nor_left(tmp_path):
    model = net()
    with hookview.watch(tmp_path, model=model, **QUIET) as watch:
        train(model, 5, watch.step)
        attached = {path for path, module in model.named_modules() if SLOT in vars(module)}
        hooked = {path for path, module in model.named_modules() if hooks_on(module)}
        hooks = [p._post_accumulate_grad_hooks for p in model.parameters()]
        counts = [None if each is None else len(each) for each in hooks]
    assert attached == {"", "0", "1"}
    assert hooked <= attached
    # The last gradient of each block; what once had hooks costs each backward pass something.
    assert counts == [1, None, 1, None]
    assert all(SLOT not in vars(module) for module in model.modules())
    assert all(not p._post_accumulate_grad_hooks for p in model.parameters())
    assert torch.autograd.backward.__module__ == "torch.autograd"
    assert not hasattr(torch.autograd.backward, "__wrapped__")
    assert phases._clocks == []


def test_gradients_are_equal_bit_for_bit(tmp_path):
    plain, watched = net(), net()
    torch.manual_seed(1)
    expected = train(plain, 12)
    torch.manual_seed(1)
    with hookview.watch(tmp_path, model=watched, scalars=False, first=4, slow_factor=None) as watch:
        assert train(watched, 12, watch.step) == expected
    for one, other in zip(plain.parameters(), watched.parameters(), strict=True):
        assert torch.equal(one, other)


def test_without_a_model_there_are_times_without_blocks(tmp_path):
    with hookview.watch(tmp_path, **QUIET) as watch:
        train(net(), 3, watch.step)
    row = rows(tmp_path)[-1]
    assert row["duration_us"] > 0
    assert row["backward_us"] > 0
    assert row["forward_us"] is None
    assert "forward" not in row


def test_garbage_collections_are_counted(tmp_path):
    def step() -> None:
        gc.collect()
        watch.step()

    with hookview.watch(tmp_path, **QUIET) as watch:
        train(net(), 2, step)
    assert [row["gc_count"] >= 1 for row in rows(tmp_path)] == [True, True]
    assert all(row["gc_us"] > 0 for row in rows(tmp_path))
    assert watch._clock.on_collection not in gc.callbacks


def test_the_first_recording_says_why_and_what_was_before(tmp_path):
    model = net()
    with hookview.watch(
        tmp_path, model=model, first=6, steps=2, slow_factor=None, scalars=False
    ) as watch:
        until(watch, model, lambda: len(watch.recordings) == 1)
        train(model, 2, watch.step)
    (path,) = traces(tmp_path)
    manifest = Trace(path).manifest["watch"]
    assert (manifest["reason"], manifest["steps"], manifest["asked_by"]) == ("start", 2, 0)
    before = [row["step"] for row in manifest["before"]]
    assert before == list(range(before[0], manifest["start"] - 1))
    states = {row["step"]: row.get("recording") for row in rows(tmp_path)}
    start = manifest["start"]
    around = [states[step] for step in range(start - 2, start + 4)]
    assert around == [None, "warmup", "recorded", "recorded", "after", None]
    assert {f"ProfilerStep#{start}", f"ProfilerStep#{start + 1}"} <= {
        span.name for span in Trace(path).spans
    }
    (said,) = [line for line in lines(tmp_path) if "recorded" in line]
    assert (said["recorded"], said["start"], said["reason"]) == (path.name, start, "start")


def test_a_recording_has_the_marks_of_all_modules(tmp_path):
    model = net()
    with hookview.watch(tmp_path, model=model, **QUIET) as watch:
        train(model, 5, watch.step)
        watch.record(steps=1)
        until(watch, model, lambda: bool(watch.recordings))
    (path,) = traces(tmp_path)
    marks = set(Trace(path).paths("forward"))
    assert marks == {"", "0", "1", "1.0", "1.1", "2"}


def test_a_signal_asks_for_a_recording_and_still_reaches_the_script(tmp_path, ctrl_c):
    heard = []
    before = signal.signal(signal.SIGUSR1, lambda *_: heard.append(1))
    model = net()
    try:
        with hookview.watch(tmp_path, model=model, **QUIET) as watch:
            train(model, 2, watch.step)
            os.kill(os.getpid(), signal.SIGUSR1)
            until(watch, model, lambda: bool(watch.recordings))
        assert callable(signal.getsignal(signal.SIGUSR1))
        os.kill(os.getpid(), signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert heard == [1, 1]
    assert [line["reason"] for line in lines(tmp_path) if "recorded" in line] == ["signal"]


def test_the_file_record_asks_for_so_many_steps(tmp_path):
    model = net()
    with hookview.watch(tmp_path, model=model, **QUIET) as watch:
        (tmp_path / "record").write_text('{"steps": 5}')
        until(watch, model, lambda: bool(watch.recordings))
    said = [line for line in lines(tmp_path) if "recorded" in line]
    assert [(line["reason"], line["steps"]) for line in said] == [("file", 5)]
    assert not (tmp_path / "record").exists()


def test_slow_steps_are_recorded_by_themselves(tmp_path, monkeypatch):
    """Steps of a second, then of three; the parts of a step take milliseconds."""
    model, now, length = net(), [0], [10**9]
    monkeypatch.setattr("tb_hookview.watching.watch.perf_counter_ns", lambda: now[0])
    with hookview.watch(tmp_path, model=model, first=None, steps=1, scalars=False) as watch:

        def step() -> None:
            now[0] += length[0]
            watch.step()

        train(model, 30, step)
        length[0] = 3 * 10**9
        train(model, 3, step)
        until(SimpleNamespace(step=step), model, lambda: bool(watch.recordings))
    (path,) = traces(tmp_path)
    manifest = Trace(path).manifest["watch"]
    assert (manifest["reason"], manifest["ratio"]) == ("slow", 3.0)
    assert manifest["start"] > 33
    durations = {row["duration_us"] for row in rows(tmp_path) if row["step"] <= 33}
    assert durations == {1_000_000, 3_000_000}


def test_every_so_many_steps_are_recorded_and_only_the_newest_is_kept(tmp_path):
    model = net()

    def recorded() -> list[str]:
        return [line["recorded"] for line in lines(tmp_path) if "recorded" in line]

    options = {**QUIET, "every_steps": 5, "keep": 1, "steps": 1}
    with hookview.watch(tmp_path, model=model, **options) as watch:
        until(watch, model, lambda: len(recorded()) >= 3)
    assert {line["reason"] for line in lines(tmp_path) if "recorded" in line} == {"every"}
    assert [path.name for path in traces(tmp_path)] == recorded()[-1:]
    assert watch.recordings == traces(tmp_path)


@pytest.mark.parametrize("ranks", [[3], [0, 3]])
def test_the_file_record_names_the_ranks_that_record(tmp_path, ranks):
    model = net()
    with hookview.watch(tmp_path, model=model, **QUIET) as watch:
        (tmp_path / "record").write_text(json.dumps({"steps": 1, "ranks": ranks}))
        until(watch, model, lambda: watch._keeper._number == 1)
        train(model, 8, watch.step)
    assert (len(traces(tmp_path)), watch.lost) == (int(0 in ranks), 0)


def test_a_process_alone_records_however_many_steps_ended_since_it_was_asked(tmp_path):
    model = net()
    with hookview.watch(tmp_path, model=model, **QUIET) as watch:
        watch._keeper._board = Alone()
        train(model, 5, watch.step)
        watch._keeper._adopt(RecordingPlan(3, 1, "file"))
        train(model, 5, watch.step)
    assert (len(traces(tmp_path)), watch.lost) == (1, 0)


def test_steps_that_this_rank_knows_of_too_late_are_left_to_the_others(tmp_path):
    model = net()
    with hookview.watch(tmp_path, model=model, **QUIET) as watch:
        watch._keeper._board = FolderBoard(tmp_path / "board", "run")
        train(model, 5, watch.step)
        watch._keeper.plan = RecordingPlan(4, 1, "call", asked_by=1)
        train(model, 5, watch.step)
    assert (watch.lost, traces(tmp_path)) == (1, [])
    assert [row["step"] for row in rows(tmp_path)] == [*range(1, 11)]


def test_a_recording_that_cannot_begin_is_counted_and_training_goes_on(tmp_path, expected_fault):
    model = net()

    def record() -> None:
        watch.record(steps=1)
        until(watch, model, lambda: watch.lost == 1)

    with (
        hookview.watch(tmp_path, model=model, **QUIET) as watch,
        torch.profiler.profile() as other,
    ):
        with pytest.warns(RuntimeWarning, match="a profiler is recording already"):
            record()
        train(model, 3, watch.step)
    assert traces(tmp_path) == []
    assert any(event.key == "aten::addmm" for event in other.key_averages())
    assert [row["step"] for row in rows(tmp_path)] == [*range(1, watch._step + 1)]


def test_a_recording_for_another_rank_is_none_here(tmp_path):
    model = net()
    with hookview.watch(tmp_path, model=model, ranks=[3], **QUIET) as watch:
        watch.record()
        until(watch, model, lambda: watch._keeper._number == 1)
        train(model, 8, watch.step)
    assert (watch.recordings, traces(tmp_path), watch.lost) == ([], [], 0)


@pytest.mark.parametrize(
    ("option", "named"),
    [
        ({"steps": 0}, "steps is 0"),
        ({"blocks": 17}, "blocks is 17"),
        ({"slow_factor": 1.0}, "slow_factor is 1.0"),
        ({"keep": 0}, "keep is 0"),
        ({"ranks": [-1]}, "ranks holds -1"),
    ],
)
def test_a_wrong_option_is_one_line(tmp_path, option, named):
    with pytest.raises(UsageError, match=named):
        hookview.watch(tmp_path, **option)


def test_an_address_is_refused():
    with pytest.raises(UsageError, match="needs a folder of this machine"):
        hookview.watch("s3://bucket/run")


def test_two_watches_in_one_process_record_both_steps(tmp_path):
    model = net()
    with (
        hookview.watch(tmp_path / "a", model=model, **QUIET) as one,
        hookview.watch(tmp_path / "b", model=model, **QUIET) as other,
    ):
        train(model, 6, lambda: (one.step(), other.step()))
    for folder in ("a", "b"):
        assert len(rows(tmp_path / folder)) == 6
        assert rows(tmp_path / folder)[-1]["forward"] != []
    assert all(SLOT not in vars(module) for module in model.modules())


@pytest.mark.parametrize("first", ["a", "b"])
def test_of_two_watches_either_may_end_first(tmp_path, first):
    model = net()
    watches = {
        name: hookview.watch(tmp_path / name, model=model, blocks=0, **QUIET) for name in "ab"
    }
    for watch in watches.values():
        watch.start()
    ended, left = watches.pop(first), *watches.values()
    ended.stop()
    train(model, 3, left.step)
    assert ended._clock.marks == []
    left.stop()
    assert SLOT not in vars(model)
    (folder,) = watches
    assert [row["forward_us"] is None for row in rows(tmp_path / folder)] == [False] * 3


def test_what_wraps_a_watched_backward_leaves_no_mark_after_the_watch(tmp_path, monkeypatch):
    with hookview.watch(tmp_path, **QUIET) as watch:
        watched = torch.autograd.backward
        monkeypatch.setattr(torch.autograd, "backward", lambda *a, **k: watched(*a, **k))
        train(net(), 2, watch.step)
    left = list(watch._clock.marks)  # of the loader, which has no batch more
    train(net(), 2)
    assert watch._clock.marks == left
    assert [row["backward_us"] > 0 for row in rows(tmp_path)] == [True, True]


def test_a_replica_is_called_itself_while_its_original_is_recorded_too(tmp_path):
    """As `DataParallel` calls them: in other threads, with all attributes of the original."""
    model = nn.Linear(1, 1, bias=False)
    replica = model._replicate_for_data_parallel()
    results = []

    def call() -> None:
        replica.__dict__[SLOT] = vars(model)[SLOT]
        replica.weight, replica.bias = torch.full((1, 1), 7.0), None
        results.append(float(replica(torch.ones(1, 1))))

    def call_elsewhere() -> None:
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()

    with hookview.watch(tmp_path, model=model, **QUIET) as watch, torch.no_grad():
        call_elsewhere()
        timed = vars(model)[SLOT]
        with hookview.profile(tmp_path):
            assert vars(model)[SLOT] is not timed
            call_elsewhere()
        watch.step()
    assert results == [7.0, 7.0]


def test_steps_of_a_forked_process_are_its_parents_alone(tmp_path):
    script = """
        import os, sys, torch, tb_hookview as hookview
        from tb_hookview.watching import phases
        torch.set_num_threads(1)
        model = torch.nn.Sequential(torch.nn.Linear(4, 4))

        def train(steps):
            for _ in range(steps):
                model(torch.ones(1, 4)).sum().backward()
                watch.step()

        quiet = {"first": None, "slow_factor": None, "scalars": False}
        with hookview.watch(sys.argv[1], model=model, **quiet) as watch:
            train(2)
            child = os.fork()
            if child == 0:
                train(2)
                os._exit(phases._clocks != [])
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            train(2)
    """
    done = run_python("-c", textwrap.dedent(script), tmp_path)
    assert done.stdout.split() == ["0"], done.stderr
    assert [row["step"] for row in rows(tmp_path)] == [1, 2, 3, 4]


def test_loader_workers_are_not_watched(tmp_path):
    model = net()
    loader = DataLoader(TensorDataset(torch.ones(4, 4)), num_workers=1)
    with hookview.watch(tmp_path, model=model, **QUIET) as watch:
        for (batch,) in loader:
            model(batch).sum().backward()
            watch.step()
    assert len(rows(tmp_path)) == 4
    assert len(list(tmp_path.glob("*.steps.jsonl"))) == 1


def test_an_exception_of_the_script_passes_and_what_was_seen_is_written(tmp_path):
    model = net()

    def interrupted() -> None:
        with hookview.watch(tmp_path, model=model, **QUIET) as watch:
            train(model, 3, watch.step)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(rows(tmp_path)) == 3
    assert all(SLOT not in vars(module) for module in model.modules())


def test_a_watch_can_be_stopped_twice_and_stepped_after(tmp_path):
    watch = hookview.watch(tmp_path, **QUIET)
    watch.step()
    watch.start()
    watch.step()
    watch.stop()
    watch.stop()
    watch.step()
    assert len(rows(tmp_path)) == 1


def test_the_thread_ends_with_the_watch(tmp_path):
    with hookview.watch(tmp_path, **QUIET):
        assert "hookview-watch" in {thread.name for thread in threading.enumerate()}
    assert "hookview-watch" not in {thread.name for thread in threading.enumerate()}


def test_tensorboard_reads_the_scalars(tmp_path):
    pytest.importorskip("tensorboard", reason="needs tensorboard: pip install tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    model = net()
    with hookview.watch(tmp_path, model=model, first=None, slow_factor=None) as watch:
        train(model, 6, watch.step)
    events = EventAccumulator(str(tmp_path)).Reload()
    assert {"hookview/duration_ms", "hookview/backward_ms"} <= set(events.Tags()["scalars"])
    assert events.Scalars("hookview/duration_ms")[-1].step == 6


def test_tensorboard_is_imported_before_the_first_step(tmp_path, monkeypatch):
    """Steps of 0.1 ms end 10,000 times while it is imported, which is all that can wait."""
    pytest.importorskip("tensorboard", reason="needs tensorboard: pip install tensorboard")
    writer = "tensorboard.summary.writer.record_writer"
    monkeypatch.delitem(sys.modules, writer, raising=False)
    with hookview.watch(tmp_path, first=None, slow_factor=None):
        assert writer in sys.modules


def test_a_long_step_is_a_point_of_the_scalars_and_short_ones_share_one(tmp_path):
    pytest.importorskip("tensorboard", reason="needs tensorboard: pip install tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    scalars, ms = Scalars(tmp_path, "host_1"), 10**6
    for step, duration in enumerate((4000, 800, 800, 1400, 200), 1):
        ended = (step, 0, 0, duration * ms, [ROOT, 0, duration * ms // 2], 0)
        scalars.add([row_of(ended)])
    scalars.close()
    events = EventAccumulator(str(tmp_path)).Reload()
    found = {
        tag: [(each.step, each.value) for each in events.Scalars(f"hookview/{tag}")]
        for tag in ("duration_ms", "forward_ms", "slowest_ms")
    }
    assert found["duration_ms"] == [(1, 4000.0), (4, 800.0), (5, 200.0)]
    assert found["forward_ms"] == [(1, 2000.0), (4, 400.0), (5, 100.0)]
    assert found["slowest_ms"] == [(1, 4000.0), (4, 1400.0), (5, 200.0)]
    assert "hookview/backward_ms" not in events.Tags()["scalars"]  # unknown, not 0


@pytest.mark.skipif(
    find_spec("tensorboard") is None, reason="needs tensorboard: pip install tensorboard"
)
def test_of_a_point_that_does_not_fit_no_piece_stays(tmp_path, expected_fault):
    resource = pytest.importorskip("resource", reason="this system has no limit of a file's size")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    scalars = Scalars(tmp_path, "host_1")

    def add(step: int) -> None:
        scalars.add([row_of((step, 0, 0, 2 * 10**9, [], 0))])

    add(1)
    (file,) = tmp_path.iterdir()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size + 50, before[1]))
    try:
        with pytest.warns(RuntimeWarning, match="these steps are not kept"):
            add(2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    add(300)
    scalars.close()
    events = EventAccumulator(str(tmp_path)).Reload()
    assert [each.step for each in events.Scalars("hookview/duration_ms")] == [1, 300]


def test_checkpointed_calls_count_once(tmp_path):
    from torch.utils.checkpoint import checkpoint

    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return checkpoint(self.inner, x, use_reentrant=False)

    model = Checkpointed()
    with hookview.watch(tmp_path, model=model, **QUIET) as watch:
        train(model, 6, watch.step)
    row = rows(tmp_path)[-1]
    assert sum(row["forward"]) <= row["forward_us"] + 2
    assert row["backward"][0] is not None


@pytest.mark.slow
def test_memory_is_flat_over_many_steps(tmp_path):
    model = nn.Sequential(nn.Flatten(), nn.Linear(1, 1), nn.Linear(1, 1))
    batch = torch.ones(1, 1)

    def run(until: int) -> int:
        """Memory held after that step has been written."""
        while watch._step < until:
            for _ in range(2000):
                model(batch)
                watch.step()
            while watch._keeper._written < watch._step:  # else rows are dropped and counted
                time.sleep(0.001)
        with watch._keeper._working:
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

    with hookview.watch(tmp_path, model=model, **QUIET) as watch, torch.no_grad():
        run(10_000)
        tracemalloc.start()
        sizes = [run(until) for until in (20_000, 30_000, 40_000)]
        tracemalloc.stop()
    assert watch.lost == 0
    assert max(sizes) - sizes[0] < 66_000
