"""Measures the cost of recording: a training step's time under each way to mark it.

    python benchmarks/recorder.py [--rounds N] [--steps N] [--width N] [--patch N]
    python benchmarks/recorder.py --against CHECKOUT [--pairs N]

One process, one thread, on the CPU; timm's vision transformer with 188 modules and almost no work
in any of them, which is the worst case for marks. Each round runs every variant in turn. What is
counted is the training thread's own CPU time (on the CPU the backward runs there too), step by
step, and of all steps of a variant the one below which a tenth of them lie: other processes only
ever make a step slower.

With `--against`, both checkouts run in turns, each in a process of its own. The ratio is the median
of the pairs' ratios, with the 95 % bootstrap interval of that median.

Lightning's profiler is measured where Lightning is installed: its class, started with an action as
its Trainer starts it, around the same step as all others and without the Trainer's loop.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType

import torch
from torch import nn

import tb_hookview as hookview

Variant = Callable[[nn.Module], "Iterator[None]"]


def main() -> None:
    """Run the rounds and print the tables."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--rounds", type=int, default=9)
    arguments.add_argument("--steps", type=int, default=20, help="steps per variant and round")
    arguments.add_argument("--width", type=int, default=32, help="of the model's embedding")
    arguments.add_argument("--patch", type=int, default=16, help="size of an image's patches")
    arguments.add_argument("--against", type=Path, help="another checkout, to compare with")
    arguments.add_argument("--pairs", type=int, default=16, help="processes of each checkout")
    arguments.add_argument("--json", action="store_true", help="ms/step and ms/recording alone")
    options = arguments.parse_args()
    if options.against:
        compare(options.against.resolve(), options.pairs)
        return
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = make_model(options.width, options.patch)
    if options.json:
        print(json.dumps(costs(model, options.rounds, options.steps)))
        return
    size = sum(1 for _ in model.modules())
    print(f"torch {torch.__version__}, one thread, {size} modules, batch 2\n")
    report("not recording", measure(model, IDLE, options.rounds, options.steps))
    recording = dict(RECORDING)
    lightning = find_lightning()
    if lightning is None:
        print("Lightning is not installed: its profiler is not measured\n")
    else:
        recording[LIGHTNINGS] = partial(lightning_profiler, lightning=lightning)
    report("recording", measure(model, recording, options.rounds, options.steps))


def make_model(width: int = 32, patch: int = 16) -> nn.Module:
    """Return timm's vision transformer, with the operators that the tests declare for it."""
    sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
    from support import torchvision_ops

    torchvision_ops.declare()
    from timm.models.vision_transformer import VisionTransformer

    model: nn.Module = VisionTransformer(
        img_size=64,
        patch_size=patch,
        embed_dim=width,
        depth=8,
        num_heads=2,
        num_classes=10,
        patch_drop_rate=0.5,
    )
    return model


def measure(
    model: nn.Module, variants: dict[str, Variant], rounds: int, steps: int
) -> dict[str, list[float]]:
    """Return the milliseconds of every step of each variant."""
    images, labels = torch.randn(2, 3, 64, 64), torch.tensor([1, 2])
    loss_fn = nn.CrossEntropyLoss()

    def step() -> None:
        loss_fn(model(images), labels).backward()

    taken: dict[str, list[float]] = {name: [] for name in variants}
    for turn in range(rounds + 1):
        for name, variant in variants.items():
            with variant(model):
                times = [timed(step) for _ in range(steps)]
            if turn > 0:  # the first round warms caches and allocator
                taken[name] += times
    return taken


def timed(step: Callable[[], None]) -> float:
    """Return the milliseconds of one step."""
    start = time.thread_time()
    step()
    return (time.thread_time() - start) * 1000


def costs(model: nn.Module, rounds: int, steps: int) -> dict[str, float]:
    """Return the milliseconds of a step of some variants, and of a whole recording of 12 steps."""
    chosen = {name: RECORDING[name] for name in list(RECORDING)[:3]}
    taken = measure(model, IDLE | chosen, rounds, steps)
    typical = {name: statistics.quantiles(values, n=10)[0] for name, values in taken.items()}
    whole = []
    for _ in range(rounds + 1):
        since = time.process_time()
        measure(model, {"auto": RECORDING['markers="auto"']}, 0, 12)
        whole.append((time.process_time() - since) * 1000)
    return typical | {"whole recording of 12 steps": min(whole)}


def compare(other: Path, pairs: int) -> None:
    """Print the cost of this checkout relative to that of another one."""
    here = Path(__file__).parents[1]
    found: list[dict[str, float]] = []
    for turn in range(pairs):
        both = {side: costs_in(side) for side in ((here, other) if turn % 2 else (other, here))}
        found.append({name: value / both[other][name] for name, value in both[here].items()})
    for name in found[0]:
        ratios = [pair[name] for pair in found]
        draws = (statistics.median(random.choices(ratios, k=pairs)) for _ in range(4000))
        low, *_, high = statistics.quantiles(draws, n=40)
        print(f"{name:<40}{statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})")


def costs_in(checkout: Path) -> dict[str, float]:
    """Return the costs of a checkout, measured by this script in a process of its own."""
    command = [sys.executable, __file__, "--json", "--rounds", "4"]
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    answer = subprocess.run(command, env=environment, capture_output=True, check=True, cwd=checkout)
    return dict(json.loads(answer.stdout.splitlines()[-1]))


def report(title: str, taken: dict[str, list[float]]) -> None:
    """Print a table of all variants, relative to the first one."""
    typical = {name: statistics.quantiles(values, n=10)[0] for name, values in taken.items()}
    base = next(iter(typical.values()))
    print(f"{title:<56}{'ms/step':>9}{'ratio':>8}")
    for name, value in typical.items():
        print(f"  {name:<54}{value:>9.2f}{value / base:>8.2f}")
    print()


@contextmanager
def plain(_: nn.Module) -> Iterator[None]:
    """No hook, no profiler."""
    yield


@contextmanager
def wrapped(model: nn.Module) -> Iterator[None]:
    """Hooked by us, no profiler."""
    hookview.wrap(model)
    yield
    hookview.unwrap(model)


@contextmanager
def torch_profiler(_: nn.Module, **options: bool) -> Iterator[None]:
    """torch's profiler without us."""
    with torch.profiler.profile(**options):
        yield


@contextmanager
def ours(model: nn.Module, markers: str) -> Iterator[None]:
    """Recorded by us."""
    hookview.wrap(model, markers=markers)
    with tempfile.TemporaryDirectory() as folder, hookview.profile(folder):
        yield
    hookview.unwrap(model)


@contextmanager
def bare(model: nn.Module, markers: str) -> Iterator[None]:
    """Wrapped by us and recorded by torch alone."""
    hookview.wrap(model, markers=markers)
    with torch.profiler.profile():
        yield
    hookview.unwrap(model)


@contextmanager
def module_hooks(model: nn.Module) -> Iterator[None]:
    """The original technique: full backward hooks with `record_function` on every module."""
    handles = []
    for name, module in model.named_modules():

        def mark(*_: object, name: str = name) -> None:
            with torch.profiler.record_function(name):
                pass

        handles.append(module.register_full_backward_pre_hook(mark))
        handles.append(module.register_full_backward_hook(mark))
    with torch.profiler.profile():
        yield
    for handle in handles:
        handle.remove()


def find_lightning() -> ModuleType | None:
    """Import Lightning under one of its names; None where it is installed under neither."""
    names = {"pytorch_lightning": "pytorch_lightning", "lightning": "lightning.pytorch"}
    found = [path for package, path in names.items() if importlib.util.find_spec(package)]
    if not found:
        return None
    if importlib.util.find_spec("torchvision"):  # Lightning imports it by way of torchmetrics
        sys.path.append(str(Path(__file__).parents[1] / "tests"))
        importlib.import_module("support.torchvision_ops").declare()
    lightning = importlib.import_module(found[0])
    gc.freeze()  # what it brought along must not be searched for garbage in everyone's steps
    return lightning


@contextmanager
def lightning_profiler(model: nn.Module, lightning: ModuleType) -> Iterator[None]:
    """Record with Lightning's profiler as its Trainer does, with a stage and an action.

    Without a schedule it records every step, as the other variants do.
    """
    with tempfile.TemporaryDirectory() as folder:
        profiler = lightning.profilers.PyTorchProfiler(
            dirpath=folder, record_module_names=True, schedule=None
        )
        profiler._lightning_module = model
        profiler.setup(stage="fit", local_rank=0)
        with profiler.profile("run_training_batch"):
            yield
        profiler.teardown(stage="fit")


LIGHTNINGS = "Lightning's PyTorchProfiler(record_module_names=True)"
IDLE: dict[str, Variant] = {"plain": plain, "wrapped": wrapped}
RECORDING: dict[str, Variant] = {
    "torch.profiler": torch_profiler,
    'markers="forward"': partial(ours, markers="forward"),
    'markers="auto"': partial(ours, markers="auto"),
    'markers="auto", bare torch.profiler': partial(bare, markers="auto"),
    'markers="module"': partial(ours, markers="module"),
    "module hooks with record_function": module_hooks,
    "torch.profiler, with_modules": partial(torch_profiler, with_modules=True),
    "torch.profiler, with_stack": partial(torch_profiler, with_stack=True),
}


if __name__ == "__main__":
    main()
