"""Agreement with `key_averages()` of torch.profiler, operator by operator, on fresh recordings."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile, record_function, schedule
from torch.utils.checkpoint import checkpoint

from tb_hookview.loading import analyze
from tb_hookview.schema import Operator

NEAR = 1e-6
"""Sums of nanoseconds, added as microseconds there: off by the rounding of doubles alone."""

NO_OPERATORS = ("ProfilerStep*", "[memory]")
"""Rows of theirs only: steps, which are a table of their own here, and memory that no operator
took."""

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "everything": {"record_shapes": True, "profile_memory": True, "with_modules": True},
    "schedule": {"schedule": schedule(wait=1, warmup=1, active=2)},
}


class Net(nn.Module):
    """Convolutions, a norm, something in place, a layer used twice, a checkpoint."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True))
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.again = nn.Linear(32, 32)
        self.head = nn.Sequential(nn.GELU(), nn.Linear(32, 4))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Shape (batch, 4)."""
        found = self.pool(checkpoint(self.stem, images, use_reentrant=False))
        with record_function("twice"):
            found = self.again(self.again(found))
        logits: torch.Tensor = self.head(found)
        return logits


def recorded(folder: Path, **options: Any) -> tuple[profile, dict[str, Operator]]:
    """Torch's averages of three or four steps, and our rows by name."""
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters())
    images, labels = torch.randn(16, 3, 8, 8), torch.randint(0, 4, (16,))
    data = torch.utils.data.TensorDataset(images, labels)
    loader = torch.utils.data.DataLoader(data, batch_size=4)
    with profile(activities=[ProfilerActivity.CPU], acc_events=True, **options) as profiler:
        for batch, target in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(batch), target)
            loss.backward()
            optimizer.step()
            loss.to(torch.float64).item()
            profiler.step()
    path = folder / "trace.json"
    profiler.export_chrome_trace(str(path))
    return profiler, {row.name: row for row in analyze(path).operators}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_calls_total_and_self_times(tmp_path: Path, options: dict[str, Any]) -> None:
    profiler, ours = recorded(tmp_path, **options)
    theirs = {row.key: row for row in profiler.key_averages() if row.key not in NO_OPERATORS}
    assert ours.keys() == theirs.keys()
    assert len(ours) > 80
    for name, row in theirs.items():
        assert ours[name].calls == row.count
        assert ours[name].host_us == pytest.approx(row.cpu_time_total, abs=NEAR)
        assert ours[name].self_host_us == pytest.approx(row.self_cpu_time_total, abs=NEAR)
        assert ours[name].device_us is None


def test_python_frames_take_no_time_from_an_operator(tmp_path: Path) -> None:
    """Self times are the same with stacks and without.

    With stacks torch's lack the Python code that an operator runs; ours do not.
    """
    profiler, ours = recorded(tmp_path, with_stack=True)
    theirs = {row.key: row for row in profiler.key_averages() if row.key in ours}
    assert ours.keys() == theirs.keys()
    below = python_time(profiler)
    assert any(below[name] > 1 for name in ours)
    for name, row in theirs.items():
        assert ours[name].calls == row.count
        assert ours[name].host_us == pytest.approx(row.cpu_time_total, abs=NEAR)
        wanted = row.self_cpu_time_total + below[name]
        assert ours[name].self_host_us == pytest.approx(wanted, abs=NEAR)


def python_time(profiler: profile) -> Counter[str]:
    """Time of Python frames directly inside operators of each name, less the operators in them."""
    found: Counter[str] = Counter()
    for event in profiler.events() or []:
        if not event.is_python_function:
            frames = [child for child in event.cpu_children if child.is_python_function]
            found[event.name] += sum(map(_of_frame, frames))
    return found


def _of_frame(event: FunctionEvent) -> float:
    inner = sum(_of_frame(c) if c.is_python_function else 0.0 for c in event.cpu_children)
    return float(event.self_cpu_time_total) + inner


def test_by_input_shape(tmp_path: Path) -> None:
    """As `key_averages(group_by_input_shape=True)`, which shows no shapes of tensors in lists."""
    profiler, by_name = recorded(tmp_path, record_shapes=True)
    rows = analyze(tmp_path / "trace.json").tables()["operators_by_shape"]
    ours: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        shapes = [
            [] if any(isinstance(size, list) for size in shape) else shape
            for shape in json.loads(row.shapes or "[]")
        ]
        sums = ours.setdefault((row.name, json.dumps(shapes)), [0, 0.0, 0.0])
        for place, value in enumerate((row.calls, row.host_us, row.self_host_us)):
            sums[place] += value
    theirs = {
        (row.key, json.dumps(row.input_shapes)): row
        for row in profiler.key_averages(group_by_input_shape=True)
        if row.key not in NO_OPERATORS
    }
    assert len(ours) > len(by_name)
    assert ours.keys() == theirs.keys()
    for key, row in theirs.items():
        times = (row.count, row.cpu_time_total, row.self_cpu_time_total)
        assert ours[key] == pytest.approx(times, abs=NEAR)


def with_stacks() -> profile:
    """A forward with stacks. torch 2.13 sometimes fails to decode a name of its own."""
    net, images = Net().eval(), torch.randn(4, 3, 8, 8)
    verbose = torch._C._profiler._ExperimentalConfig(verbose=True)
    options = {"with_stack": True, "acc_events": True, "experimental_config": verbose}
    for _ in range(5):
        try:
            with profile(activities=[ProfilerActivity.CPU], **options) as profiler:
                for _ in range(2):
                    net(images)
                    net.again(torch.randn(4, 32))
        except UnicodeDecodeError:
            continue
        return profiler
    pytest.skip("torch failed to decode names of its own five times: run it again")


def test_by_stack(tmp_path: Path) -> None:
    """As `key_averages(group_by_stack_n=...)` of a forward: calls and total times.

    Theirs also has built-in functions and modules as frames, and a backward operator has the stack
    of the first operator with its number there, of the one that made its node here.
    """
    profiler = with_stacks()
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    rows = analyze(tmp_path / "trace.json").tables()["operators_by_stack"]
    ours: dict[tuple[str, ...], list[float]] = {}
    for row in rows:
        key = (row.name, *(row.stack or "").splitlines())
        assert key not in ours
        ours[key] = [row.calls, row.host_us]
    theirs: dict[tuple[str, ...], list[float]] = {}
    for average in profiler.key_averages(group_by_stack_n=1000):
        frames = (f for f in average.stack if not f.startswith(("<built-in", "nn.Module: ")))
        sums = theirs.setdefault((average.key, *frames), [0, 0.0])
        sums[0] += average.count
        sums[1] += average.cpu_time_total
    assert len({key[1:] for key in ours}) > 5
    mine = {name for name, *_ in ours}
    wanted = {key: sums for key, sums in theirs.items() if key[0] in mine}
    assert ours.keys() == wanted.keys()
    for key, sums in wanted.items():
        assert ours[key] == pytest.approx(sums, abs=NEAR)
