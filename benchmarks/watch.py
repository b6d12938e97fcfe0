"""What `hookview.watch` costs per step, as a share of steps of 5 and of 50 ms.

    python -m benchmarks.watch [--rounds N] [--model NAME]
    python -m benchmarks.watch --memory

Counts processor time: of the training's thread, and of the watch's own, which reads the marks and
writes the rows.

A real step varies by more than a watch costs. So the models are hollow: they have the modules, the
parameters and the blocks of real ones, whose hooks and gradients they call as often, and next to no
computation. What this leaves out: that computation drives the watch's code and data out of the
caches. A real model whose step takes about 5 ms is measured the same way, as a check.

A round is of whole cycles of steps in which all is timed (blocks, and in short steps forward,
backward and optimizer) and steps in which it is not, and of as many plain ones of the same model.
They take turns: plain, watched, watched, plain (ABBA). For plain ones all that the watch put into
torch and the model is taken out, so that other programs, and where in memory a model is, make all
four longer alike; before a watched one it is taken out and put back, so that the same was looked at
before each. The control does all that with nothing watched. What torch leaves on a parameter that
had a hook cannot be taken out, and is measured apart.

Turns are of up to four kinds: all is timed or not, and this begins or ends with the turn. The
cost of a kind is the median of its turns' differences, and the cost per step is that of a whole
cycle: kinds by how often they come. The 95 % interval is by bootstrap of the rounds. Not counted is
what happens in fewer than half of the turns of a kind: garbage collections.

The watch's own thread wakes up a few times per second, so its time is taken from steps that have
the length that it is a share of.

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
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice, repeat
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset
from torch.utils.data.dataloader import _BaseDataLoaderIter

import tb_hookview as hookview

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.common import machine
from benchmarks.common.markdown import table
from tb_hookview.recorder.hooks import SLOT
from tb_hookview.watching.blocks import MOST, choose_blocks
from tb_hookview.watching.clock import PHASES, RUN, Sampling, sampling_of
from tb_hookview.watching.keeping import PERIOD_S

STEPS_US = (5_000, 50_000)
"""Steps that the cost is a share of; they say in how many steps all is timed."""

LIMITS = {5_000: 0.01, 50_000: 0.003}
"""Share of these steps that a watch with blocks may cost; half of it without blocks."""

WARM_UP = 2 * RUN
"""Watched steps before those that count: the last gradients are looked for in the first of them."""

FEWEST = 16 * RUN
"""Watched steps of a round that count, at least."""

PERIODS, SETTLE_S = 4, 0.6
"""Periods for which the watch's own thread is timed, and seconds before that are left out."""

NEVER = 1e9
"""A `slow_factor`: steps are compared as ever, and none is slow."""

RESAMPLES = 400


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
    blocks = choose_blocks(model, "", MOST)
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is not None:
                module._parameters[name] = nn.Parameter(torch.ones(()))
    used = {each: list(each.parameters()) for block in blocks for each in block.modules}
    for module in model.modules():
        module.__class__ = _hollow_class(type(module))
        vars(module)["used"] = used.get(module, [])
    assert choose_blocks(model, "", MOST) == blocks
    return model


@cache
def _hollow_class(kind: type[nn.Module]) -> Any:
    return type(kind.__name__, (kind,), {"forward": _call_children_and_use_parameters})


def _call_children_and_use_parameters(self: Any, x: torch.Tensor) -> torch.Tensor:
    for child in self._modules.values():
        if child is not None:
            x = child(x)
    return Use.apply(x, *self.used) if self.used else x


class Use(torch.autograd.Function):
    """Computes nothing, and has gradients for some parameters."""

    @staticmethod
    def forward(_context: Any, x: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        """Return the first."""
        return x.view_as(x)

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> Any:
        """Return the gradient for each."""
        return (gradient,) * len(context.needs_input_grad)


class Batches(IterableDataset[torch.Tensor]):
    """One batch, again and again."""

    def __init__(self, batch: torch.Tensor) -> None:
        self.batch = batch

    def __iter__(self) -> Iterator[torch.Tensor]:
        """Yield it."""
        return repeat(self.batch)


class Training:
    """A model that is trained on one batch."""

    def __init__(self, model: nn.Module, batch: torch.Tensor) -> None:
        self.model, self.batches = model, iter(DataLoader(Batches(batch), batch_size=None))
        self.optimizer = torch.optim.SGD(list(model.parameters())[:1], lr=1e-9)

    def step(self) -> None:
        """Train one step."""
        self.model.zero_grad()
        self.model(next(self.batches)).square().mean().backward()
        self.optimizer.step()

    def step_us(self, after: Callable[[], None]) -> float:
        """Train one step; return this thread's processor time in it."""
        since = time.thread_time_ns()
        self.step()
        after()
        return (time.thread_time_ns() - since) / 1e3


class Way(NamedTuple):
    """How steps are watched."""

    blocks: int
    sampling: Sampling = Sampling(1, PHASES)

    def begin(self, training: Training, folder: str, *, scalars: bool) -> hookview.Watch:
        """Return the watch."""
        watch = hookview.watch(
            folder,
            model=training.model if self.blocks else None,
            blocks=self.blocks,
            first=None,
            slow_factor=NEVER,
            scalars=scalars,
        )
        watch._keeper.fixed = self.sampling
        return watch

    @property
    def steps(self) -> int:
        """Watched steps of a round: whole cycles."""
        cycle = RUN * self.sampling.every
        return cycle * -(-FEWEST // cycle)

    def share(self, kind: Kind) -> float:
        """Return the share of a kind in all turns."""
        every = self.sampling.every
        if every == 1:
            return float(all(kind))
        timed, untimed = RUN // 2, RUN // 2 * (every - 1)  # two watched steps in a turn
        turns = {(True, True): timed - 1, (False, False): untimed - 1}
        return turns.get(kind, 1) / (timed + untimed)


Kind = tuple[bool, bool]
"""Whether all is timed in both watched steps of a turn, and in the next ones."""

PUT_INTO_TORCH = (
    (torch.autograd, "backward"),
    (_BaseDataLoaderIter, "__next__"),
    (sys.modules["torch.optim.optimizer"], "_global_optimizer_pre_hooks"),
    (sys.modules["torch.optim.optimizer"], "_global_optimizer_post_hooks"),
)
"""Functions and hooks that a watch puts into torch, for all models."""


class Removable:
    """All that a watch puts into torch and into a model, to be taken out for some steps."""

    def __init__(self, model: nn.Module) -> None:
        """Look at torch, before the watch begins."""
        functions = [getattr(owner, name) for owner, name in PUT_INTO_TORCH[:2]]
        self._torch: list[Any] = [*functions, OrderedDict(), OrderedDict()]
        self._modules = [vars(module) for module in model.modules()]
        self._parameters = list(model.parameters())

    @contextmanager
    def out(self) -> Iterator[None]:
        """Take it out for a while."""
        put_into_torch = _swap(self._torch)
        calls = [each.pop(SLOT, None) for each in self._modules]
        hooks = [each._post_accumulate_grad_hooks or {} for each in self._parameters]
        hooked = [dict(each) for each in hooks]
        for each in hooks:
            each.clear()
        yield
        for each, items in zip(hooks, hooked, strict=True):
            each.update(items)
        for attributes, call in zip(self._modules, calls, strict=True):
            if call is not None:
                attributes[SLOT] = call
        _swap(put_into_torch)


def _swap(values: Iterable[Any]) -> list[Any]:
    before = [getattr(owner, name) for owner, name in PUT_INTO_TORCH]
    for (owner, name), value in zip(PUT_INTO_TORCH, values, strict=True):
        setattr(owner, name, value)
    return before


class Turn(NamedTuple):
    """Microseconds per step of the training's thread, in four steps."""

    kind: Kind
    more: float
    """Of watched steps, more than of plain ones."""
    plain: float


def run_round(training: Training, way: Way) -> list[Turn]:
    """Train watched steps and plain ones."""
    removable = Removable(training.model)
    with (
        tempfile.TemporaryDirectory() as folder,
        way.begin(training, folder, scalars=False) as watch,
    ):
        turns = _turns(training, removable, watch.step, lambda: watch._timed == watch._most)
        return list(islice(turns, (WARM_UP + way.steps) // 2))[WARM_UP // 2 :]


def run_control(training: Training) -> list[Turn]:
    """Do the same with nothing that is watched."""
    turns = _turns(training, Removable(training.model), lambda: None, lambda: True)
    return list(islice(turns, FEWEST // 2))


def _turns(
    training: Training,
    removable: Removable,
    step: Callable[[], None],
    is_all_timed: Callable[[], bool],
) -> Iterator[Turn]:
    def plain_us() -> float:
        with removable.out():
            return training.step_us(lambda: None)

    def watched_us() -> float:
        with removable.out():
            pass
        return training.step_us(step)

    while True:
        timed, first = is_all_timed(), plain_us()
        both = watched_us() + watched_us()
        plain = (first + plain_us()) / 2
        yield Turn((timed, is_all_timed()), both / 2 - plain, plain)


def left_us(parameters: int = 64, turns: int = 500) -> float:
    """Return what torch takes in a backward pass for a parameter that once had a hook."""
    lists = [[nn.Parameter(torch.ones(())) for _ in range(parameters)] for _ in range(2)]
    for each in lists[1]:
        each.register_post_accumulate_grad_hook(lambda _: None).remove()

    def taken_us(ours: list[nn.Parameter]) -> float:
        loss = torch.stack(ours).sum()
        since = time.thread_time_ns()
        loss.backward()
        return (time.thread_time_ns() - since) / 1e3

    def more_us() -> float:
        first, *both, last = (taken_us(lists[at]) for at in (0, 1, 1, 0))
        return sum(both) - first - last

    return float(np.median([more_us() for _ in range(turns)])) / 2 / parameters


def thread_us(training: Training, way: Way, step_us: int) -> list[float]:
    """Return the processor time of the watch's own thread per step, in each of its periods."""
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
        return [train(PERIOD_S) for _ in range(PERIODS)]


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


def cost_of(way: Way, rounds: list[list[Turn]], seconds: list[float], left: float = 0.0) -> Cost:
    """Return the cost per step of both threads, with an interval by bootstrap.

    Args:
        way: how steps were watched.
        rounds: of the training's thread.
        seconds: of the watch's own.
        left: what each block costs besides.
    """
    draw = np.random.default_rng(0)
    found: dict[Kind, list[list[float]]] = {}
    for turns in rounds:
        for kind in {turn.kind for turn in turns}:
            found.setdefault(kind, []).append([turn.more for turn in turns if turn.kind == kind])
    shares = {kind: way.share(kind) for kind in found}
    assert abs(sum(shares.values()) - 1) < 1e-9, "not all kinds of steps were seen"

    def cost(chosen: Any) -> float:
        medians = {
            kind: np.median(np.concatenate([each[at % len(each)] for at in chosen]))
            for kind, each in found.items()
        }
        return float(sum(shares[kind] * medians[kind] for kind in found)) + left

    drawn = [
        cost(draw.integers(len(rounds), size=len(rounds)))
        + float(np.mean(draw.choice(seconds, len(seconds))))
        for _ in range(RESAMPLES)
    ]
    low, high = np.percentile(drawn, (2.5, 97.5))
    return Cost(cost(range(len(rounds))) + float(np.mean(seconds)), float(low), float(high))


def plain_us(rounds: list[list[Turn]]) -> float:
    """Return the length of a plain step."""
    return float(np.median([turn.plain for turns in rounds for turn in turns]))


def measure(name: str, rounds: int, left: float) -> list[list[str]]:
    """Return the rows of a model: with blocks and without."""
    training = Training(hollow(MODELS[name]()), torch.ones(()))
    count = len(choose_blocks(training.model, "", MOST))
    ways = {
        (blocks, step_us): Way(blocks and MOST, sampling_of(blocks, "host", 1000 * step_us))
        for blocks in (count, 0)
        for step_us in STEPS_US
    }
    found: dict[Way, list[list[Turn]]] = {way: [] for way in ways.values()}
    control: list[list[Turn]] = []
    for _ in range(rounds):
        for way, series in found.items():
            series.append(run_round(training, way))
        control.append(run_control(training))
    rows = []
    for blocks in (count, 0):
        plain = f"{plain_us(found[ways[blocks, STEPS_US[0]]]):.0f} us"
        cells = [name, str(blocks), plain, cost_of(Way(0), control, [0.0]).text()]
        for step_us in STEPS_US:
            way = ways[blocks, step_us]
            own = thread_us(training, way, step_us)
            cost = cost_of(way, found[way], own, left * blocks)
            limit = LIMITS[step_us] / (1 if blocks else 2)
            cells += [
                f"1 in {way.sampling.every}",
                cost_of(way, found[way], [0.0], left * blocks).text(),
                f"{np.mean(own):.1f} us",
                cost.share(step_us),
                f"{limit:.2%}" + ("" if cost.high <= limit * step_us else " missed"),
            ]
        rows.append(cells)
    return rows


def check(rounds: int) -> str:
    """Return what a real transformer says, whose step takes about 5 ms."""
    training = Training(Transformer(32, 12), torch.ones(2, 8, 16))
    count = len(choose_blocks(training.model, "", MOST))
    way = Way(MOST, sampling_of(count, "host", 1000 * STEPS_US[0]))
    found = [run_round(training, way) for _ in range(rounds)]
    cost = cost_of(way, found, [0.0], left_us() * count)
    return (
        f"A real transformer, whose step takes {plain_us(found) / 1e3:.1f} ms, blocks timed "
        f"in 1 of {way.sampling.every}: {cost.text()} in the training's thread, {rounds} rounds."
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
    with suppress(ImportError):  # the scalars' first point imports it, once
        import tensorboard.summary.writer.record_writer  # noqa: F401
    gc.collect()
    gc.freeze()  # the heap of torch: a full collection would fall into one run or another
    before = os.getloadavg()[0]
    names = [name for name in MODELS if name.startswith(given.model)]
    left = left_us()
    rows = [row for name in names for row in measure(name, given.rounds, left)]
    parts = ("all timed", "training's thread", "watch's own", "share", "limit")
    of = [f"{part}, {step_us // 1000} ms" for step_us in STEPS_US for part in parts]
    print(table(["model", "blocks", "hollow step", "control", *of], rows))
    print(f"\n{check(given.rounds // 2)}")
    print(f"\n{machine.describe()}; load {before:.1f} before, {os.getloadavg()[0]:.1f} after.")


if __name__ == "__main__":
    main()
