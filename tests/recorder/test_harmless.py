"""Outputs and gradients are equal bit for bit with and without the recorder."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from support.attribution import assert_attributed
from support.harmless import assert_harmless, classify, sum_backward
from support.recording import record
from torch import nn
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

import tb_hookview as hookview


def test_timm_vision_transformer_with_patch_dropout(timm_vit):
    assert_harmless(timm_vit, classify(64))


def test_torchvision_resnet_with_its_in_place_operations(resnet18):
    assert_harmless(resnet18, classify(32))


def test_attribution_agrees_with_the_sequence_numbers_of_each_call(timm_vit, resnet18):
    for model in (timm_vit, resnet18):
        assert assert_attributed(model, classify(64)) > 50


class InPlace(nn.Module):
    """In-place operations inside modules, on their outputs, and through a view."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.first(x)
        out += x
        out = self.second(self.act(out))
        out[:, 1:] *= 2
        return out.view(-1).mul_(3)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(7, 4, sparse=False), nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.embed((x.abs() * 3).long().clamp(max=6)))


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = self.a

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(self.a(self.a(x)))


class Frozen(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4))
        self[0].requires_grad_(False)


class Structured(nn.Module):
    """Keyword inputs; dict, tuple and None outputs; a module that is never called."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.unused = Inner(), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> dict[str, object]:
        first, second, nothing = self.inner(x=x, scale=2)
        return {"a": first, "b": (second, nothing), "c": [first * second]}


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, *, x: torch.Tensor, scale: int) -> tuple[torch.Tensor, torch.Tensor, None]:
        return self.fc(x), self.fc(x) * scale, None


@dataclass
class Answer:
    first: torch.Tensor
    second: torch.Tensor | None = None


class Answers(nn.Linear):
    def forward(self, x: torch.Tensor) -> Answer:
        return Answer(super().forward(x))


class Checkpointed(nn.Module):
    def __init__(self, *, reentrant: bool) -> None:
        super().__init__()
        self.reentrant = reentrant
        self.block = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Linear(4, 4))
        self.drop = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = checkpoint(self.block, x, use_reentrant=self.reentrant)
        return checkpoint(self.drop, inner, use_reentrant=self.reentrant)


class Nested(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.last = Checkpointed(reentrant=False), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(checkpoint(self.inner, x, use_reentrant=False))


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * 3 * ctx.saved_tensors[0] ** 2


class Custom(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Cube.apply(super().forward(x))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 3, num_layers=2, batch_first=True, dropout=0.3)

    def forward(self, x: torch.Tensor) -> object:
        return self.lstm(x[None])


CASES: dict[str, Callable[[], nn.Module]] = {
    "in-place operations": InPlace,
    "tied weights": Tied,
    "a shared module": Shared,
    "frozen layers and batch norm": Frozen,
    "structured inputs and outputs": Structured,
    "a dataclass output": lambda: nn.Sequential(Answers(4, 4)),
    "reentrant checkpoint": lambda: Checkpointed(reentrant=True),
    "checkpoint": lambda: Checkpointed(reentrant=False),
    "nested checkpoints": Nested,
    "custom function": lambda: Custom(4, 4),
    "LSTM": Recurrent,
    "parametrization": lambda: nn.Sequential(parametrizations.weight_norm(nn.Linear(4, 4))),
    "convolution on an input without gradient": lambda: nn.Sequential(nn.Conv1d(3, 2, 1)),
}


@pytest.mark.parametrize("users_hooks", [False, True], ids=["", "with the user's hooks"])
@pytest.mark.parametrize("case", CASES)
def test_nothing_changes(case, users_hooks):
    shape = (2, 3, 4) if "convolution" in case else (6, 4)
    model = CASES[case]()
    for module in model.modules() if users_hooks else ():
        module.register_forward_pre_hook(UsersHook())
    assert_harmless(model, sum_backward(*shape))


class UsersHook:
    def __call__(self, *call: object) -> None:
        assert isinstance(call[0], nn.Module)


def test_sparse_gradients():
    def run(model: nn.Module) -> object:
        out = model(torch.tensor([1, 2, 2]))
        out.sum().backward()
        return out

    trace = assert_harmless(nn.Sequential(nn.Embedding(5, 4, sparse=True)), run)
    assert trace.paths("gradient") == {"0": 1}


def test_autocast():
    def run(model: nn.Module) -> object:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(torch.randn(3, 4))
        out.float().sum().backward()
        return out

    assert_harmless(nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)), run)


@pytest.mark.parametrize("context", [torch.no_grad, torch.inference_mode])
def test_without_gradients(context):
    def run(model: nn.Module) -> object:
        with context():
            return model(torch.randn(3, 4))

    trace = assert_harmless(nn.Sequential(nn.Linear(4, 4)), run)
    assert trace.marks("gradient") == []


def test_double_backward():
    def run(model: nn.Module) -> object:
        x = torch.randn(3, 4, requires_grad=True)
        (grad,) = torch.autograd.grad(model(x).pow(2).sum(), x, create_graph=True)
        grad.pow(2).sum().backward()
        return grad

    assert_harmless(nn.Sequential(nn.Linear(4, 4), nn.Tanh()), run)


def test_several_backwards_and_accumulation():
    def run(model: nn.Module) -> object:
        for _ in range(2):
            loss = model(torch.randn(3, 4)).sum()
            loss.backward(retain_graph=True)
            loss.backward()
        return loss

    trace = assert_harmless(nn.Sequential(nn.Linear(4, 4)), run)
    assert trace.paths("gradient") == {"0": 8}


def test_functional_call():
    def run(model: nn.Module) -> object:
        weights = {name: p.detach() * 2 for name, p in model.named_parameters()}
        return torch.func.functional_call(model, weights, (torch.randn(3, 4),))

    assert_harmless(nn.Sequential(nn.Linear(4, 4)), run)


def test_function_transforms():
    def run(model: nn.Module) -> object:
        weights = dict(model.named_parameters())

        def loss(weights: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
            return torch.func.functional_call(model, weights, (x,)).sum()

        return torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(weights, torch.randn(3, 4))

    assert_harmless(nn.Sequential(nn.Linear(4, 4), nn.Tanh()), run)


def test_backward_in_another_thread():
    def run(model: nn.Module) -> object:
        out = model(torch.randn(3, 4))
        thread = threading.Thread(target=lambda: out.sum().backward())
        thread.start()
        thread.join()
        return out

    assert_harmless(nn.Sequential(nn.Linear(4, 4)), run)


def test_forward_in_many_threads_while_recording_starts_and_stops():
    model = hookview.wrap(nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4))))
    failures: list[BaseException] = []
    done = threading.Event()

    def train() -> None:
        try:
            while not done.is_set():
                model(torch.ones(1, 4)).sum().backward()
        except BaseException as failure:  # noqa: BLE001 - reported by the assertion below
            failures.append(failure)

    threads = [threading.Thread(target=train) for _ in range(4)]
    for thread in threads:
        thread.start()
    traces = [record(lambda: model(torch.ones(1, 4))) for _ in range(5)]
    done.set()
    for thread in threads:
        thread.join()
    hookview.unwrap(model)
    assert failures == []
    assert all(trace.paths("forward")["1.0"] >= 1 for trace in traces)


def test_an_exception_in_backward_reaches_the_caller():
    def fail(_: torch.Tensor) -> None:
        raise ValueError("in backward")

    model = hookview.wrap(nn.Sequential(nn.Linear(4, 4)))

    def run() -> None:
        out = model(torch.ones(1, 4))
        out.register_hook(fail)
        with pytest.raises(ValueError, match="in backward"):
            out.sum().backward()
        model(torch.ones(1, 4)).sum().backward()

    assert record(run).paths("gradient") == {"0": 2}
    hookview.unwrap(model)


def test_a_lazy_module_becomes_what_it_would():
    model = hookview.wrap(nn.Sequential(nn.LazyLinear(3)))
    trace = record(lambda: model(torch.ones(2, 5)).sum().backward())
    assert trace.paths("forward") == {"": 1, "0": 1}
    assert type(model[0]) is nn.Linear
    hookview.unwrap(model)


def test_data_parallel_replicas_run_themselves_under_the_marks_of_their_original():
    model = hookview.wrap(nn.Sequential(nn.Linear(4, 4)))
    outputs: list[torch.Tensor] = []

    def run() -> None:  # what DataParallel does in every forward, without its second device
        replica = model._replicate_for_data_parallel()
        replica._modules = {"0": model[0]._replicate_for_data_parallel()}
        for name, parameter in model[0].named_parameters():
            setattr(replica._modules["0"], name, parameter * 2)
        outputs.extend([replica(torch.ones(1, 4)), model(torch.ones(1, 4))])

    trace = record(run)
    assert trace.paths("forward") == {"": 2, "0": 2}
    assert torch.equal(outputs[0], outputs[1] * 2)
    hookview.unwrap(model)
