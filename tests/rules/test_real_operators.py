"""Rules on what torch really calls: recorded on the CPU, with a sync added where a device has one.

A value read back, `nonzero` and the operators that resize their result wait for a device if the
tensors lie on one. On the CPU the same operators run in the same order and wait for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grid
import pytest
from rules.diagnosed import Diagnosed, diagnosed

torch = pytest.importorskip("torch", reason="needs torch: pip install torch")
WAITING = {
    "aten::masked_select",
    "aten::_local_scalar_dense",
    "aten::nonzero",
    "aten::_unique2",
    "aten::bincount",
}


def recorded(folder: Path, act: Callable[[], Any], *, shapes: bool = False) -> list[dict[str, Any]]:
    act()
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=shapes
    ) as prof:
        act()
    prof.export_chrome_trace(str(folder / "recorded.json"))
    events: list[dict[str, Any]] = json.loads((folder / "recorded.json").read_text())["traceEvents"]
    return events


def evenly(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events with a microsecond from each start or end to the next: as on an idle machine."""
    complete = [event for event in events if event.get("ph") == "X"]
    bounds = {time for each in complete for time in (each["ts"], each["ts"] + each["dur"])}
    place = {time: number for number, time in enumerate(sorted(bounds))}
    for each in complete:
        each["ts"], end = place[each["ts"]], place[each["ts"] + each["dur"]]
        each["dur"] = end - each["ts"]
    return events


def causes(folder: Path, act: Callable[[], Any]) -> list[str]:
    """Cause of a sync inside each operator that has one on a device, by start."""
    return findings(folder, act).causes


def findings(folder: Path, act: Callable[[], Any], *, shapes: bool = False) -> Diagnosed:
    """Findings of a recording with a sync inside each operator that has one on a device."""
    events = evenly(recorded(folder, act, shapes=shapes))
    waits = [
        {
            "ph": "X",
            "cat": "cuda_runtime",
            "name": "cudaStreamSynchronize",
            "pid": event["pid"],
            "tid": event["tid"],
            "args": {},
            "ts": event["ts"] + 0.9 * event["dur"],
            "dur": 0.05 * event["dur"],
        }
        for event in events
        if event.get("cat") == "cpu_op" and event["name"] in WAITING
    ]
    return diagnosed(grid.write(folder / "t.json", events + waits))


class Training:
    """One step of a small training, of which some lines are asked for."""

    def __init__(self) -> None:
        self.model = torch.nn.Linear(8, 8)
        self.optimizer = torch.optim.SGD(self.model.parameters())
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
        self.loss = torch.zeros(())

    def backward(self, *, scaled: bool = False) -> None:
        self.optimizer.zero_grad()
        self.loss = self.model(torch.ones(4, 8)).sum()
        (self.scaler.scale(self.loss) if scaled else self.loss).backward()

    def clip(self, **options: bool) -> Any:
        return torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0, **options)


@pytest.mark.parametrize("foreach", [True, False])
def test_clipping(tmp_path: Path, foreach: bool) -> None:
    training = Training()

    def step() -> None:
        training.backward()
        training.clip(error_if_nonfinite=True, foreach=foreach)
        training.clip(foreach=foreach).item()

    assert causes(tmp_path, step) == ["sync-grad-clip"] * 2


def test_a_norm_that_nobody_reads_asks_for_nothing(tmp_path: Path) -> None:
    training = Training()

    def step() -> None:
        training.backward()
        training.clip()

    assert causes(tmp_path, step) == []


@pytest.mark.parametrize("clipped", [True, False])
def test_the_scaler(tmp_path: Path, clipped: bool) -> None:
    training = Training()

    def step() -> None:
        training.backward(scaled=True)
        if clipped:
            training.scaler.unscale_(training.optimizer)
            training.clip()
        training.scaler.step(training.optimizer)
        training.scaler.update()
        training.loss.item()

    assert causes(tmp_path, step) == ["sync-grad-scaler", "sync-scalar-item"]


def test_a_step_that_the_scaler_skips(tmp_path: Path) -> None:
    training = Training()

    def step() -> None:
        training.backward(scaled=True)
        next(training.model.parameters()).grad.fill_(torch.inf)
        training.scaler.step(training.optimizer)
        training.scaler.update()

    assert causes(tmp_path, step) == ["sync-grad-scaler"]


VALUES = torch.tensor([0.5, -1.0, 2.0])
MASK = VALUES > 0
COUNT = torch.tensor(2)
INTEGERS = torch.tensor([1, 2, 1])
IDENTITY = torch.eye(2)


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        (lambda: VALUES.sum().item(), "sync-scalar-item"),
        (lambda: float(VALUES[0]), "sync-scalar-item"),
        (lambda: bool(VALUES.any()), "sync-bool-branch"),
        (lambda: max(VALUES[0], VALUES[1]), "sync-bool-branch"),
        (lambda: bool(torch.isfinite(VALUES).all()), "sync-bool-branch"),
        (lambda: VALUES[MASK], "sync-mask-index"),
        (lambda: torch.masked_select(VALUES, MASK), "sync-mask-index"),
        (lambda: MASK.nonzero(), "sync-nonzero-variable-shape"),
        (lambda: torch.where(MASK), "sync-nonzero-variable-shape"),
        (lambda: torch.argwhere(MASK), "sync-nonzero-variable-shape"),
        (lambda: torch.nn.functional.one_hot(INTEGERS), "sync-data-dependent-size"),
        (lambda: torch.unique(VALUES), "sync-data-dependent-size"),
        (lambda: torch.bincount(INTEGERS), "sync-data-dependent-size"),
        (lambda: torch.linalg.inv(IDENTITY), "sync-data-dependent-size"),
        (lambda: torch.linalg.cholesky(IDENTITY), "sync-data-dependent-size"),
        (lambda: torch.linalg.solve(IDENTITY, IDENTITY), "sync-data-dependent-size"),
    ],
)
def test_operators(tmp_path: Path, act: Callable[[], Any], expected: str) -> None:
    found = causes(tmp_path, act)
    assert found
    assert set(found) == {expected}


@pytest.mark.parametrize(
    "act",
    [
        lambda: torch.where(MASK, VALUES, 0.0),
        lambda: VALUES.masked_fill(MASK, 0.0),
        lambda: torch.isfinite(VALUES).all(),
        lambda: torch.nn.functional.cross_entropy(torch.ones(3, 4), INTEGERS),
    ],
)
def test_what_the_remedies_advise_reads_nothing_back(
    tmp_path: Path, act: Callable[[], Any]
) -> None:
    assert causes(tmp_path, act) == []


def test_a_tensor_that_is_printed_is_no_index_by_a_mask(tmp_path: Path) -> None:
    found = causes(tmp_path, lambda: repr(VALUES))
    assert set(found) == {"sync-scalar-item", "sync-bool-branch"}


class Sliced(torch.nn.Module):
    def forward(self, values: Any) -> Any:
        return values[:COUNT] if values.ndim else values[COUNT]


def test_a_bound_on_the_device(tmp_path: Path) -> None:
    """Inside of a module's call, which a recording of ours would have marked."""
    from tb_hookview import unwrap, wrap

    model = wrap(Sliced(), name="model")
    with torch.profiler.record_function("warm"):
        model(VALUES)
    try:
        assert causes(tmp_path, lambda: model(VALUES)) == ["sync-host-index-or-slice"]
    finally:
        unwrap(model)


def accuracy() -> None:
    prediction = torch.rand(8, 3).argmax(dim=1)
    (prediction == torch.zeros(8)).sum().item()


def norms() -> None:
    for tensor in torch.ones(3, 4):
        tensor.norm().item()


def clipping_by_hand() -> None:
    norm = torch.linalg.vector_norm(torch.ones(4))
    norm.detach().item()


@pytest.mark.parametrize(
    ("act", "remedy"),
    [
        pytest.param(lambda: torch.rand(4).mean().item(), "metrics", id="a loss"),
        pytest.param(accuracy, "metrics", id="a count of what is right"),
        pytest.param(lambda: torch.ones(4).long().max().item(), "sizes", id="the largest length"),
        pytest.param(lambda: torch.ones(4).long()[1].item(), "sizes", id="one of some lengths"),
        pytest.param(lambda: (torch.ones(4) > 0)[0].item(), "torch.where", id="a truth value"),
        pytest.param(norms, "get_total_norm", id="the norm of each parameter"),
        pytest.param(clipping_by_hand, "get_total_norm", id="clipping by hand"),
        pytest.param(lambda: str(torch.rand(4)), "Print outside", id="a text"),
    ],
)
def test_the_remedy_is_that_of_what_is_read(
    tmp_path: Path, act: Callable[[], Any], remedy: str
) -> None:
    found = findings(tmp_path, act, shapes=True)["sync-scalar-item"]
    fixes = {each.fix for each in found}
    assert fixes
    assert all(remedy in fix for fix in fixes)


def test_the_remedy_after_the_scale_of_a_loss_is_updated(tmp_path: Path) -> None:
    scale, tracker, infinite = (
        torch.full((), 2.0),
        torch.zeros((), dtype=torch.int32),
        torch.ones(()),
    )

    def act() -> None:
        torch._amp_update_scale_(scale, tracker, infinite, 2.0, 0.5, 100)
        scale.item()

    (finding,) = findings(tmp_path, act)["sync-scalar-item"]
    assert "GradScaler.update()" in finding.evidence
    assert "get_scale()" in finding.fix


def test_a_test_of_a_mask(tmp_path: Path) -> None:
    """As transformers asks whether anything is padded."""
    found = findings(tmp_path, lambda: bool(torch.all(torch.ones(4) == 1)))
    assert found.rules == {"sync-bool-branch"}
    (finding,) = found["sync-bool-branch"]
    assert "pass no mask" in finding.fix
