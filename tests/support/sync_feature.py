"""A feature of torch, what it is called with, and words for why the host waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch


class Feature(NamedTuple):
    """What is called, and how often the host waits for it."""

    run: Callable[[Tensors], object]
    syncs: int
    why: str
    uncertain: int = 0
    since: tuple[int, int] = (2, 10)
    """Version of torch from which on it is so."""
    until: tuple[int, int] = (9, 9)
    """The last version in which it is so."""


class Tensors:
    """Tensors that features use; all of the device but those whose names say otherwise."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.x = torch.randn(6, 5, device="cuda")
        self.square = torch.randn(4, 4, device="cuda") + 4 * torch.eye(4, device="cuda")
        self.positive = self.square @ self.square.T
        self.batch = torch.stack([self.positive, self.positive + 1])
        self.v = torch.randn(6, device="cuda")
        self.i = torch.tensor([0, 2, 1], device="cuda")
        self.counts = torch.tensor([1, 0, 2, 1, 1, 1], device="cuda")
        self.mask = torch.tensor([True, False, True, True, False, True], device="cuda")
        self.scalar = torch.tensor(2.0, device="cuda")
        self.integer = torch.tensor(2, device="cuda")
        self.host = torch.randn(6, 5)
        self.host_i = torch.tensor([0, 2, 1])
        self.host_scalar = torch.tensor(2.0)
        self.pinned = torch.randn(6, 5).pin_memory()
        self.image = torch.randn(2, 3, 8, 8, device="cuda")
        self.labels = torch.tensor([0, 2, 1, 4, 3, 0], device="cuda")
        self.ids = torch.tensor([[1, 2, 0], [3, 0, 0]], device="cuda")

    def leaf(self, *shape: int) -> torch.Tensor:
        return torch.randn(*(shape or (6, 5)), device="cuda", requires_grad=True)


def of(
    run: Callable[[Tensors], object],
    syncs: int,
    why: str,
    uncertain: int = 0,
    since: tuple[int, int] = (2, 10),
    until: tuple[int, int] = (9, 9),
) -> Feature:
    return Feature(run, syncs, why, uncertain, since, until)


def backward(make: Callable[[Tensors, torch.Tensor], torch.Tensor]) -> Callable[[Tensors], object]:
    def run(t: Tensors) -> object:
        return make(t, t.leaf()).sum().backward()

    return run


def assign(change: Callable[[Tensors, torch.Tensor], object]) -> Callable[[Tensors], object]:
    def run(t: Tensors) -> object:
        return change(t, t.x.clone())

    return run


def put(key: Any, value: Any) -> Callable[[Tensors], object]:
    """`x[key] = value`, both of functions of the tensors."""

    def run(t: Tensors) -> object:
        x = t.x.clone()
        x[key(t)] = value(t)
        return x

    return run


def update(make: Callable[..., Any], steps: int = 1, **options: Any) -> Callable[[Tensors], object]:
    """Steps of an optimizer over two parameters."""

    def run(t: Tensors) -> object:
        parameters = [t.leaf(3, 2), t.leaf(2)]
        for parameter in parameters:
            parameter.grad = torch.ones_like(parameter)
        optimizer = make(parameters, **options)
        for _ in range(steps):
            optimizer.step()
        return parameters

    return run


def scaled(make: Callable[..., Any], **options: Any) -> Callable[[Tensors], object]:
    def run(t: Tensors) -> object:
        parameter = t.leaf(3)
        optimizer = make([parameter], lr=0.1, **options)
        scaler = torch.amp.GradScaler("cuda", init_scale=4.0)
        scaler.scale(parameter.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        return parameter

    return run


READ = "cuda_scalar: each value is copied to the host"
COPY = "Copy.cu: memcpy_and_sync waits for the stream"
NONE = "a kernel alone: nothing comes back"
COUNTED = "Nonzero.cu copies the number of elements to the host"
INDEX = "an index on the host is copied to the device"
INSIDE = "what a library waits for in it is not counted"
COALESCED = "coalesced: Thrust waits several times in the operator, counted once"
ERRORS = "_linalg_check_errors reads whether any info is not 0"
OPTIMIZER = "the step count is on the host, or on the device throughout"
