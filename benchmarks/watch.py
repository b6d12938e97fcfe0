"""What `hookview.watch` costs per step: paired rounds of watched and plain steps.

    python benchmarks/watch.py [--rounds N] [--model NAME]

What is counted is processor time: that of the training thread, and that of the watch's own, which
reads the marks and writes the rows. A round is the same number of steps in each of these ways:
plain, without blocks, with blocks as in a step of 5 ms, as in one of 50 ms, and plain again; every
other round the other way round. The steps are whole cycles of those whose blocks are timed and
those whose are not. Of each way the sum counts, less the mean of both plain ones, so that nothing
is left out that happens at the beginning of a cycle or once in many steps. The cost is the median
of the rounds' differences, with the 95 % confidence interval of that median.

The watch's own thread wakes up a few times per second. So its time is taken from a training whose
steps have the length that the cost is a share of: those of the model, and a pause.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

import tb_hookview as hookview

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.common.markdown import table
from tb_hookview.watching.blocks import MOST, choose_blocks
from tb_hookview.watching.sampling import RUN, every_how_many

WARM_UP = RUN
"""Steps before those that are timed: the last gradients are looked for in the first of them."""

IMPORT_S, THREAD_S = 3.0, 5.0
"""How long the watch's own thread imports what it needs, and how long it is timed after that."""

STEPS_US = (5_000, 50_000)
"""Steps that the cost is a share of; they say in how many steps blocks are timed."""


class Case(NamedTuple):
    """A model, its input and how it is watched."""

    name: str
    model: Callable[[], nn.Module]
    batch: Callable[[], torch.Tensor]


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
    return nn.Sequential(nn.Conv2d(3, channels, 3), *middle, nn.Flatten(), nn.LazyLinear(10))


CASES = (
    Case("linear, 16 layers", lambda: multilayer(64, 16), lambda: torch.ones(8, 64)),
    Case("transformer, 12 layers", lambda: Transformer(32, 12), lambda: torch.ones(2, 8, 16)),
    Case("convolutions, 6 layers", lambda: convolutions(8), lambda: torch.ones(2, 3, 16, 16)),
)


class Training:
    """A model that is trained on one batch."""

    def __init__(self, case: Case) -> None:
        torch.manual_seed(0)
        self.model, self.batch = case.model(), case.batch()
        self.model(self.batch)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-6)

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
    every: int
    """Blocks are timed in one of this many steps."""

    def begin(self, training: Training, folder: str, *, scalars: bool) -> hookview.Watch:
        """Return the watch."""
        return hookview.watch(
            folder,
            model=training.model if self.blocks else None,
            blocks=self.blocks,
            blocks_every=self.every,
            first=None,
            slow_factor=None,
            scalars=scalars,
        )


def training_us(training: Training, ways: list[Way], steps: int, rounds: int) -> list[list[float]]:
    """Return what each way costs the training's thread per step, in each round; plain ones last."""

    def run(way: Way | None) -> float:
        if way is None:
            return training.run_us(steps, lambda: None)
        with (
            tempfile.TemporaryDirectory() as folder,
            way.begin(training, folder, scalars=False) as watch,
        ):
            return training.run_us(steps, watch.step)

    costs: list[list[float]] = [[] for _ in (*ways, None)]
    for number in range(rounds):
        order = [None, *ways, None][:: -1 if number % 2 else 1]
        first, *times, last = [run(way) for way in order]
        plain = (first + last) / 2
        found = [each - plain for each in times[:: -1 if number % 2 else 1]]
        for series, value in zip(costs, (*found, plain), strict=True):
            series.append(value)
    return costs


def thread_us(training: Training, way: Way, step_us: int) -> float:
    """Microseconds of processor time per step that the watch's own thread takes."""
    with (
        tempfile.TemporaryDirectory() as folder,
        way.begin(training, folder, scalars=True) as watch,
    ):
        (thread,) = [each for each in threading.enumerate() if each.name == "hookview-watch"]
        clock = time.pthread_getcpuclockid(thread.ident or 0)

        def train(seconds: float) -> int:
            until, steps = time.monotonic() + seconds, 0
            while time.monotonic() < until:
                end = time.monotonic() + step_us / 1e6
                training.step()
                watch.step()
                steps += 1
                time.sleep(max(0.0, end - time.monotonic()))
            return steps

        train(IMPORT_S)
        begun = time.clock_gettime_ns(clock)
        steps = train(THREAD_S)
        return (time.clock_gettime_ns(clock) - begun) / steps / 1e3


class Cost(NamedTuple):
    """Microseconds per step, with the 95 % confidence interval."""

    median: float
    low: float
    high: float

    def text(self, step_us: int) -> list[str]:
        """Return it, and as a share of a step."""
        interval = f"{self.median:.0f} us ({self.low:.0f} to {self.high:.0f})"
        return [interval, f"{self.median / step_us:.2%}"]


def measure(case: Case, rounds: int) -> list[list[str]]:
    """Return the rows of a model: with blocks and without."""
    training = Training(case)
    count = len(choose_blocks(training.model, "", MOST))
    often = {step_us: every_how_many(count, "host", 1000 * step_us) for step_us in STEPS_US}
    without = Way(0, 1)
    ways = [without, *(Way(MOST, every) for every in dict.fromkeys(often.values()))]
    steps = RUN * math.lcm(*often.values())
    *costs, plain = training_us(training, ways, steps, rounds)
    by_way = dict(zip(ways, costs, strict=True))
    rows = []
    for blocks in (count, 0):
        cells = [case.name, str(blocks), f"{statistics.median(plain) / 1e3:.1f} ms"]
        for step_us, every in often.items():
            way = Way(MOST, every) if blocks else without
            own = thread_us(training, way, step_us)
            middle, (low, high) = statistics.median(by_way[way]), median_interval(by_way[way])
            cost = Cost(middle + own, low + own, high + own)
            cells += [str(every) if blocks else "", *cost.text(step_us), f"{own:.0f} us"]
        rows.append(cells)
    return rows


def median_interval(values: list[float]) -> tuple[float, float]:
    """Return the 95 % confidence interval of the median: order statistics, so of any spread."""
    ordered, half = sorted(values), 0.98 * math.sqrt(len(values))
    middle = len(values) / 2
    return (
        ordered[max(0, math.floor(middle - half))],
        ordered[min(len(values) - 1, math.ceil(middle + half))],
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--model", default="", help="first part of a model's name; default: all")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows = [
        row
        for case in CASES
        if case.name.startswith(given.model)
        for row in measure(case, given.rounds)
    ]
    cost = [
        part
        for step_us in STEPS_US
        for part in (
            "blocks in 1 of",
            "cost per step",
            f"of {step_us // 1000} ms",
            "of it the watch's thread",
        )
    ]
    head = ["model", "blocks", "step", *cost]
    print(table(head, rows))


if __name__ == "__main__":
    main()
