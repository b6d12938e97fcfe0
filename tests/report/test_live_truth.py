"""Attribution of freshly recorded training steps, against a truth recorded by other means.

The truth for a node is the module that was running when autograd gave out its number, noted by
hooks of the test's own; for gradients the order in which the parameters received them. Times are
taken from the file by a plain reading. Nothing of the recorder or the analyzer is used for it.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tb_hookview as hookview

torch = pytest.importorskip("torch", reason="needs torch: pip install torch")
from support import torchvision_ops  # noqa: E402  # needs torch

from tb_hookview.recorder.compiled import inlined  # noqa: E402  # needs torch


@pytest.fixture(autouse=True)
def nothing_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests of the process may have compiled before the recorder was loaded."""
    hookview.wrap(torch.nn.Identity())
    monkeypatch.setattr(inlined, "_unseen", False)


EVALUATE = "autograd::engine::evaluate_function: "


class Truth:
    """The module that made each autograd node, and the order of parameters' gradients."""

    def __init__(self, model: Any) -> None:
        self.owner: dict[int, str] = {}
        self.gradients: list[str] = []
        self._running: list[str] = []
        self._next = torch.autograd._get_sequence_nr()
        for path, module in model.named_modules():
            module.register_forward_pre_hook(self._entering(path), prepend=True)
            module.register_forward_hook(self._leaving)
        for name, parameter in model.named_parameters():
            parameter.register_post_accumulate_grad_hook(self._gradient(name.rpartition(".")[0]))

    def _note(self) -> None:
        now = torch.autograd._get_sequence_nr()
        for number in range(self._next, now):
            self.owner[number] = self._running[-1] if self._running else "(outside)"
        self._next = now

    def _entering(self, path: str) -> Callable[..., None]:
        def enter(*_: object) -> None:
            self._note()
            self._running.append(path)

        return enter

    def _leaving(self, *_: object) -> None:
        self._note()
        self._running.pop()

    def _gradient(self, path: str) -> Callable[[object], None]:
        return lambda _parameter: self.gradients.append(path)


def self_times(trace: dict[str, Any]) -> list[tuple[dict[str, Any], float]]:
    """Node evaluations in order of time, with their time less nested evaluations; microseconds."""
    nodes = [e for e in trace["traceEvents"] if str(e.get("name")).startswith(EVALUATE)]
    nodes.sort(key=lambda e: (e["ts"], -e["dur"]))
    result: list[tuple[dict[str, Any], float]] = []
    for node in nodes:
        inside = [
            other
            for other in nodes
            if other is not node
            and other["tid"] == node["tid"]
            and node["ts"] <= other["ts"]
            and other["ts"] + other["dur"] <= node["ts"] + node["dur"]
        ]
        direct = [
            one
            for one in inside
            if not any(
                o is not one
                and o["ts"] <= one["ts"]
                and one["ts"] + one["dur"] <= o["ts"] + o["dur"]
                for o in inside
            )
        ]
        result.append((node, node["dur"] - sum(one["dur"] for one in direct)))
    return result


def expected(truth: Truth, path: Path) -> dict[str, float]:
    trace = json.loads(gzip.decompress(path.read_bytes()))
    gradients = iter(truth.gradients)
    sums: defaultdict[str, float] = defaultdict(float)
    for node, time in self_times(trace):
        number = number_of(trace, node)
        owner = truth.owner.get(number, "(outside)") if number is not None else next(gradients)
        sums[owner] += time
    return dict(sums)


def number_of(trace: dict[str, Any], node: dict[str, Any]) -> int | None:
    """Number of a node; its evaluation lacks one where a mark comes first."""
    rows = [
        row
        for row in trace["traceEvents"]
        if row.get("name") == node["name"].removeprefix(EVALUATE)
        and row["tid"] == node["tid"]
        and node["ts"] <= row["ts"] <= node["ts"] + node["dur"]
    ]
    numbers = [row["args"].get("Sequence number") for row in [node, *rows]]
    return next((number for number in numbers if number is not None), None)


def record(model: Any, step: Callable[[], None], folder: Path) -> tuple[Truth, Path]:
    hookview.wrap(model)
    step()
    truth = Truth(model)
    with hookview.profile(str(folder)):
        step()
    hookview.unwrap(model)
    (path,) = folder.glob("*.pt.trace.json.gz")
    return truth, path


def check(model: Any, step: Callable[[], None], folder: Path) -> None:
    truth, path = record(model, step, folder)
    wanted = expected(truth, path)
    data = hookview.analyze(path).data
    outside = wanted.pop("(outside)", 0.0)
    found = {m.path: m.backward.self_host_us for m in data.modules if m.backward.self_host_us}
    assert found == pytest.approx({path: time for path, time in wanted.items() if time}, abs=0.01)
    assert data.coverage.unattributed_host_us == pytest.approx(outside, abs=0.01)
    assert len(wanted) > 1


def small_net() -> Any:
    nn = torch.nn
    shared = nn.Linear(16, 16)
    return nn.Sequential(
        nn.Sequential(shared, nn.ReLU(inplace=True)),
        nn.Sequential(shared, nn.GELU()),
        nn.Linear(16, 4),
    )


def test_shared_and_in_place_modules(tmp_path: Path) -> None:
    model, data = small_net(), torch.randn(8, 16)
    check(model, lambda: model(data).square().mean().backward(), tmp_path)


def test_several_backwards_in_one_step(tmp_path: Path) -> None:
    model, data = small_net(), torch.randn(8, 16)

    def step() -> None:
        for part in data.split(4):
            model(part).sum().backward()

    check(model, step, tmp_path)


def test_timm_vision_transformer_with_patch_dropout(tmp_path: Path) -> None:
    torchvision_ops.declare()
    timm = pytest.importorskip("timm", reason="needs timm: make setup")
    model = timm.models.VisionTransformer(
        img_size=32, patch_size=8, embed_dim=48, depth=3, num_heads=3, patch_drop_rate=0.5
    )
    data = torch.randn(2, 3, 32, 32)
    check(model, lambda: model(data).square().mean().backward(), tmp_path)


def test_torchvision_resnet18(tmp_path: Path) -> None:
    """In-place ReLU and `+=` on the outputs of modules."""
    torchvision_ops.declare()
    torchvision = pytest.importorskip("torchvision", reason="needs torchvision: make setup")
    model, data = torchvision.models.resnet18(), torch.randn(1, 3, 64, 64)
    check(model, lambda: model(data).square().mean().backward(), tmp_path)
