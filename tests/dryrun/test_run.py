from __future__ import annotations

import json
import os
import signal
import warnings
from typing import Any

import pytest
import torch
from torch import nn

import tb_hookview as hookview
from tb_hookview.dryrun import DryRun, SyncsFoundError, dry_run, no_syncs, refusals
from tb_hookview.dryrun.operators.uploads import PINNED
from tb_hookview.dryrun.outlets.text import text
from tb_hookview.errors import UsageError


def train(run: DryRun, *, masked: bool, steps: int = 3) -> None:
    model = nn.Linear(4, 4).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    batch = torch.randn(3, 4).pin_memory()
    for _ in range(steps):
        out = model(batch.to("cuda", non_blocking=True))
        if masked:
            out = out[out[:, 0] > -9]
        out.sum().backward()
        optimizer.step()
        run.step()


def test_syncs_are_a_table_like_that_of_a_report(run: DryRun) -> None:
    train(run, masked=True)
    rows = [sync for sync in run.syncs if sync.step == 1]
    forward, backward = rows
    assert (forward.phase, forward.operator, forward.within) == (
        "other",
        "aten::nonzero",
        "aten::index",
    )
    assert forward.line is not None
    assert forward.line.endswith(f":{train.__code__.co_firstlineno + 7}")
    assert forward.code == "out = out[out[:, 0] > -9]"
    assert (backward.phase, backward.node) == ("backward", "IndexBackward0")
    assert (backward.code, backward.forward_line) == ("out.sum().backward()", forward.line)
    assert {sync.cause for sync in rows} == {"sync-mask-index"}
    assert forward.fix.startswith("Write with a Python number")
    assert list(run.syncs.to_pandas().columns)[:3] == ["id", "step", "phase"]


def test_syncs_of_a_weight_average_have_its_remedies(run: DryRun) -> None:
    model = nn.Linear(4, 4).to("cuda")
    average = torch.optim.swa_utils.AveragedModel(model)
    for _ in range(3):
        average.update_parameters(model)
        model.weight.sum().item()
        run.step()
    *inside, own = [sync for sync in run.syncs if sync.step == 2]
    assert {sync.cause for sync in inside} == {"h2d-pageable-blocking", "sync-scalar-item"}
    assert all(sync.fix.startswith("Call update_parameters() every k steps") for sync in inside)
    assert own.fix.startswith("Keep metrics")
    lines = text(run.report).splitlines()
    assert {f"{sync.cause}: {sync.fix}" for sync in (*inside, own)} <= {*lines}


def test_json_has_the_rows_and_what_is_not_known(run: DryRun) -> None:
    train(run, masked=True)
    report = json.loads(run.to_json())
    assert (report["schema"], report["kind"], report["steps"]) == (1, "dry-run", 3)
    assert (report["measured"], report["sync_count"], report["most_per_step"]) == ([1, 2], 4, 2)
    assert len(report["unknown"]) == 3
    wanted = {"step", "phase", "operator", "node", "module", "line", "code", "forward_line"}
    assert wanted | {"cause", "certain", "count"} <= set(report["syncs"][0])


def fail() -> None:
    assert torch.cuda.is_available()
    raise ZeroDivisionError


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    for _ in range(1000):
        torch.zeros(2, device="cuda")


def test_everything_is_undone_after_an_error() -> None:
    before = {name: getattr(torch.cuda, name) for name in ("is_available", "Stream", "synchronize")}
    pin, compiler, generator = torch.Tensor.pin_memory, torch.compile, torch.Generator
    with pytest.raises(ZeroDivisionError), dry_run():
        fail()
    assert {name: getattr(torch.cuda, name) for name in before} == before
    assert (torch.Tensor.pin_memory, torch.compile, torch.Generator) == (pin, compiler, generator)
    assert torch._C._accelerator_getAccelerator() is None or torch._C._has_cuda
    with pytest.raises((RuntimeError, AssertionError, NotImplementedError)):
        torch.empty(2, device="cuda")
    x = torch.randn(4, 4, requires_grad=True)
    nn.LSTM(4, 4)(x[None])[0].sum().backward()
    assert x.grad is not None
    with pytest.raises(RuntimeError):
        torch.empty(2, pin_memory=True)


def test_a_default_device_ends_with_the_block() -> None:
    with dry_run():
        torch.set_default_device("cuda")
        assert torch.zeros(2).is_cuda
    assert torch.zeros(2).device.type == torch.get_default_device().type == "cpu"
    assert (torch.version.cuda is None) == (not torch._C._has_cuda)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_undoes_everything() -> None:
    with pytest.raises(KeyboardInterrupt), dry_run():
        interrupt()
    assert not torch.cuda.is_available()


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_waits_until_torch_is_changed_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    from tb_hookview.dryrun.cuda import api

    install = api.install

    def interrupted(patches: Any) -> None:
        install(patches)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(api, "install", interrupted)
    with pytest.raises(KeyboardInterrupt), dry_run():
        pass
    assert not torch.cuda.is_available()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_run_follows_another() -> None:
    for _ in range(2):
        with dry_run() as run:
            torch.randn(2, device="cuda").sum().item()
        assert len(run.syncs) == 1


def test_runs_are_not_nested(run: DryRun) -> None:
    with pytest.raises(UsageError, match="nested"), dry_run():
        pass
    assert torch.cuda.is_available()


def test_a_gpu_is_a_reason_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "_has_gpu", lambda: True)
    with pytest.raises(UsageError, match="set_sync_debug_mode") as error, dry_run():
        pass
    assert "\n" not in str(error.value)
    with dry_run(force=True):
        assert torch.cuda.is_available()


@pytest.mark.parametrize(("version", "fits"), [("2.9.1+cpu", False), ("2.10.0", True)])
def test_versions(version: str, fits: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", version)
    if fits:
        refusals.check(force=False, active=False)
    else:
        with pytest.raises(UsageError, match=r"needs torch 2\.10 or newer"):
            refusals.check(force=False, active=False)


def test_parts_that_do_not_fit_are_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from tb_hookview.dryrun.device import guard

    monkeypatch.setattr(guard, "_HEADERS", ("NoSuchHeader.h",))
    with pytest.raises(UsageError, match=r"NoSuchHeader\.h is not installed") as error, dry_run():
        pass
    assert "\n" not in str(error.value)
    assert not torch.cuda.is_available()


def test_a_test_without_syncs_passes() -> None:
    no_syncs(lambda run: train(run, masked=False))()
    hookview.no_syncs(warmup=0, allow=["h2d-", "model = nn.Linear"])(
        lambda run: train(run, masked=False)
    )()


def test_a_test_with_syncs_says_where_and_what_to_do() -> None:
    with pytest.raises(SyncsFoundError) as error:
        no_syncs(lambda run: train(run, masked=True))()
    text = str(error.value)
    assert text.startswith("with a GPU the host would wait for it at 2 places:")
    assert "out = out[out[:, 0] > -9]" in text
    assert "sync-mask-index" in text
    assert "fix: Write with a Python number" in text
    assert isinstance(error.value, AssertionError)


def test_allowed_syncs_fail_nothing() -> None:
    no_syncs(allow=["out[out[:, 0] > -9]"])(lambda run: train(run, masked=True))()
    with pytest.raises(SyncsFoundError):
        no_syncs(allow=["another line"])(lambda run: train(run, masked=True))()


def test_a_test_that_checks_nothing_fails() -> None:
    with pytest.raises(UsageError, match="nothing was checked: 1 steps"):
        no_syncs(lambda run: train(run, masked=False, steps=1))()
    with pytest.raises(UsageError, match="needs an argument"):
        no_syncs(lambda: None)


def test_other_arguments_of_a_test_are_left_to_pytest() -> None:
    import inspect

    @no_syncs(warmup=0)
    def test(tmp_path: int, run: DryRun, size: int = 2) -> tuple[int, int]:
        run.step()
        return tmp_path, size

    assert list(inspect.signature(test).parameters) == ["tmp_path", "size"]
    assert test(tmp_path=3, size=4) == (3, 4)


def test_syncs_that_the_driver_decides_are_listed_and_fail_nothing(run: DryRun) -> None:
    torch.randn(3).to("cuda", non_blocking=True)
    run.step()
    (sync,) = run.syncs
    assert (sync.certain, sync.cause) == (False, "h2d-nonblocking-unpinned")
    run.check()


def test_memory_that_torch_pins_itself_counts_as_pinned_until_it_is_freed(run: DryRun) -> None:
    of_torch = torch._C._VariableFunctions.empty  # type: ignore[attr-defined]
    pinned = of_torch(1000, pin_memory=True)
    assert torch.ops.aten.is_pinned(pinned)
    pinned.to("cuda", non_blocking=True)
    assert not run.syncs
    address = pinned.data_ptr()
    del pinned
    assert not PINNED.holds_memory(address)


def test_an_operator_without_a_cpu_kernel_raises_by_name(run: DryRun) -> None:
    library = torch.library.Library("dryrun_test", "FRAGMENT")
    library.define("scan(Tensor x, int n) -> Tensor")
    x = torch.ones(3, device="cuda")
    with pytest.raises(NotImplementedError, match=r'run\.register\("dryrun_test::scan"'):
        torch.ops.dryrun_test.scan(x, 2)
    run.register("dryrun_test::scan", lambda x, n: x.cumsum(0) * n, syncs=lambda _, n: n)
    out = torch.ops.dryrun_test.scan(x, 2)
    assert out.is_cuda
    assert out.tolist() == [2, 4, 6]
    assert [sync.count for sync in run.syncs if sync.operator == "dryrun_test::scan"] == [2]
    with pytest.raises(UsageError, match="no operator"):
        run.register("dryrun_test::unknown", lambda: None)


def test_what_runs_otherwise_is_said(run: DryRun) -> None:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.compile(nn.Linear(2, 2, device="cuda"))(torch.ones(2, device="cuda"))
    graph = torch.cuda.CUDAGraph()
    graph.replay()
    assert [note.split(" ")[0] for note in run.notes] == ["streams", "torch.compile:", "CUDA"]


def test_devices_are_told_apart() -> None:
    with dry_run(devices=2) as run:
        assert torch.cuda.device_count() == 2
        x = torch.ones(2, device="cuda:1")
        y = x.to("cuda:0")
        assert (x.device.index, (x + 1).device.index, y.device.index) == (1, 1, 0)
        with pytest.raises(RuntimeError, match="same device"):
            x + y
        with torch.cuda.device(1):
            assert torch.ones(2, device="cuda").device.index == 1
        assert len(run.syncs) == 0


def test_warnings_are_not_of_ours() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with dry_run():
            torch.ones(2, device="cuda")
