"""Programs that torch's profiler records, and that are timed without it.

A host with torch's operators, and an emulated device next to it.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile

from known_answers import timing
from known_answers.device import Device, Signal
from known_answers.programs import LOADER
from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.simulator import Simulator

OPTIONS: dict[str, dict[str, bool]] = {
    "plain": {},
    "stacks, shapes, memory": {"with_stack": True, "record_shapes": True, "profile_memory": True},
}
_STEPS, _WARM_UP = 8, 3
Part = Callable[[], object]


class Program(NamedTuple):
    """A step: parts of the host's work, each of which launches a kernel, and what is changed."""

    name: str
    parts: Callable[[], list[Part]]
    kernel: float
    """Milliseconds of each kernel."""
    question: dict[str, float]
    sync_every: int = 0
    loader: Part | None = None


class Found(NamedTuple):
    """One recording next to what was timed, milliseconds per step."""

    timed: float
    timed_gain: float
    recorded: float
    estimated: float
    recorded_gain: float
    estimated_gain: float


def _layers(count: int, width: int) -> list[Part]:
    layer = nn.TransformerEncoderLayer(width, 2, 2 * width, dropout=0.0, batch_first=True)
    tokens = torch.ones(2, 4, width)

    def part() -> None:
        with torch.no_grad():
            layer(tokens)

    return [part] * count


def _training(count: int, optimizer: type[torch.optim.Optimizer]) -> list[Part]:
    model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 8))
    update = optimizer(model.parameters(), lr=1e-3)  # type: ignore[call-arg]
    batch = torch.ones(16, 32)

    def part() -> None:
        update.zero_grad()
        model(batch).sum().backward()
        update.step()

    return [part] * count


def _matrices(count: int) -> list[Part]:
    left = torch.ones(128, 128)
    return [lambda: left @ left] * count


def _transform() -> None:
    values = list(range(400))
    for _ in range(12):
        values = [_plus(each) for each in values]


def _plus(value: int) -> int:
    return value + 1


PROGRAMS = (
    Program("host-bound: layers", lambda: _layers(24, 16), 0.05, {"kernels": 0.5}),
    Program(
        "host-bound: training with SGD",
        lambda: _training(10, torch.optim.SGD),
        0.1,
        {"kernels": 0.5},
    ),
    Program("device-bound: products", lambda: _matrices(40), 0.6, {"kernels": 0.5}),
    Program("device-bound: layers", lambda: _layers(16, 16), 0.5, {"kernels": 0.5}),
    Program(
        "mixed: training with syncs",
        lambda: _training(12, torch.optim.AdamW),
        1.5,
        {"kernels": 0.5},
        sync_every=4,
    ),
    Program(
        "mixed: a loader before layers",
        lambda: _layers(12, 16),
        0.6,
        {"kernels": 0.5},
        sync_every=12,
        loader=_transform,
    ),
)


def measure(program: Program, options: dict[str, bool], rounds: int) -> Found:
    """Time and record a program in turns: medians of the quickest of both."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    parts, half = program.parts(), program.question["kernels"]
    whole, changed, recorded = [], [], []
    for _ in range(rounds):
        whole.append(_timed(program, parts, 1.0))
        recorded.append(_recorded(program, parts, options))
        changed.append(_timed(program, parts, half))
    recorded.sort(key=lambda simulator: simulator.recorded.step)
    replayed = [_replayed(program, each) for each in timing.quickest(recorded)]
    timed = timing.quick(whole)
    return Found(
        timed, timed - timing.quick(changed), *map(statistics.median, zip(*replayed, strict=True))
    )


def _replayed(program: Program, simulator: Simulator) -> tuple[float, float, float, float]:
    """Step and gain as recorded, and without what recording cost: what `Found` has of them."""
    base, change = simulator.unrecorded, scaled(simulator.analysis, program.question)
    assert base is not None
    steps = simulator.recorded.step, base.pace.step
    gains = simulator.gain(change), simulator.gain(change, base)
    recorded, estimated, recorded_gain, estimated_gain = (each / 1e6 for each in (*steps, *gains))
    return recorded, estimated, recorded_gain, estimated_gain


def _timed(program: Program, parts: list[Part], factor: float) -> float:
    """Milliseconds of a step without the profiler."""
    device = Device(recording=False)
    _steps(program, parts, device, factor, _WARM_UP)
    device.drain()
    start = time.perf_counter()
    _steps(program, parts, device, factor, _STEPS)
    device.drain()
    took = time.perf_counter() - start
    device.close()
    return took / _STEPS * 1000


def _recorded(program: Program, parts: list[Part], options: dict[str, bool]) -> Simulator:
    device, zero = Device(recording=True), time.time_ns() - time.perf_counter_ns()
    with profile(activities=[ProfilerActivity.CPU], **options) as profiler:
        _steps(program, parts, device, 1.0, _WARM_UP + _STEPS)
        device.drain()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "recorded.pt.trace.json")
        profiler.export_chrome_trace(str(path))
        content = json.loads(path.read_bytes())
        shift = (zero - content["baseTimeNanoseconds"]) / 1000
        content["traceEvents"] += [_placed(event, shift) for event in device.close()]
        path.write_text(json.dumps(content), encoding="utf-8")
        analysis = load(path)
    return Simulator(Selection(analysis, tuple(range(_WARM_UP, _WARM_UP + _STEPS))))


def _placed(event: dict[str, Any], shift: float) -> dict[str, Any]:
    """An event of the device's on the clock and the threads of torch's trace."""
    event["ts"] += shift
    if event["cat"] != "kernel":
        event["pid"], event["tid"] = os.getpid(), threading.get_native_id()
    return event


def _steps(program: Program, parts: list[Part], device: Device, factor: float, count: int) -> None:
    for number in range(count):
        with device.step(number):
            if program.loader:
                with torch.profiler.record_function(LOADER):
                    program.loader()
            done = Signal()
            for place, part in enumerate(parts, 1):
                part()
                done = device.launch("kernel", program.kernel * factor / 1000)
                if program.sync_every and place % program.sync_every == 0:
                    device.synchronize(done)
