"""Compiled code: a transformer with and without it, and code that is compiled in each step."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from sample_traces import models
from sample_traces.scenario import Expected, Scenario, Setting, Training, Variant


class Checked(models.Gpt):
    """A Gpt that looks at a value, for which it leaves compiled code."""

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Score the next token at each position."""
        x = self.embed(tokens) + self.places
        x = self.run(self.blocks[0], x)
        if not torch.isfinite(x).all():
            raise FloatingPointError("the first block returns what is not finite")
        for block in self.blocks[1:]:
            x = self.run(block, x)
        scores: torch.Tensor = self.head(self.norm(x))
        return scores


def _build(setting: Setting, kind: type[models.Gpt], *, compiled: bool) -> Training:
    vocabulary, length = setting.pick(8192, 256), setting.pick(256, 64)
    model = kind(vocabulary, setting.pick(512, 128), setting.pick(6, 2), length)
    model.to(setting.device)
    if compiled:
        model.compile(dynamic=False)
    batch = models.tokens(setting, setting.pick(16, 4), length, vocabulary)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    step = models.training_step(model, optimizer, lambda: batch, models.token_loss)
    return Training(step, model)


COMPILED = Scenario(
    "compiled",
    "a transformer without torch.compile, against compiled and compiled with a graph break",
    (
        Variant("eager", lambda setting: _build(setting, models.Gpt, compiled=False)),
        Variant("compiled", lambda setting: _build(setting, models.Gpt, compiled=True)),
        Variant(
            "graph_break",
            lambda setting: _build(setting, Checked, compiled=True),
            (Expected(("graph-break",), needs_device=False),),
        ),
    ),
    seconds=240,
    tolerance=1e-3,
    on_cpu="Modules inside compiled code have their times, by the recorder's map of the compiled "
    "graphs. With a graph break one compiled region runs inside another.",
)


class Annealed(nn.Module):
    """A perceptron whose noise becomes less with each call, counted in Python or in a tensor."""

    calls: int | torch.Tensor

    def __init__(self, *, in_python: bool) -> None:
        super().__init__()
        self.body = models.Perceptron(64, 64, 1, 16)
        if in_python:
            self.calls = 0
        else:
            self.register_buffer("calls", torch.zeros(()))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Classify."""
        self.calls += 1
        scores: torch.Tensor = self.body(rows + rows.cos() / (10 + self.calls))
        return scores


def _annealed(setting: Setting, *, in_python: bool) -> Training:
    model = Annealed(in_python=in_python)
    model.compile(backend="aot_eager")
    batch = models.vectors(setting, 256, 64, 16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    return Training(models.training_step(model, optimizer, lambda: batch), model)


def _without_limit(_: Setting) -> Any:
    """Let steps compile: after eight variants of a function torch no longer compiles it."""
    return torch._dynamo.config.patch(recompile_limit=1000, accumulated_recompile_limit=1000)


RECOMPILED = Scenario(
    "recompiled",
    "a number that changes in each call is an attribute in Python, against a buffer",
    (
        Variant(
            "in_python",
            lambda setting: _annealed(setting, in_python=True),
            (Expected(("recompilation",), needs_device=False),),
            conditions=_without_limit,
        ),
        Variant(
            "in_tensor",
            lambda setting: _annealed(setting, in_python=False),
            conditions=_without_limit,
        ),
    ),
    steps=3,
    seconds=240,
    tolerance=1e-3,
    on_cpu="Guards hold the number: each step compiles the model again, forward and backward.",
    cpu_only=True,
)
