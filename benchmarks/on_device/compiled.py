"""Modules inside torch.compile, with generated kernels and with replayed CUDA graphs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import torch
from torch import nn

import tb_hookview as hookview
from sample_traces import gpu_checks, libraries, models
from sample_traces.measuring import Clock, summary, time_calls
from sample_traces.recording import record
from sample_traces.scenario import Recording, Setting, Training

from .results import MOST_BYTES, Results

MODES = ("eager", "default", "reduce-overhead", "max-autotune")
Build = Callable[[Setting], tuple[nn.Module, Callable[[nn.Module], torch.Tensor]]]


def _vision(setting: Setting) -> tuple[nn.Module, Callable[[nn.Module], torch.Tensor]]:
    if setting.small:
        return gpu_checks.GRADIENT_MODELS["timm vision transformer, patch dropout"](setting)
    transformer = libraries.load("timm.models.vision_transformer").VisionTransformer
    pixels, labels = models.images(setting, 64, 224, 16)
    model = transformer(num_classes=16, patch_drop_rate=0.5)
    return model, lambda model: nn.functional.cross_entropy(model(pixels), labels)


def _language(setting: Setting) -> tuple[nn.Module, Callable[[nn.Module], torch.Tensor]]:
    transformers = libraries.load("transformers")
    sizes = {"n_embd": setting.pick(768, 64), "n_layer": setting.pick(12, 2)}
    config = transformers.GPT2Config(n_head=sizes["n_embd"] // 64, **sizes, use_cache=False)
    length, batch = setting.pick(512, 32), setting.pick(8, 2)
    inputs, targets = models.tokens(setting, batch, length, config.vocab_size)
    model = transformers.GPT2LMHeadModel(config)
    return model, lambda model: models.token_loss(model(inputs).logits, targets)


MODELS: dict[str, Build] = {"vit": _vision, "gpt2": _language}


def measure(results: Results, name: str, mode: str, eager: dict[str, float]) -> dict[str, Any]:
    """Step, placed shares, and matrix products next to the eager ones, which are filled in.

    A layer whose eager products are slow (GPT-2's `lm_head`: 50,257 words are no multiple of 8, and
    Inductor pads them) takes another share when compiled; so the most different one is named, and
    the others are compared without it too.
    """
    torch.compiler.reset()
    report, times = _recorded(results, name, mode)
    products = _products(report)
    if mode == "eager":
        eager |= products
    print(name, mode, report, flush=True)
    data = report.data
    return {
        "times": times,
        "compiled": msgspec.to_builtins(data.compiled),
        "coverage": msgspec.to_builtins(data.coverage),
        "backward_modules": {each.path: each.backward.self_device_us for each in data.modules},
        **_compared(eager, products),
        "warnings": [each.code for each in data.trace.warnings],
        "findings": [(each.rule, each.module) for each in data.findings],
    }


def _recorded(results: Results, name: str, mode: str) -> tuple[hookview.Report, dict[str, Any]]:
    setting = results.setting
    torch.manual_seed(0)
    model, loss_of = MODELS[name](setting)
    model.to(setting.device).train()
    hookview.wrap(model)
    optimizer = torch.optim.AdamW(model.parameters(), fused=setting.cuda)
    called = model if mode == "eager" else torch.compile(model, mode=mode)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        with models.bf16(setting)():
            loss = loss_of(called)
        loss.backward()
        optimizer.step()
        return loss.detach()

    times = time_calls(step, Clock(setting.device), seconds=1.0, at_least=3)
    folder = results.traces / f"compiled.{name}.{mode}"
    record(Training(step, model), folder, Recording(2, stacks=False), MOST_BYTES)
    return hookview.analyze(folder), summary([times])


def _products(report: hookview.Report) -> dict[str, float]:
    """Device time of matrix products and convolutions of each leaf module, both directions."""
    parents = {module.parent for module in report.data.modules}
    return {
        module.path: sum(
            (work.by_kind or {}).get(kind, 0.0)
            for work in (module.forward, module.backward)
            for kind in ("matrix", "convolution")
        )
        for module in report.data.modules
        if module.path not in parents
    }


def _compared(eager: dict[str, float], other: dict[str, float]) -> dict[str, Any]:
    """How far modules take the same part of the products, and the module that differs most."""
    parts, others = _parts(eager), _parts(other)
    if not parts or not others:
        return {"products_as_eager": None}
    paths = parts.keys() | others.keys()
    unlike = max(paths, key=lambda path: abs(parts.get(path, 0.0) - others.get(path, 0.0)))
    rest = [{p: v for p, v in each.items() if p != unlike} for each in (eager, other)]
    return {
        "products_as_eager": _agreement(parts, others),
        "most_different": [unlike, parts.get(unlike, 0.0), others.get(unlike, 0.0)],
        "products_of_the_others": _agreement(*map(_parts, rest)),
    }


def _parts(times: dict[str, float]) -> dict[str, float]:
    """Times divided by their sum; empty where that is 0."""
    whole = sum(times.values())
    return {path: time / whole for path, time in times.items()} if whole else {}


def _agreement(parts: dict[str, float], others: dict[str, float]) -> float:
    """Part of both that is the same module's, 1 for equal ones."""
    return sum(min(part, others.get(path, 0.0)) for path, part in parts.items())


def main() -> int:
    """Measure each model in each mode, eager first."""
    results = Results("compiled", __doc__)
    measurements: dict[str, Callable[[], Any]] = {}
    for name in (results.only,) if results.only else MODELS:
        eager: dict[str, float] = {}
        for mode in MODES:
            measurements[f"{name}, {mode}"] = partial(measure, results, name, mode, eager)
    return results.measure(measurements)


if __name__ == "__main__":
    sys.exit(main())
