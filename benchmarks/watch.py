"""What `hookview.watch` costs per step: interleaved rounds of watched and plain steps.

    python benchmarks/watch.py [--rounds N] [--steps N]

What is counted is the training thread's own processor time. Each round runs watched and plain steps
one after the other, in turns which of them first. Other programs make some steps longer and none
shorter, by more than the watch does: compared are the steps that a tenth of all are shorter than.
The rounds are cut into five parts; the cost is the median over them, with the lowest and highest.
What the watch's own thread takes to read the marks and write the rows is added. The cost depends on
the number of blocks and not on what they compute, so shares are given of a step of 5 ms and of one
of 50 ms.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn

import tb_hookview as hookview

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.common.markdown import table
from tb_hookview.watching.blocks import choose_blocks
from tb_hookview.watching.clock import BACKWARD, GRADIENT, OPTIMIZER, ROOT
from tb_hookview.watching.step_file import StepFile, row_line
from tb_hookview.watching.step_rows import row_of

WARM_UP = 8
"""Steps before those that are timed: the last gradients are looked for in the first of them."""


PARTS = 5


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


def watched(training: Training, steps: int, blocks: int, folder: str) -> list[int]:
    """Return the times of watched steps."""
    options = {"first": None, "slow_factor": None, "scalars": False, "blocks": blocks}
    model = training.model if blocks else None
    with hookview.watch(folder, model=model, **options) as watch:
        training.run(WARM_UP, watch.step)
        return training.run(steps, watch.step)


def undisturbed_us(rounds: list[list[int]]) -> float:
    """Microseconds of a step that a tenth of all are shorter than."""
    times = sorted(chain.from_iterable(rounds))
    return times[len(times) // 10] / 1e3


def measure(case: Case, rounds: int, steps: int, blocks: int) -> list[str]:
    """Return a row of the table."""
    training = Training(case)
    plain: list[list[int]] = []
    more: list[list[int]] = []
    count = 0 if not blocks else len(choose_blocks(training.model, "", blocks))
    with tempfile.TemporaryDirectory() as folder:

        def run_plain() -> None:
            training.run(WARM_UP, lambda: None)
            plain.append(training.run(steps, lambda: None))

        def run_watched() -> None:
            more.append(watched(training, steps, blocks, folder))

        for number in range(rounds):
            for run in (run_plain, run_watched)[:: 1 if number % 2 else -1]:
                run()
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
    low, *_, high = costs = sorted(
        undisturbed_us(more[part::PARTS]) - undisturbed_us(plain[part::PARTS])
        for part in range(PARTS)
    )
    cost, writing = statistics.median(costs), writing_us(count)
    return [
        case.name,
        str(count),
        f"{undisturbed_us(plain) / 1e3:.2f} ms",
        f"{cost + writing:.0f} us ({low + writing:.0f} to {high + writing:.0f})",
        f"{writing:.0f} us",
        f"{(cost + writing) / 50:.2f} %",
        f"{(cost + writing) / 500:.2f} %",
        f"{size / rounds / (steps + WARM_UP):.0f} kB",
    ]


def writing_us(blocks: int) -> float:
    """Microseconds of processor time in which the watch's thread makes a row and writes it."""
    marks = [part for block in range(blocks) for part in (block, 100_000, 223_456)]
    marks += [ROOT, 99_000, 300_000]
    for block in reversed(range(blocks)):
        marks += [GRADIENT + block, 2_000_000 - 100_000 * block, 0]
    marks += [BACKWARD, 310_000, 2_100_000, OPTIMIZER, 2_200_000, 2_300_000]
    with tempfile.TemporaryDirectory() as folder:
        file = StepFile(Path(folder), "host_1", lambda: {"watch": 1}, 1 << 30)
        times = []
        for _ in range(20):
            since = time.thread_time_ns()
            rows = [row_of((step, 0, 0, 5_000_000, marks), blocks) for step in range(200)]
            file.write([row_line(row, 0, 1.0, None) for row in rows])
            times.append((time.thread_time_ns() - since) / 200)
        file.close()
    return min(times) / 1e3


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--steps", type=int, default=20)
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows = [
        measure(case, given.rounds, given.steps, blocks) for case in CASES for blocks in (16, 0)
    ]
    cost = ["cost per step", "of it writing", "of 5 ms", "of 50 ms", "1,000 steps"]
    head = ["model", "blocks", "step", *cost]
    print(table(head, rows))


if __name__ == "__main__":
    main()
