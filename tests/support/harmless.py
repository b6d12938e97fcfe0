"""Runs a model plain, wrapped and recorded, and compares the results."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass
from typing import Any

import torch
from support.recording import Trace, count_calls, record
from torch import nn

import tb_hookview as hookview

Results = list[torch.Tensor | None]
Run = Callable[[nn.Module], object]
Options = dict[str, Any]
"""Keywords for the profiler."""


def execute(model: nn.Module, run: Run) -> Results:
    """Run with a fixed seed; return every tensor that came out and every gradient."""
    torch.manual_seed(1)
    model.zero_grad()
    with one_thread():
        outputs = [t.detach().clone() for t in tensors_in(run(model))]
    grads = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    buffers = [b.clone() for b in model.buffers()]
    return [*outputs, *grads, *buffers]


@contextmanager
def one_thread() -> Iterator[None]:
    """Have no operation share its work: sums of several threads differ from run to run."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_in(item)
    elif is_dataclass(value):
        yield from tensors_in(vars(value))


def same(left: torch.Tensor | None, right: torch.Tensor | None) -> bool:
    if left is None or right is None:
        return left is right
    if left.is_sparse:
        left, right = left.coalesce().to_dense(), right.coalesce().to_dense()
    as_bytes = [t.contiguous().view(-1).view(torch.uint8) for t in (left, right)]
    return left.dtype == right.dtype and torch.equal(*as_bytes)


def assert_harmless(model: nn.Module, run: Run, profile: Options | None = None) -> Trace:
    """Compare a plain run with one that is recorded and one that is only wrapped.

    Return the trace, after checking that every call is in it.
    """
    with warnings.catch_warnings(record=True) as before:
        warnings.simplefilter("always")
        plain = execute(copy.deepcopy(model), run)
    assert any(tensor is not None for tensor in plain)
    hookview.wrap(model)
    idle = execute(copy.deepcopy(model), run)
    calls, stop_counting = count_calls(model)
    state = copy.deepcopy(model.state_dict())
    results: list[Results] = []
    with warnings.catch_warnings(record=True) as during:
        warnings.simplefilter("always")
        trace = record(lambda: results.append(execute(model, run)), **(profile or {}))
    stop_counting()
    model.load_state_dict(state)
    after = execute(model, run)
    hookview.unwrap(model)
    for other in (idle, results[0], after):
        assert len(other) == len(plain)
        assert all(same(a, b) for a, b in zip(plain, other, strict=True))
    assert {str(w.message) for w in during} <= {str(w.message) for w in before}
    assert trace.paths("forward") == calls
    return trace


def classify(size: int) -> Run:
    def run(model: nn.Module) -> object:
        scores = model(torch.randn(2, 3, size, size))
        nn.functional.cross_entropy(scores, torch.tensor([1, 2])).backward()
        return scores

    return run


def sum_backward(*shape: int) -> Run:
    def run(model: nn.Module) -> object:
        out = model(torch.randn(*shape, requires_grad=True))
        total = torch.stack([t.float().sum() for t in tensors_in(out) if t.is_floating_point()])
        total.sum().backward()
        return out

    return run
