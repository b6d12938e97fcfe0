"""What `hookview.watch` costs per step: interleaved rounds of watched and plain steps.

    python benchmarks/watch.py [--rounds N] [--cycles N] [--model NAME]

What is counted is processor time: that of the training thread, and what the watch's own thread
takes to read the marks and write the rows. A round is some watched and some plain steps, in turns
which of them first. Other programs make some steps longer and none shorter: of the steps at the
same place of each cycle, from one run of steps whose blocks are timed to the next, the shortest
counts. The cost is the median of the rounds' differences, with the 95 % confidence interval of that
median. It depends on the number of blocks and on the number of steps in which they are timed, not
on what they compute: so it is measured as in a step of 5 ms, and as in one of 50 ms.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

import tb_hookview as hookview

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.common.markdown import table
from tb_hookview.watching.blocks import choose_blocks
from tb_hookview.watching.clock import BACKWARD, GRADIENT, OPTIMIZER, ROOT
from tb_hookview.watching.sampling import RUN, every_how_many
from tb_hookview.watching.step_file import StepFile, row_line
from tb_hookview.watching.step_rows import row_of

WARM_UP = 8
"""Steps before those that are timed: the last gradients are looked for in the first of them."""

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

    def run(self, steps: int, each: Callable[[], None]) -> list[int]:
        """Nanoseconds of this thread's processor time that each step takes."""
        times = []
        for _ in range(steps):
            since = time.thread_time_ns()
            self.optimizer.zero_grad()
            self.model(self.batch).square().mean().backward()
            self.optimizer.step()
            each()
            times.append(time.thread_time_ns() - since)
        return times


def watched(training: Training, steps: int, blocks: int, every: int, folder: str) -> list[int]:
    """Return the times of watched steps, whose blocks are timed in one of `every`."""
    options: dict[str, Any] = {
        "first": None,
        "slow_factor": None,
        "scalars": False,
        "blocks": blocks,
        "blocks_every": every,
    }
    model = training.model if blocks else None
    with hookview.watch(folder, model=model, **options) as watch:
        training.run(WARM_UP, watch.step)
        return training.run(steps, watch.step)


def undisturbed_us(times: list[int], every: int) -> float:
    """Microseconds per step: of steps at the same place of a cycle, the shortest counts."""
    cycle = RUN * every
    return statistics.mean(min(times[at::cycle]) for at in range(cycle)) / 1e3


class Cost(NamedTuple):
    """Microseconds per step, with the 95 % confidence interval."""

    median: float
    low: float
    high: float

    def text(self, step_us: int) -> list[str]:
        """Return it, and as a share of a step."""
        interval = f"{self.median:.0f} us ({self.low:.0f} to {self.high:.0f})"
        return [interval, f"{self.median / step_us:.2%}"]


def measure(case: Case, rounds: int, cycles: int, blocks: int) -> list[str]:
    """Return a row of the table."""
    training = Training(case)
    count = 0 if not blocks else len(choose_blocks(training.model, "", blocks))
    every = {step_us: every_how_many(count, "host", 1000 * step_us) for step_us in STEPS_US}
    plain: list[float] = []
    costs: dict[int, list[float]] = {each: [] for each in every.values()}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            ways = [0, *costs] if number % 2 else [*costs, 0]
            times = {
                each: watched(training, cycles * RUN * each, blocks, each, folder)
                if each
                else plain_times(training, cycles * RUN * max(costs))
                for each in ways
            }
            plain.append(undisturbed_us(times[0], 1))
            for each, differences in costs.items():
                more = undisturbed_us(times[each], each) - undisturbed_us(
                    times[0][: len(times[each])], each
                )
                differences.append(more)
    cells = [case.name, str(count), f"{statistics.median(plain) / 1e3:.1f} ms"]
    for step_us, each in every.items():
        writing = writing_us(count, each)
        middle = statistics.median(costs[each])
        low, high = median_interval(costs[each])
        cost = Cost(middle + writing, low + writing, high + writing)
        cells += [str(each) if count else "", *cost.text(step_us)]
    return [*cells, f"{writing_us(count, every[STEPS_US[0]]):.0f} us"]


def plain_times(training: Training, steps: int) -> list[int]:
    """Return the times of steps that are not watched."""
    training.run(WARM_UP, lambda: None)
    return training.run(steps, lambda: None)


def median_interval(values: list[float]) -> tuple[float, float]:
    """Return the 95 % confidence interval of the median: order statistics, so of any spread."""
    ordered, half = sorted(values), 0.98 * math.sqrt(len(values))
    middle = len(values) / 2
    return (
        ordered[max(0, math.floor(middle - half))],
        ordered[min(len(values) - 1, math.ceil(middle + half))],
    )


def writing_us(blocks: int, every: int) -> float:
    """Microseconds of processor time per step in which the watch's thread makes and writes rows."""
    marks = [part for block in range(blocks) for part in (block, 100_000, 223_456)]
    marks += [ROOT, 99_000, 300_000]
    for block in reversed(range(blocks)):
        marks += [GRADIENT + block, 2_000_000 - 100_000 * block, 0]
    marks += [BACKWARD, 310_000, 2_100_000, OPTIMIZER, 2_200_000, 2_300_000]
    others = [ROOT, 99_000, 300_000, GRADIENT, 2_000_000, 0, *marks[-6:]]
    with tempfile.TemporaryDirectory() as folder:
        file = StepFile(Path(folder), "host_1", lambda: {"watch": 1}, 1 << 30)
        times = []
        for _ in range(20):
            since = time.thread_time_ns()
            rows = [
                row_of(
                    (step, 0, 0, 5_000_000, others, 0)
                    if step % every
                    else (step, 0, 0, 5_000_000, marks, blocks)
                )
                for step in range(240)
            ]
            file.write([row_line(row, 0, 1.0, None) for row in rows])
            times.append((time.thread_time_ns() - since) / 240)
        file.close()
    return min(times) / 1e3


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=240)
    parser.add_argument("--cycles", type=int, default=3)
    parser.add_argument("--model", default="", help="first part of a model's name; default: all")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows = [
        measure(case, given.rounds, given.cycles, blocks)
        for case in CASES
        if case.name.startswith(given.model)
        for blocks in (16, 0)
    ]
    cost = [
        part
        for step_us in STEPS_US
        for part in ("blocks in 1 of", "cost per step", f"of {step_us // 1000} ms")
    ]
    head = ["model", "blocks", "step", *cost, "of it writing"]
    print(table(head, rows))


if __name__ == "__main__":
    main()
