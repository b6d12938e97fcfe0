"""Disks, folders, processes and other profilers that fail us: one warning, and training goes on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

import pytest
import torch
from support.forked_python import Done, run_python
from support.recording import Trace, hooks_below, only_trace
from torch import nn
from torch.utils.data import DataLoader, Dataset

import tb_hookview as hookview
from tb_hookview.trace import find_runs

STEPS = 4


@pytest.fixture
def model() -> Iterator[nn.Module]:
    wrapped = hookview.wrap(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    yield wrapped
    hookview.unwrap(wrapped)


def step(model: nn.Module) -> None:
    model(torch.ones(1, 4)).sum().backward()


def train(model: nn.Module, folder: Path, at_step: object = None) -> list[str]:
    """Train through two recordings; return what was warned of."""
    schedule = torch.profiler.schedule(wait=0, warmup=0, active=2, repeat=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with hookview.profile(folder, schedule=schedule) as profiler:
            for number in range(STEPS):
                model.zero_grad()
                step(model)
                if callable(at_step):
                    at_step(number)
                profiler.step()
    assert torch.equal(model[0].bias.grad, _expected(model))
    return [str(w.message) for w in caught if "tb_hookview" in str(w.message)]


def _expected(model: nn.Module) -> torch.Tensor:
    (gradient,) = torch.autograd.grad(model(torch.ones(1, 4)).sum(), model[0].bias)
    return gradient


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system that 64 KiB fill."""
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("a file system can be mounted by root only")
    yield disk
    # torch leaves a file open that it could not write.
    done = subprocess.run(["umount", "--lazy", disk], capture_output=True, text=True, check=False)
    if done.returncode:  # no error, which would be reported in the place of the test's own
        warnings.warn(f"{disk} stays mounted: {done.stderr}", stacklevel=1)


def fill(disk: Path) -> Path:
    """Write a file that leaves no room on a disk, however small."""
    filling = disk / "other"
    with filling.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    assert shutil.disk_usage(disk).free == 0
    return filling


def test_a_disk_that_is_full(model, small_disk, expected_fault):
    fill(small_disk)
    (warned,) = train(model, small_disk / "runs")
    assert f"writing a trace into {small_disk / 'runs'} failed" in warned
    assert "No space left on device" in warned
    assert "this recording is lost" in warned
    assert list((small_disk / "runs").iterdir()) == []


def test_a_disk_with_room_again(model, small_disk, expected_fault):
    filling = fill(small_disk)
    warned = train(model, small_disk / "runs", lambda n: filling.unlink() if n == 2 else None)
    assert len(warned) == 1
    assert only_trace(small_disk / "runs").paths("forward")[""] == 2


def test_a_full_disk_for_what_torch_writes_first(
    model, small_disk, tmp_path, expected_fault, monkeypatch
):
    fill(small_disk)
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    (warned,) = train(model, tmp_path / "runs")
    assert f"could not write it into {small_disk} first (is that disk full?)" in warned
    assert list((tmp_path / "runs").iterdir()) == []
    assert list(small_disk.glob("tmp*")) == []


def test_a_file_system_that_is_read_only(model, small_disk, expected_fault):
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    (warned,) = train(model, small_disk / "runs")
    assert "Read-only file system" in warned


@pytest.mark.slow
def test_a_folder_that_is_not_ours_to_write(tmp_path):
    """As another user: root may write everywhere."""
    script = """
        import os, sys, warnings
        import torch, tb_hookview as hookview
        model, profiler = hookview.wrap(torch.nn.Linear(4, 4)), hookview.profile(sys.argv[1])
        with torch.profiler.profile():
            pass  # which imports what that user cannot read
        os.chmod(sys.argv[1], 0o555)
        if os.getuid() == 0:
            os.setuid(65534)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with profiler:
                model(torch.ones(1, 4)).sum().backward()
        assert model.weight.grad is not None
        print([str(w.message) for w in caught if "tb_hookview" in str(w.message)])
    """
    done = run(script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Permission denied" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_deleted_in_the_middle(model, tmp_path):
    folder = tmp_path / "runs"
    assert train(model, folder, lambda n: shutil.rmtree(folder) if n == 2 else None) == []
    assert only_trace(folder).paths("forward")[""] == 2


def test_a_file_in_the_place_of_the_folder_from_the_middle_on(model, tmp_path, expected_fault):
    folder = tmp_path / "runs"

    def replace(number: int) -> None:
        if number == 2:
            shutil.rmtree(folder)
            folder.write_text("")

    (warned,) = train(model, folder, replace)
    assert "writing a trace into" in warned
    assert folder.read_text() == ""


def test_a_working_directory_that_is_gone(model, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert train(model, tmp_path / "runs") == []
    manifests = [Trace(path).manifest for path in (tmp_path / "runs").iterdir()]
    assert [len(manifest["modules"]) for manifest in manifests] == [3, 3]


def test_what_is_being_written_is_no_trace_yet(model, tmp_path, monkeypatch):
    """A process killed while writing leaves a file that readers ignore."""
    seen: list[list[str]] = []
    replace = Path.replace

    def look(partial: Path, target: Path) -> Path:
        seen.append([path.name for path in tmp_path.iterdir()])
        assert find_runs(tmp_path) == []
        return replace(partial, target)

    monkeypatch.setattr(Path, "replace", look)
    with hookview.profile(tmp_path):
        step(model)
    ((partial,),) = seen
    (whole,) = tmp_path.iterdir()
    assert partial == f".{whole.name}.partial"


def test_the_inner_of_two_profilers_stands_by(model, tmp_path, expected_fault):
    with hookview.profile(tmp_path / "outer"):
        step(model)
        inner = hookview.profile(tmp_path / "inner")
        with pytest.warns(RuntimeWarning, match="a profiler is recording already") as warned:
            inner.start()
        step(model)
        inner.step()
        inner.stop()
        step(model)
    assert len(warned) == 1
    assert only_trace(tmp_path / "outer").paths("forward") == {"": 3, "0": 3, "1": 3}
    assert not (tmp_path / "inner").exists()


def test_a_profiler_inside_of_torchs_own_stands_by(model, tmp_path, expected_fault):
    with torch.profiler.profile() as outer:
        inner = hookview.profile(tmp_path / "inner")
        with pytest.warns(RuntimeWarning, match="a profiler is recording already"):
            inner.start()
        step(model)
        inner.stop()
        step(model)
    outer.export_chrome_trace(str(tmp_path / "trace.json"))
    assert Trace(tmp_path / "trace.json").paths("forward")[""] == 2
    step(model)
    assert hooks_below(model) == []


def test_a_recording_that_torchs_own_profiler_ended_is_a_warning(model, tmp_path, expected_fault):
    """torch would crash the process in writing a recording that another profiler took."""
    outer = hookview.profile(tmp_path)
    outer.start()
    with torch.profiler.profile():
        step(model)
    step(model)
    with pytest.warns(RuntimeWarning, match="another profiler ended this recording"):
        outer.stop()
    assert list(tmp_path.iterdir()) == []


def test_warnings_that_nobody_can_show(model, tmp_path, expected_fault, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise OSError("standard error is closed")

    monkeypatch.setattr(warnings, "showwarning", broken)
    blocked = tmp_path / "file"
    blocked.touch()
    with hookview.profile(blocked):
        step(model)
    assert model[0].weight.grad is not None


def run(script: str, folder: Path) -> Done[str]:
    """Run a program with the folder as its argument."""
    return run_python("-c", textwrap.dedent(script), folder)


def said(done: Done[str]) -> list[str]:
    """What we say, without the file and its figures."""
    found = [line.partition("tb_hookview")[2] for line in done.stderr.splitlines()]
    return [re.sub(r"wrote .*/\S+\.gz \(.*\)$", "wrote", line) for line in found if line]


@pytest.mark.slow
@pytest.mark.parametrize("leaves", ["pass", "sys.exit(3)", "raise KeyboardInterrupt"])
def test_a_program_that_ends_while_it_records_keeps_the_trace(tmp_path, leaves):
    script = f"""
        import sys, torch, tb_hookview as hookview
        model = hookview.wrap(torch.nn.Linear(4, 4))
        profiler = hookview.profile(sys.argv[1])
        profiler.start()
        model(torch.ones(1, 4)).sum().backward()
        {leaves}
    """
    done = run(script, tmp_path)
    assert done.returncode == {"pass": 0, "sys.exit(3)": 3}.get(leaves, -2), done.stderr
    assert said(done) == [": wrote"]
    assert only_trace(tmp_path).paths("forward") == {"": 1}


@pytest.mark.slow
def test_a_daemon_thread_that_trains_as_the_program_ends(tmp_path):
    script = """
        import sys, threading, torch, tb_hookview as hookview
        model = hookview.wrap(torch.nn.Linear(4, 4))
        trained = threading.Event()

        def train():
            while True:
                model(torch.ones(1, 4)).sum().backward()
                trained.set()

        profiler = hookview.profile(sys.argv[1])
        profiler.start()
        threading.Thread(target=train, daemon=True).start()
        trained.wait()
    """
    done = run(script, tmp_path)
    assert "Traceback" not in done.stderr
    assert len(list(tmp_path.glob("*.pt.trace.json.gz"))) == 1


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("recorder", ["hookview.profile(sys.argv[1])", "torch.profiler.profile()"])
def test_a_process_forked_while_recording_leaves_the_recording_to_its_parent(tmp_path, recorder):
    script = f"""
        import os, sys, torch, tb_hookview as hookview
        torch.set_num_threads(1)
        model = hookview.wrap(torch.nn.Sequential(torch.nn.Linear(4, 4)))

        def step():
            model.zero_grad()
            model(torch.ones(1, 4)).sum().backward()
            return model[0].weight.grad.clone()

        plain = step()
        with {recorder} as profiler:
            step()
            child = os.fork()
            if child == 0:
                hooks = [m._compiled_call_impl for m in model.modules() if m._compiled_call_impl]
                same = all(torch.equal(step(), plain) for _ in range(2))
                profiler.step()
                profiler.stop() if hasattr(profiler, "written") else None
                os._exit(7 if same and not hooks else 1)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            step()
        print(torch.equal(step(), plain))
    """
    done = run(script, tmp_path)
    assert done.stdout.split() == ["7", "True"], done.stderr
    assert said(done) == ([": wrote"] if "hookview" in recorder else [])
    if "hookview" in recorder:
        assert only_trace(tmp_path).paths("forward") == {"": 2, "0": 2}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_process_forked_after_wrap_records_its_own(tmp_path):
    script = """
        import os, sys, torch, tb_hookview as hookview
        torch.set_num_threads(1)
        model = hookview.wrap(torch.nn.Sequential(torch.nn.Linear(4, 4)))
        child = os.fork()
        with hookview.profile(sys.argv[1]):
            model(torch.ones(1, 4)).sum().backward()
        if child == 0:
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = run(script, tmp_path)
    assert done.stdout.split() == ["7"], done.stderr
    traces = [Trace(path) for path in tmp_path.glob("*.gz")]
    assert [trace.paths("forward") for trace in traces] == [{"": 1, "0": 1}] * 2


class Encoded(Dataset):
    """Runs the wrapped model in the worker, as some data sets do."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        with torch.no_grad():
            return self.model(torch.full((4,), float(index)))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_data_loader(model, tmp_path, method):
    data = Encoded(model)
    plain = [data[index].clone() for index in range(len(data))]
    loader = DataLoader(
        data, batch_size=None, num_workers=1, multiprocessing_context=get_context(method)
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with hookview.profile(tmp_path):
            loaded = []
            for batch in loader:
                loaded.append(batch)
                step(model)
    assert [str(w.message) for w in caught if "tb_hookview" in str(w.message)] == []
    assert all(torch.equal(a, b) for a, b in zip(loaded, plain, strict=True))
    assert only_trace(tmp_path).paths("forward") == {"": 4, "0": 4, "1": 4}
