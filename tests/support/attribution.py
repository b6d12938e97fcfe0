"""Holds a trace against the truth: which module made which node of the autograd graph."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict

import torch
from support.harmless import Run, execute
from support.recording import ACCUMULATE, Span, Trace, record
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

import tb_hookview as hookview

EVALUATE = "autograd::engine::evaluate_function: "
NOT_OF_AN_OPERATOR = (ACCUMULATE, f"{EVALUATE}torch::autograd::GraphRoot")
"""Nodes that no operator made: the second begins a backward with several outputs."""


def assert_attributed(model: nn.Module, run: Run) -> int:
    """Check that the marks of a recorded run name the true module of every node that ran.

    Returns:
        How many nodes there were, without those that no operator made.
    """
    hookview.wrap(model)
    truth = SequenceTruth(model)
    try:
        trace = record(lambda: execute(model, run))
    finally:
        truth.stop()
        hookview.unwrap(model)
    nodes = [s for s in trace.spans if s.name.startswith(EVALUATE)]
    nodes = [s for s in nodes if s.name not in NOT_OF_AN_OPERATOR]
    makers = _makers(trace)
    found = {_number(node): _module_by_trace(trace, makers, node) for node in nodes}
    assert found == {number: truth.module_of(number) for number in found}
    return len(found)


class SequenceTruth:
    """Which module made which autograd node, known from torch's counter at module boundaries."""

    def __init__(self, model: nn.Module) -> None:
        self._paths = {id(module): path for path, module in model.named_modules()}
        self._inside: list[str] = []
        self._numbers: list[int] = []
        self._modules: list[str | None] = []
        self._handles = (
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave, always_call=True),
        )

    def _enter(self, module: nn.Module, _: object) -> None:
        if id(module) in self._paths:
            self._inside.append(self._paths[id(module)])
            self._note()

    def _leave(self, module: nn.Module, *_: object) -> None:
        if id(module) in self._paths:
            self._inside.pop()
            self._note()

    def _note(self) -> None:
        self._numbers.append(torch._C._autograd._get_sequence_nr())
        self._modules.append(self._inside[-1] if self._inside else None)

    def stop(self) -> None:
        for handle in self._handles:
            handle.remove()

    def module_of(self, number: int) -> str | None:
        passed = bisect_right(self._numbers, number)
        return self._modules[passed - 1] if passed else None


def _number(span: Span) -> int:
    number: int = span.args["Sequence number"]
    return number


def _makers(trace: Trace) -> dict[int, list[Span]]:
    """The forward operators by the number of the node that they made."""
    makers: dict[int, list[Span]] = defaultdict(list)
    for span in trace.spans:
        if "Sequence number" in span.args and span.args.get("Fwd thread id") == 0:
            makers[_number(span)].append(span)
    return makers


def _module_by_trace(trace: Trace, makers: dict[int, list[Span]], node: Span) -> str | None:
    """The module whose forward range holds the last operator to start with the node's number."""
    before = [span for span in makers[_number(node)] if span.start < node.start]
    maker = max(before, key=lambda span: (span.start, -span.end))
    around = [(span.start, mark.path) for mark, span in trace.forward_marks if span.holds(maker)]
    return max(around)[1] if around else None
