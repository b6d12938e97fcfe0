"""`watch` and the compiler: the same is compiled, once, and the same is trained."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from support.compiled_family import made
from support.watched import QUIET, net, rows, sample_all, train, until
from torch import nn
from torch.utils.hooks import RemovableHandle

import tb_hookview as hookview


def compile_as(how: str, model: nn.Module) -> nn.Module:
    """The model to call: of three layers, compiled in one of four ways."""
    if how == "whole":
        return torch.compile(model, backend="eager")
    if how == "part":
        model[1] = torch.compile(model[1], backend="eager")
    else:
        for module in (model,) if how == "in place" else model:
            module.compile(backend="eager")
    return model


@pytest.mark.parametrize("how", ["whole", "part", "in place", "parts in place"])
@pytest.mark.parametrize(
    "order", ["compile, watch", "compile, call, watch", "watch, compile", "watch some steps"]
)
def test_a_compiled_model_is_compiled_the_same_and_trained_the_same(
    tmp_path, how, order, monkeypatch
):
    """Graphs, breaks, frames and guards are equal, recordings included."""
    options = sample_all(monkeypatch) if order == "watch some steps" else QUIET

    def run(*, ours: bool) -> tuple[list[float], dict[str, Any]]:
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        RemovableHandle.next_id = 0  # the numbers of hooks are in guards
        model = net()[:2]
        called = compile_as(how, model) if order != "watch, compile" else model
        losses = train(called, 2) if order == "compile, call, watch" else []
        watching = hookview.watch(tmp_path, model=called, **options) if ours else nullcontext()
        with watching as watch:
            if called is model:
                losses += train(called, 4, watch.step if ours else lambda: None)
            called = compile_as(how, model) if order == "watch, compile" else called
            losses += train(called, 20, watch.step if ours else lambda: None)
            if ours:
                watch.record(steps=1)
                until(watch, called, lambda: len(watch.recordings) == 1)
        train(called, 2)
        return losses, made()

    gc.collect()
    gc.disable()  # callbacks of garbage collections are frames to Dynamo
    try:
        assert run(ours=True) == run(ours=False)
    finally:
        gc.enable()
        torch._dynamo.reset()


def test_compiled_autograd_compiles_the_same_and_changes_no_gradient(tmp_path):
    if not hasattr(torch._dynamo.compiled_autograd, "_enable"):
        pytest.skip("this torch has no such switch for compiled autograd")

    def run(*, ours: bool) -> tuple[list[float], list[torch.Tensor], int]:
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        model = net()[:2]
        watching = hookview.watch(tmp_path, model=model, **QUIET) if ours else nullcontext()
        compiler = torch.compile(backend="eager")
        with watching as watch, torch._dynamo.compiled_autograd._enable(compiler):
            losses = train(model, 8, watch.step if ours else lambda: None)
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        return losses, gradients, torch._dynamo.utils.counters["stats"]["unique_graphs"]

    losses, gradients, graphs = run(ours=False)
    watched_losses, watched_gradients, watched_graphs = run(ours=True)
    torch._dynamo.reset()
    assert graphs > 0
    assert (watched_losses, watched_graphs) == (losses, graphs)
    assert all(map(torch.equal, gradients, watched_gradients))
    assert all(row["backward_us"] > 0 for row in rows(tmp_path))


def compiled_step(model: nn.Module) -> Callable[[], torch.Tensor]:
    """A whole training step: forward, backward and optimizer."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step() -> torch.Tensor:
        loss = model(torch.ones(2, 4)).square().sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return torch.compile(step, backend="eager")


@pytest.mark.parametrize("is_autograd_compiled", [False, True])
@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize("sampled", [False, True])
def test_a_compiled_training_step_is_compiled_the_same_and_what_it_hides_is_unknown(
    tmp_path, is_autograd_compiled, before, sampled, monkeypatch
):
    options = sample_all(monkeypatch) if sampled else QUIET

    def run(*, ours: bool) -> tuple[list[float], dict[str, Any]]:
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        RemovableHandle.next_id = 0
        model = net()[:2]
        step = compiled_step(model)
        losses = [float(step()) for _ in range(before)]
        with hookview.watch(tmp_path, model=model, **options) if ours else nullcontext() as watch:
            for _ in range(20):
                losses.append(float(step()))
                if ours:
                    watch.step()
        return losses + [float(step()) for _ in range(3)], made()

    with torch._dynamo.config.patch(compiled_autograd=is_autograd_compiled):
        run(ours=False)  # the first time, torch compiles some of its own
        expected = run(ours=False)
        assert run(ours=True) == expected
    torch._dynamo.reset()
    hidden = ("forward_us", "backward_us", "after_backward_us", "optimizer_us")
    assert [[row[name] for name in hidden] for row in rows(tmp_path)] == [[None] * 4] * 20
    assert torch.autograd.backward.__module__ == "torch.autograd"


class Environment:
    def step(self, action: torch.Tensor) -> torch.Tensor:
        return action + 1


def compiled_helper(what: str, optimizer: torch.optim.Optimizer) -> Callable[[], object]:
    """A compiled call of something named `step`."""
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5)
    environment, action = Environment(), torch.ones(2)

    def update() -> None:
        optimizer.step()

    helpers = {
        "scheduler": lambda: scheduler.step(),
        "environment": lambda: environment.step(action),
        "optimizer": lambda: optimizer.step(),
        "optimizer in a call": lambda: update(),
    }
    return torch.compile(helpers[what], backend="eager")


@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize(
    ("what", "timed"),
    [
        ("scheduler", True),
        ("environment", True),
        ("optimizer", False),
        ("optimizer in a call", False),
    ],
)
def test_optimizers_have_no_time_only_where_their_step_is_compiled(tmp_path, what, timed, before):
    def run(*, ours: bool) -> dict[str, Any]:
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        model = net()[:2]
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        helper = compiled_helper(what, optimizer)

        def train_step() -> None:
            model(torch.ones(2, 4)).square().sum().backward()
            helper()
            if timed:
                optimizer.step()

        for _ in range(before):
            train_step()
        with hookview.watch(tmp_path, model=model, **QUIET) if ours else nullcontext() as watch:
            for _ in range(4):
                train_step()
                if ours:
                    watch.step()
        return made()

    run(ours=False)  # the first time, torch compiles some of its own
    expected = run(ours=False)
    assert run(ours=True) == expected
    torch._dynamo.reset()
    assert [row["optimizer_us"] is not None for row in rows(tmp_path)] == [timed] * 4
