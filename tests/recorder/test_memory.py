"""Recording extends no lifetime: graphs are freed as without it, without the gc."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from support.recording import record
from torch import nn
from torch.utils.checkpoint import checkpoint

import tb_hookview as hookview


class Load:
    """Something that a node holds."""


class Keep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, load: Load) -> torch.Tensor:
        ctx.load, ctx.factor = load, 2
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        return grad * ctx.factor, None


class Loaded(nn.Module):
    """The node of its output holds a load; `loads` lists the loads that are alive."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.loads: list[weakref.ref[Load]] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        load = Load()
        self.loads.append(weakref.ref(load))
        return Keep.apply(self.fc(x), load)


def loaded() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 4), Loaded(), nn.Sequential(Loaded(), nn.ReLU()))


def left(model: nn.Module) -> int:
    """How many loads are there still."""
    modules = [module for module in model.modules() if isinstance(module, Loaded)]
    return sum(load() is not None for module in modules for load in module.loads)


@pytest.fixture(autouse=True)
def without_gc() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def dropped_output(model: nn.Module) -> None:
    out = model(torch.ones(2, 4))
    assert left(model) == 2
    del out


def dropped_in_inference_of_a_part(model: nn.Module) -> None:
    with torch.no_grad():
        first = model[0](torch.ones(2, 4))
    out = model[1](first)
    assert left(model) == 1
    del out


def dropped_loss(model: nn.Module) -> None:
    model(torch.ones(2, 4)).sum().backward()


def graph_alive(model: nn.Module) -> None:
    loss = model(torch.ones(2, 4)).sum()
    loss.backward(retain_graph=True)
    assert left(model) == 2
    loss.backward()
    del loss


def failed_forward(model: nn.Module) -> None:
    handle = model[2].register_forward_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model(torch.ones(2, 4))
    handle.remove()


def failed_backward(model: nn.Module) -> None:
    out = model(torch.ones(2, 4))
    out.register_hook(lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        out.sum().backward()
    del out


def checkpointed(model: nn.Module) -> None:
    checkpoint(model, torch.ones(2, 4), use_reentrant=False).sum().backward()


RUNS = [
    dropped_output,
    dropped_in_inference_of_a_part,
    dropped_loss,
    graph_alive,
    failed_forward,
    failed_backward,
    checkpointed,
]


@pytest.mark.parametrize("run", RUNS)
def test_a_graph_is_freed_when_it_would_be(run: Callable[[nn.Module], None]):
    model = loaded()
    run(model)
    assert left(model) == 0
    hookview.wrap(model)
    seen: list[int] = []

    def twice() -> None:
        for _ in range(2):
            run(model)
            seen.append(left(model))

    record(twice)
    hookview.unwrap(model)
    assert seen == [0, 0]


def test_a_recording_that_ends_between_forward_and_backward_frees_the_graph_too():
    model = hookview.wrap(loaded())
    outputs: list[torch.Tensor] = []
    record(lambda: outputs.append(model(torch.ones(2, 4))))
    assert left(model) == 2
    outputs.pop().sum().backward()
    assert left(model) == 0
    hookview.unwrap(model)
