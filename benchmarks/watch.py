"""What `hookview.watch` costs per step, as a share of steps of 5 and of 50 ms.

    python -m benchmarks.watch [--rounds N] [--model NAME]
    python -m benchmarks.watch --memory

Counts processor time: of the training's thread, and of the watch's own, which reads the marks and
writes the rows.

A real step varies by more than a watch costs. So the models are hollow: they have the modules, the
parameters and the blocks of real ones, whose hooks and gradients they call as often, and next to no
computation. What this leaves out: that computation drives the watch's code and data out of the
caches. One real model whose step takes about 5 ms is measured the same way, as a check.

A round is plain, watched, watched, plain (ABBA), of whole cycles of the steps whose blocks are
timed and those whose are not, so that what happens once in a cycle counts. The cost is the median
of the rounds' differences, with a 95 % interval by bootstrap. The watch's own thread wakes up a few
times per second, so its time is taken from steps that have the length that it is a share of.

`--memory` trains 100,000 watched steps instead: memory of the process, and bytes of the files.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

import tb_hookview as hookview

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.common import machine
from benchmarks.common.markdown import table
from tb_hookview.watching.blocks import MOST, choose_blocks
from tb_hookview.watching.sampling import RUN, every_how_many

STEPS_US = (5_000, 50_000)
"""Steps that the cost is a share of; they say in how many steps blocks are timed."""

LIMITS = {5_000: 0.01, 50_000: 0.003}
"""Share of these steps that a watch with blocks may cost; half of it without blocks."""

WARM_UP = 2 * RUN
"""Steps before those that are timed: the last gradients are looked for in the first of them."""

FEWEST = 6 * RUN
"""Steps of a run at least."""

SECONDS, SETTLE_S = 4, 0.6
"""The watch's own thread is timed in so many seconds, after this one."""

NEVER = 1e9
"""A `slow_factor`: steps are compared as ever, and none is slow."""

RESAMPLES = 2_000


class Transformer(nn.Module):
    """Encoder layers between two linear ones."""

    def __init__(self, width: int, layers: int) -> None:
        super().__init__()
        self.embed = nn.Linear(16, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True, dropout=0.0)
            for _ in range(layers)
        )
        self.head = nn.Linear(width, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Call one after the other."""
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def multilayer(width: int, layers: int) -> nn.Module:
    """Return linear layers alone: as many blocks as layers."""
    return nn.Sequential(*(nn.Linear(width, width) for _ in range(layers)))


def convolutions(channels: int) -> nn.Module:
    """Return convolutions with normalization."""
    middle = [
        nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels))
        for _ in range(6)
    ]
    first, last = nn.Conv2d(3, channels, 3), nn.Linear(14 * 14 * channels, 10)
    return nn.Sequential(first, *middle, nn.Flatten(), last)


MODELS: dict[str, Callable[[], nn.Module]] = {
    "linear, 16 layers": lambda: multilayer(64, 16),
    "transformer, 12 layers": lambda: Transformer(32, 12),
    "convolutions, 6 layers": lambda: convolutions(8),
}


def hollow(model: nn.Module) -> nn.Module:
    """Leave a model its modules, calls and parameters, and of each parameter one number."""
    blocks = [block.name for block in choose_blocks(model, "", MOST)]
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                module._parameters[name] = nn.Parameter(torch.ones(()))
        module.__class__ = _hollow_class(type(module))
    assert [block.name for block in choose_blocks(model, "", MOST)] == blocks
    return model


@cache
def _hollow_class(kind: type[nn.Module]) -> Any:
    return type(kind.__name__, (kind,), {"forward": _call_children_and_use_parameters})


def _call_children_and_use_parameters(self: nn.Module, x: torch.Tensor) -> torch.Tensor:
    for child in self._modules.values():
        if child is not None:
            x = child(x)
    for parameter in self._parameters.values():
        if parameter is not None:
            x = x + parameter
    return x


class Training:
    """A model that is trained on one batch."""

    def __init__(self, model: nn.Module, batch: torch.Tensor) -> None:
        self.model, self.batch = model, batch
        self.optimizer = torch.optim.SGD(model.parameters(), lr=1e-9, fused=True)

    def step(self) -> None:
        """Train one step."""
        self.optimizer.zero_grad()
        self.model(self.batch).square().mean().backward()
        self.optimizer.step()

    def run_us(self, steps: int, each: Callable[[], None]) -> float:
        """Microseconds of this thread's processor time per step."""
        for _ in range(WARM_UP):
            self.step()
            each()
        since = time.thread_time_ns()
        for _ in range(steps):
            self.step()
            each()
        return (time.thread_time_ns() - since) / steps / 1e3


class Way(NamedTuple):
    """How steps are watched."""

    blocks: int
    every: int = 1
    """Blocks are timed in one of this many steps."""

    def begin(self, training: Training, folder: str, *, scalars: bool) -> hookview.Watch:
        """Return the watch."""
        return hookview.watch(
            folder,
            model=training.model if self.blocks else None,
            blocks=self.blocks,
            blocks_every=self.every,
            first=None,
            slow_factor=NEVER,
            scalars=scalars,
        )

    @property
    def steps(self) -> int:
        """Steps of one run: whole cycles."""
        cycle = RUN * self.every
        return cycle * -(-FEWEST // cycle)


def compare_us(training: Training, way: Way) -> tuple[float, float]:
    """Return what the training's thread takes more per step if watched, and plain, in a round."""

    def watched() -> float:
        with (
            tempfile.TemporaryDirectory() as folder,
            way.begin(training, folder, scalars=False) as watch,
        ):
            return training.run_us(way.steps, watch.step)

    def plain() -> float:
        return training.run_us(way.steps, lambda: None)

    first, *both, last = plain(), watched(), watched(), plain()
    return sum(both) / 2 - (first + last) / 2, (first + last) / 2


def thread_us(training: Training, way: Way, step_us: int) -> list[float]:
    """Return the processor time of the watch's own thread per step, in each of some seconds."""
    with (
        tempfile.TemporaryDirectory() as folder,
        way.begin(training, folder, scalars=True) as watch,
    ):
        (thread,) = [each for each in threading.enumerate() if each.name == "hookview-watch"]
        clock = time.pthread_getcpuclockid(thread.ident or 0)

        def train(seconds: float) -> float:
            begun, until = time.clock_gettime_ns(clock), time.monotonic() + seconds
            while time.monotonic() < until:
                end = time.monotonic() + step_us / 1e6
                training.step()
                watch.step()
                time.sleep(max(0.0, end - time.monotonic()))
            return (time.clock_gettime_ns(clock) - begun) / 1e9 / seconds * step_us

        train(SETTLE_S)
        return [train(1.0) for _ in range(SECONDS)]


class Cost(NamedTuple):
    """Microseconds per step, with the 95 % interval."""

    median: float
    low: float
    high: float

    def text(self) -> str:
        """Return it for a table."""
        return f"{self.median:.1f} us ({self.low:.1f} to {self.high:.1f})"

    def share(self, step_us: int) -> str:
        """Return it as a share of a step."""
        low, high = self.low / step_us, self.high / step_us
        return f"{self.median / step_us:.2%} ({low:.2%} to {high:.2%})"


def cost_of(rounds: list[float], seconds: list[float]) -> Cost:
    """Return the median of rounds plus the mean of seconds, with an interval by bootstrap."""
    draw = np.random.default_rng(0)

    def drawn(values: list[float]) -> Any:
        return np.array(values)[draw.integers(len(values), size=(RESAMPLES, len(values)))]

    sums = np.median(drawn(rounds), 1) + drawn(seconds).mean(1)
    low, high = np.percentile(sums, (2.5, 97.5))
    return Cost(float(np.median(rounds) + np.mean(seconds)), float(low), float(high))


def measure(name: str, rounds: int) -> list[list[str]]:
    """Return the rows of a model: with blocks and without."""
    training = Training(hollow(MODELS[name]()), torch.ones(()))
    count = len(choose_blocks(training.model, "", MOST))
    ways = {
        (blocks, step_us): Way(
            blocks and MOST, every_how_many(count, "host", 1000 * step_us) if blocks else 1
        )
        for blocks in (count, 0)
        for step_us in STEPS_US
    }
    found: dict[Way, list[tuple[float, float]]] = {way: [] for way in ways.values()}
    for _ in range(rounds):
        for way, series in found.items():
            series.append(compare_us(training, way))
    rows = []
    for blocks in (count, 0):
        plain = float(np.median([each for _, each in found[ways[blocks, STEPS_US[0]]]]))
        cells = [name, str(blocks), f"{plain:.0f} us"]
        for step_us in STEPS_US:
            way = ways[blocks, step_us]
            own = thread_us(training, way, step_us)
            in_training = [more for more, _ in found[way]]
            cost = cost_of(in_training, own)
            limit = LIMITS[step_us] / (1 if blocks else 2)
            cells += [
                f"1 in {way.every}" if blocks else "",
                cost_of(in_training, [0.0]).text(),
                f"{np.mean(own):.1f} us",
                cost.share(step_us),
                "met" if cost.high <= limit * step_us else f"limit {limit:.2%}",
            ]
        rows.append(cells)
    return rows


def check(rounds: int) -> str:
    """Return what a real transformer says, whose step takes about 5 ms."""
    training = Training(Transformer(32, 12), torch.ones(2, 8, 16))
    count = len(choose_blocks(training.model, "", MOST))
    way = Way(MOST, every_how_many(count, "host", 1000 * STEPS_US[0]))
    found = [compare_us(training, way) for _ in range(rounds)]
    plain = np.median([each for _, each in found]) / 1e3
    cost = cost_of([more for more, _ in found], [0.0])
    return (
        f"A real transformer, whose step takes {plain:.1f} ms, blocks timed in 1 of {way.every}: "
        f"{cost.text()} in the training's thread, {rounds} rounds."
    )


def memory(steps: int = 100_000) -> str:
    """Return memory and size of files over watched steps, in a table."""
    name = "linear, 16 layers"
    training = Training(hollow(MODELS[name]()), torch.ones(()))
    rows = []
    with (
        tempfile.TemporaryDirectory() as folder,
        Way(MOST).begin(training, folder, scalars=True) as watch,
    ):
        for step in range(1, steps + 1):
            training.step()
            watch.step()
            if step % (steps // 10) == 0:
                size = sum(each.stat().st_size for each in Path(folder).glob("*.steps.jsonl"))
                rows.append([f"{step:,}", f"{_resident() / 1e6:.1f} MB", f"{size / step:.0f} kB"])
        lost = watch.lost
    head = ["steps", "memory of the process", "rows per 1,000 steps"]
    return f"{table(head, rows)}\n\n{name}, each timed in each step; {lost} rows lost."


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--model", default="", help="first part of a model's name; default: all")
    parser.add_argument("--memory", action="store_true")
    given = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    if given.memory:
        print(memory())
        return
    from torch.utils import tensorboard  # noqa: F401 - the watch's thread would import it

    gc.collect()
    gc.freeze()  # the heap of torch: a full collection would fall into one run or another
    before = os.getloadavg()[0]
    names = [name for name in MODELS if name.startswith(given.model)]
    rows = [row for name in names for row in measure(name, given.rounds)]
    parts = ("blocks timed", "training's thread", "watch's own", "share", "limit")
    of = [f"{part}, {step_us // 1000} ms" for step_us in STEPS_US for part in parts]
    print(table(["model", "blocks", "hollow step", *of], rows))
    print(f"\n{check(given.rounds // 2)}")
    print(f"\n{machine.describe()}; load {before:.1f} before, {os.getloadavg()[0]:.1f} after.")


if __name__ == "__main__":
    main()
