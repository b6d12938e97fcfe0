"""Checks the recorder on a device: its cost, its attribution and equal gradients.

`record.py --overhead` runs them. They need no GPU, but only on one do they say what they are for.
The trace for the attribution check is recorded here and held against its truth by `validate.py`,
which needs the analyzer.
"""

from __future__ import annotations

import copy
import json
import statistics
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

import tb_hookview as hookview
from sample_traces import libraries, models, processes
from sample_traces.measuring import summary
from sample_traces.recording import Recording, record
from sample_traces.scenario import Setting, Training, UnavailableError
from sample_traces.scenarios.checkpointing import CheckpointedGpt, ReentrantGpt
from sample_traces.worker import place, setting_for

TRACE = "check_attribution"
Built = tuple[nn.Module, Callable[[nn.Module], torch.Tensor]]
"""A model, and what computes its loss."""


def main() -> None:
    """Run the task on standard input; write the result after each model."""
    task = processes.given_task()
    setting = setting_for(task["device"], quick=task["quick"])
    result: dict[str, Any] = {**place(setting.device), "quick": task["quick"]}
    checks: dict[str, Callable[[], Iterator[Any]]] = {
        "gradients": lambda: gradients(setting),
        "attribution": lambda: iter([attribution(setting, Path(task["out"]))]),
        "overhead": lambda: overhead(setting, quick=task["quick"]),
    }
    for name, check in checks.items():
        try:
            for result[name] in check():
                Path(task["result"]).write_text(json.dumps(result))
        except Exception as error:  # noqa: BLE001 - part of the result; the other checks go on
            result["error"] = f"{name}: {type(error).__name__}: {error}"
            traceback.print_exc()
        Path(task["result"]).write_text(json.dumps(result))


# Gradients, bit for bit


def gradients(setting: Setting) -> Iterator[dict[str, Any]]:
    """Compare loss, gradients and buffers of each model plain, wrapped and recorded.

    For each model: how many tensors were compared and which differ. A model that differs from
    itself when it is run plainly twice cannot be compared, and is skipped. What is known so far is
    yielded after each model.
    """
    found: dict[str, Any] = {}
    with as_deterministic_as_can_be():
        for name, build in GRADIENT_MODELS.items():
            try:
                torch.manual_seed(0)
                model, loss_of = build(setting)
            except UnavailableError as reason:
                found[name] = {"skipped": str(reason)}
            else:
                found[name] = compare(model.to(setting.device).train(), loss_of)
            yield found


def compare(model: nn.Module, loss_of: Callable[[nn.Module], torch.Tensor]) -> dict[str, Any]:
    """Run a model plain twice, wrapped and recorded, from the same state and seed."""
    plain = _results(copy.deepcopy(model), loss_of)
    if _different(plain, _results(copy.deepcopy(model), loss_of)):
        return {"skipped": "differs from itself without the recorder"}
    wrapped = hookview.wrap(copy.deepcopy(model))
    different = [f"wrapped: {name}" for name in _different(plain, _results(wrapped, loss_of))]
    hookview.unwrap(wrapped)
    for markers in ("auto", "forward"):
        recorded = hookview.wrap(copy.deepcopy(model), markers=markers)
        with torch.profiler.profile():
            # A bare profiler's first call of the model attaches the hooks, which then mark it.
            results = _results(recorded, loss_of)
        hookview.unwrap(recorded)
        different += [f"{markers}: {name}" for name in _different(plain, results)]
    return {"equal": not different, "different": different, "tensors": len(plain)}


def _results(
    model: nn.Module, loss_of: Callable[[nn.Module], torch.Tensor]
) -> dict[str, torch.Tensor]:
    torch.manual_seed(1)
    loss = loss_of(model)
    loss.backward()
    found = {"loss": loss.detach()}
    found |= {f"gradient of {n}": p.grad for n, p in model.named_parameters() if p.grad is not None}
    found |= {f"buffer {n}": b for n, b in model.named_buffers()}
    return {name: tensor.clone() for name, tensor in found.items()}


def _different(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> list[str]:
    names = sorted(left.keys() ^ right.keys())
    # Bytes, because nan is not equal to itself and 0.0 is equal to -0.0.
    both = sorted(left.keys() & right.keys())
    return names + [n for n in both if not torch.equal(_bytes(left[n]), _bytes(right[n]))]


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(-1).view(torch.uint8)


@contextmanager
def as_deterministic_as_can_be() -> Iterator[None]:
    """Choose deterministic algorithms for the block, where there are any."""
    before, threads = torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()
    torch.set_num_threads(1)  # sums of several threads differ from run to run
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is not deterministic is found by comparing
            yield
    finally:
        torch.use_deterministic_algorithms(before)
        torch.set_num_threads(threads)


def _classifier(setting: Setting, model: nn.Module) -> Built:
    pixels, labels = models.images(setting, 4, 64, 16)
    return model, lambda model: F.cross_entropy(model(pixels), labels)


def _language_model(setting: Setting, kind: type[models.Gpt], *, half: bool = False) -> Built:
    inputs, targets = models.tokens(setting, 2, 32, 64)
    autocast = models.bf16(setting) if half else nullcontext

    def loss_of(model: nn.Module) -> torch.Tensor:
        with autocast():
            return models.token_loss(model(inputs), targets)

    return kind(64, 64, 3, 32), loss_of


class Recurrent(nn.Module):
    """An LSTM whose head shares the embedding's weight, called again on its output."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(64, 32)
        self.lstm = nn.LSTM(32, 32, num_layers=2, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(32, 64)
        self.head.weight = self.embed.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Score the next token at each position."""
        once, state = self.lstm(self.embed(tokens))
        twice, _ = self.lstm(self.drop(once), state)
        scores: torch.Tensor = self.head(twice)
        return scores


def _recurrent(setting: Setting) -> Built:
    inputs, targets = models.tokens(setting, 2, 16, 64)
    return Recurrent(), lambda model: models.token_loss(model(inputs), targets)


def _vision_transformer(setting: Setting) -> Built:
    transformer = libraries.load("timm.models.vision_transformer").VisionTransformer
    model = transformer(
        img_size=64,
        embed_dim=96,
        depth=4,
        num_heads=3,
        num_classes=16,
        patch_drop_rate=0.5,
        drop_path_rate=0.1,
    )
    return _classifier(setting, model)


def _resnet(setting: Setting) -> Built:
    return _classifier(setting, libraries.load("torchvision").models.resnet18(num_classes=16))


def _swin(setting: Setting) -> Built:
    timm = libraries.load("timm")
    sizes = {"window_size": 4, "embed_dim": 24, "depths": (1, 2), "num_heads": (2, 4)}
    model = timm.create_model(
        "swin_tiny_patch4_window7_224", num_classes=16, img_size=64, drop_path_rate=0.2, **sizes
    )
    return _classifier(setting, model)


GRADIENT_MODELS: dict[str, Callable[[Setting], Built]] = {
    "convolutions with batch norm": lambda s: _classifier(s, models.ConvNet(16)),
    "transformer": partial(_language_model, kind=models.Gpt),
    "transformer, bf16 autocast": partial(_language_model, kind=models.Gpt, half=True),
    "transformer, checkpoints": partial(_language_model, kind=CheckpointedGpt),
    "transformer, reentrant checkpoints": partial(_language_model, kind=ReentrantGpt),
    "LSTM called twice, tied weights": _recurrent,
    "timm vision transformer, patch dropout": _vision_transformer,
    "timm Swin, drop path": _swin,
    "torchvision resnet18": _resnet,
}


# Attribution against a truth


def make_chain(setting: Setting) -> tuple[nn.Sequential, torch.Tensor]:
    """Return modules that run one after another, and their input; no in-place operation."""
    width = setting.pick(128, 16)
    side, count = setting.pick(96, 16), setting.pick(64, 4)
    flat = width * (side // 8) ** 2
    layers = {
        "conv1": nn.Conv2d(3, width, 3, padding=1),
        "norm1": nn.BatchNorm2d(width),
        "relu": nn.ReLU(),
        "pool1": nn.AvgPool2d(2),
        "conv2": nn.Conv2d(width, width, 5, padding=2),
        "gelu": nn.GELU(),
        "pool2": nn.MaxPool2d(2),
        "conv3": nn.Conv2d(width, width, 3, stride=2, padding=1),
        "silu": nn.SiLU(),
        "flatten": nn.Flatten(),
        "linear1": nn.Linear(flat, setting.pick(4096, 64)),
        "norm2": nn.LayerNorm(setting.pick(4096, 64)),
        "linear2": nn.Linear(setting.pick(4096, 64), setting.pick(4096, 64)),
        "softmax": nn.Softmax(dim=-1),
    }
    chain = nn.Sequential()
    for name, layer in layers.items():
        chain.add_module(name, layer)
    pixels = torch.randn(count, 3, side, side, device=setting.device)
    return chain.to(setting.device), pixels


def attribution(setting: Setting, out: Path) -> dict[str, Any]:
    """Time each module's backward alone, and record a step of all of them.

    Returns the trace's name, how many steps it holds, and for each module the milliseconds of its
    backward by itself, which a report on the trace should give to it for each step.
    """
    torch.manual_seed(0)
    chain, pixels = make_chain(setting)

    def step() -> torch.Tensor:
        chain.zero_grad()
        loss = chain(pixels).square().sum()
        loss.backward()
        return loss.detach()

    done = record(Training(step, chain), out / TRACE, Recording(4, stacks=False), 2_000_000)
    return {
        "trace": TRACE,
        "steps": done.steps,
        "clock": "CUDA events" if setting.cuda else "host",
        "modules": backward_times(chain, pixels, setting, repeats=setting.pick(30, 10)),
    }


def backward_times(
    chain: nn.Sequential, pixels: torch.Tensor, setting: Setting, repeats: int
) -> list[dict[str, Any]]:
    """Return path, class and milliseconds of the backward of each module, by itself."""
    given, rows = pixels, []
    for name, module in chain.named_children():
        given = given.detach()
        # As in the whole chain: the first module's input needs no gradient.
        given.requires_grad_(given is not pixels and bool(rows))
        result = module(given)
        wanted = [t for t in (given, *module.parameters()) if t.requires_grad]
        alone = partial(
            torch.autograd.grad, result, wanted, torch.randn_like(result), retain_graph=True
        )
        times = _timed_alone(alone, setting, repeats)
        rows.append(
            {"path": name, "class": type(module).__name__, "alone_ms": statistics.median(times)}
        )
        given = result
    return rows


def _timed_alone(call: Callable[[], object], setting: Setting, repeats: int) -> list[float]:
    call()
    if not setting.cuda:
        times = []
        for _ in range(repeats):
            start = time.perf_counter()
            call()
            times.append((time.perf_counter() - start) * 1000)
        return times
    pairs = []
    for _ in range(repeats):
        # The device is kept busy for about a millisecond while the host launches the whole call;
        # otherwise the events would also measure the host.
        torch.cuda._sleep(2_000_000)
        pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        pair[0].record()
        call()
        pair[1].record()
        pairs.append(pair)
    torch.cuda.synchronize()
    return [first.elapsed_time(second) for first, second in pairs]


# What recording costs


def overhead(setting: Setting, *, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield, after each model, the times of a step under each way to record it.

    Wall time of many steps from one synchronization to another, divided by their number; the
    variants in turns.
    """
    rounds, steps = (2, 3) if quick else (4, 15)
    found: dict[str, Any] = {}
    for name, build in OVERHEAD_MODELS.items():
        try:
            model, step = build(setting)
        except UnavailableError as reason:
            found[name] = {"skipped": str(reason)}
            continue
        times: dict[str, list[list[float]]] = {way: [] for way in WAYS}
        for turn in range(rounds + 1):
            for way, recorded in WAYS.items():
                with warnings.catch_warnings(), recorded(model):
                    # What module hooks say of a first module whose input needs no gradient.
                    warnings.simplefilter("ignore", UserWarning)
                    taken = _wall(step, steps, setting)
                if turn > 0:  # the first round warms caches, allocator and profiler
                    times[way].append([taken])
        found[name] = {way: summary(taken) for way, taken in times.items()}
        yield found


def _wall(step: Callable[[], object], steps: int, setting: Setting) -> float:
    """Return milliseconds of a step, after two that warm up."""
    wait = torch.cuda.synchronize if setting.cuda else lambda: None
    for _ in range(2):
        step()
    wait()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    wait()
    return (time.perf_counter() - start) * 1000 / steps


@contextmanager
def _wrapped(model: nn.Module, *, markers: str = "auto", recorded: bool) -> Iterator[None]:
    hookview.wrap(model, markers=markers)
    try:
        with _profiled(model) if recorded else nullcontext():
            yield
    finally:
        hookview.unwrap(model)


def _profiled(_: nn.Module) -> torch.profiler.profile:
    # Not `hookview.profile`: the file that it writes at the end is no part of what is measured.
    return torch.profiler.profile()


def _profiled_with_sync_events(_: nn.Module) -> torch.profiler.profile:
    config = torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True)
    return torch.profiler.profile(experimental_config=config)


WAYS: dict[str, Callable[[nn.Module], Any]] = {
    "plain": lambda _: nullcontext(),
    "wrapped, not recording": partial(_wrapped, recorded=False),
    "torch.profiler alone": _profiled,
    "torch.profiler, enable_cuda_sync_events": _profiled_with_sync_events,
    'markers="forward"': partial(_wrapped, markers="forward", recorded=True),
    'markers="auto"': partial(_wrapped, markers="auto", recorded=True),
    'markers="module"': partial(_wrapped, markers="module", recorded=True),
}


def _overhead_of_transformer(setting: Setting) -> tuple[nn.Module, Callable[[], object]]:
    vocabulary, length = setting.pick(8192, 64), setting.pick(512, 16)
    model = models.Gpt(vocabulary, setting.pick(1024, 64), setting.pick(8, 2), length)
    batch = models.tokens(setting, setting.pick(8, 2), length, vocabulary)
    model.to(setting.device)
    optimizer = torch.optim.AdamW(model.parameters(), fused=setting.cuda)
    return model, models.training_step(
        model, optimizer, lambda: batch, models.token_loss, models.bf16(setting)
    )


def _overhead_of_vision(setting: Setting) -> tuple[nn.Module, Callable[[], object]]:
    model, loss_of = _vision_transformer(setting)
    model.to(setting.device)
    return model, lambda: loss_of(model).backward()


OVERHEAD_MODELS: dict[str, Callable[[Setting], tuple[nn.Module, Callable[[], object]]]] = {
    "transformer, much work a module": _overhead_of_transformer,
    "timm vision transformer, almost no work a module": _overhead_of_vision,
}


if __name__ == "__main__":
    main()
