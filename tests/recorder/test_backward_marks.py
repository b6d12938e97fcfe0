"""Marks before and after the backward of each call, which `profile` adds to its file."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from support.autograd_cases import ALL_THREADS
from support.recording import Span, Trace, count_calls, record, record_bare
from torch import nn

import tb_hookview as hookview

EVALUATE = "autograd::engine::evaluate_function: "


class Moment(NamedTuple):
    """A mark on the backward pass, or a node."""

    what: str
    of: str


def moments(trace: Trace, *nodes: str) -> list[Moment]:
    """All marks of a trace, and the nodes of the given names, by time."""
    found = [(s.start, Moment("before", m.path)) for m, s in trace.marks("before backward")]
    found += [(s.start, Moment("after", m.path)) for m, s in trace.marks("after backward")]
    found += [(s.start, Moment("node", s.name)) for s in trace.spans if s.name in nodes]
    return [moment for _, moment in sorted(found, key=lambda pair: pair[0])]


def recorded(model: nn.Module, run: Callable[[], object], **options: Any) -> Trace:
    """Wrap a model, record a run of it and unwrap it."""
    hookview.wrap(model)
    try:
        return record(run, **options)
    finally:
        hookview.unwrap(model)


class Block(nn.Module):
    """A residual connection with an operation on either side of the inner module."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.sigmoid(self.fc(torch.tanh(x)))


def test_marks_nest_and_the_modules_own_work_is_outside_the_inner_ones():
    model = nn.Sequential(Block(), nn.ReLU())
    x = torch.ones(2, 4, requires_grad=True)
    nodes = ["SigmoidBackward0", "AddmmBackward0", "TanhBackward0", "ReluBackward0"]
    assert moments(recorded(model, lambda: model(x).sum().backward()), *nodes) == [
        ("before", ""),
        ("before", "1"),
        ("node", "ReluBackward0"),
        ("after", "1"),
        ("before", "0"),
        ("node", "SigmoidBackward0"),
        ("before", "0.fc"),
        ("node", "AddmmBackward0"),
        ("after", "0.fc"),
        ("node", "TanhBackward0"),
        ("after", "0"),
        ("after", ""),
    ]


def test_a_first_layer_holds_its_whole_backward():
    """torch's own hooks mark its end before the work: no input requires a gradient."""
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU())
    trace = recorded(model, lambda: model(torch.ones(1, 1, 5, 5)).sum().backward())
    order = moments(trace, "ConvolutionBackward0", "torch::autograd::AccumulateGrad")
    start, end = order.index(("before", "0")), order.index(("after", "0"))
    inside = Counter(moment.of for moment in order[start + 1 : end])
    assert inside == {"ConvolutionBackward0": 1, "torch::autograd::AccumulateGrad": 2}


def test_every_call_has_its_own_pair():
    shared = nn.Linear(4, 4)
    model = nn.Sequential(shared, nn.Tanh(), shared, nn.Tanh(), shared)
    trace = recorded(model, lambda: model(torch.ones(1, 4)).sum().backward())
    order = [moment for moment in moments(trace) if moment.of == "0"]
    assert order == [("before", "0"), ("after", "0")] * 3


def test_a_call_that_made_no_node_has_no_marks():
    model = nn.Sequential(nn.Linear(4, 4), nn.Identity(), nn.Dropout(0.0).eval())
    trace = recorded(model, lambda: model(torch.ones(1, 4)).sum().backward())
    assert trace.paths("before backward") == trace.paths("after backward") == {"": 1, "0": 1}


class Several(nn.Module):
    """Two outputs in containers, one of which may go unused."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> dict[str, Any]:
        return {"a": (self.first(x),), "b": [self.second(x)]}


@pytest.mark.parametrize("used", [["a"], ["b"], ["a", "b"]])
def test_a_call_with_several_outputs_has_one_pair(used):
    model = Several()

    def run() -> None:
        output = model(torch.ones(1, 4))
        torch.stack([output[name][0].sum() for name in used]).sum().backward()

    trace = recorded(model, run)
    inner = {"a": "first", "b": "second"}
    wanted = {"": 1, **{inner[name]: 1 for name in used}}
    assert trace.paths("before backward") == trace.paths("after backward") == wanted
    order = moments(trace)
    assert (order[0], order[-1]) == (("before", ""), ("after", ""))


def test_each_backward_through_one_graph_is_marked():
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    def run() -> None:
        loss = model(torch.ones(1, 4)).sum()
        loss.backward(retain_graph=True)
        loss.backward()

    trace = recorded(model, run)
    pair = [("before", ""), ("before", "1"), ("after", "1"), ("before", "0"), ("after", "0")]
    assert moments(trace) == [*pair, ("after", "")] * 2


def test_double_backward_is_marked_too():
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    def run() -> None:
        x = torch.ones(1, 4, requires_grad=True)
        (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        gradient.square().sum().backward()

    trace = recorded(model, run)
    assert (
        trace.paths("before backward") == trace.paths("after backward") == {"": 2, "0": 2, "1": 2}
    )


def test_a_backward_that_fails_leaves_the_next_one_whole():
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(_: Any, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(*_: Any) -> torch.Tensor:
            raise ValueError("no")

    class Middle(nn.Module):
        fails = True

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return Fails.apply(x) if self.fails else torch.tanh(x)

    model = nn.Sequential(nn.Linear(4, 4), Middle(), nn.Linear(4, 4))

    def run() -> None:
        with pytest.raises(ValueError, match="no"):
            model(torch.ones(1, 4)).sum().backward()
        model[1].fails = False
        model(torch.ones(1, 4)).sum().backward()

    order = moments(recorded(model, run))
    assert order[:4] == [("before", ""), ("before", "2"), ("after", "2"), ("before", "1")]
    assert order[4:] == [
        ("after", "1"),
        ("after", ""),
        ("before", ""),
        *[(what, path) for path in "210" for what in ("before", "after")],
        ("after", ""),
    ]


def test_a_backward_on_another_thread_is_marked_there():
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    def run() -> None:
        loss = model(torch.ones(1, 4)).sum()
        thread = threading.Thread(target=loss.backward)
        thread.start()
        thread.join()

    if not ALL_THREADS:
        pytest.skip("this torch has no profile_all_threads")
    trace = recorded(model, run, **ALL_THREADS)
    marks = trace.marks("before backward") + trace.marks("after backward")
    nodes = [span for span in trace.spans if span.name.startswith(EVALUATE)]
    assert len(marks) == 6
    assert {span.tid for _, span in marks} == {span.tid for span in nodes}
    assert {span.tid for _, span in trace.forward_marks}.isdisjoint(s.tid for _, s in marks)


def test_a_reentrant_recomputation_is_inside_its_checkpoint():
    inner = nn.Sequential(nn.Linear(4, 4), nn.Tanh())

    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.utils.checkpoint.checkpoint(self.inner, x, use_reentrant=True)

    model = Checkpointed()
    x = torch.ones(1, 4, requires_grad=True)
    assert moments(recorded(model, lambda: model(x).sum().backward())) == [
        ("before", ""),
        ("before", "inner"),
        ("before", "inner.1"),
        ("after", "inner.1"),
        ("before", "inner.0"),
        ("after", "inner.0"),
        ("after", "inner"),
        ("after", ""),
    ]


def test_marks_and_nodes_agree_on_a_whole_model(timm_vit):
    """Every numbered node runs between the marks of the call that made it."""
    images = torch.randn(2, 3, 64, 64)
    calls, stop = count_calls(timm_vit)
    trace = recorded(timm_vit, lambda: timm_vit(images).sum().backward())
    stop()
    assert trace.paths("before backward") == trace.paths("after backward")
    assert set(trace.paths("before backward")) <= set(calls)
    spans = marked_spans(trace)
    rows = [s for s in trace.spans if "Sequence number" in s.args and s.args.get("Fwd thread id")]
    rows = [s for s in rows if not s.name.startswith(EVALUATE)]
    assert len(rows) >= 100
    for row in rows:
        made_in = innermost(trace.forward_marks, forward_op(trace, row))
        assert innermost(spans, row) == made_in, row.name


def marked_spans(trace: Trace) -> list[tuple[Any, Span]]:
    """From each "before" to the "after" of the same path that follows it."""
    after = sorted(trace.marks("after backward"), key=lambda pair: pair[1].start)
    spans = []
    for mark, begin in trace.marks("before backward"):
        end = next(s for m, s in after if m.path == mark.path and s.start > begin.start)
        spans.append((mark, begin._replace(end=end.start)))
    return spans


def innermost(marks: list[tuple[Any, Span]], row: Span) -> str | None:
    around = [(span.start, mark.path) for mark, span in marks if span.holds(row)]
    return max(around)[1] if around else None


def forward_op(trace: Trace, node: Span) -> Span:
    number = node.args["Sequence number"]
    rows = [
        s for s in trace.spans if s.args.get("Sequence number") == number and s.start < node.start
    ]
    rows = [s for s in rows if s.args.get("Fwd thread id") == 0]
    return max(rows, key=lambda span: (span.start, -span.end))


@pytest.mark.parametrize("record", [record, record_bare])
def test_graphs_are_not_changed_and_tensors_carry_nothing(record):
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    hookview.wrap(model)
    plain = torch.tanh(torch.nn.functional.linear(torch.ones(1, 4), model[0].weight, model[0].bias))
    seen: list[torch.Tensor] = []
    record(lambda: seen.append(model(torch.ones(1, 4))))
    hookview.unwrap(model)
    (output,) = seen
    assert output._backward_hooks is None
    assert names_of_graph(output) == names_of_graph(plain)


def names_of_graph(tensor: torch.Tensor) -> list[str]:
    names, pending = [], [tensor.grad_fn]
    while pending:
        node = pending.pop()
        if node is not None:
            names.append(node.name())
            pending += [following for following, _ in node.next_functions]
    return names


def test_hooks_of_the_users_see_what_they_would_see_without_us():
    """Also one that is registered after the output was changed in place."""

    def run(model: nn.Module) -> list[torch.Tensor]:
        torch.manual_seed(0)
        seen: list[torch.Tensor] = []
        output = model(torch.ones(1, 4))
        output.register_hook(lambda gradient: seen.append(gradient.clone()))
        output.mul_(3)
        output.register_hook(lambda gradient: seen.append(gradient.clone()))
        output.retain_grad()
        output.sum().backward()
        return [*seen, output.grad]

    model = nn.Sequential(nn.Linear(4, 4))
    wanted = run(model)
    found: list[list[torch.Tensor]] = []
    trace = recorded(model, lambda: found.append(run(model)))
    assert trace.paths("before backward") == {"": 1, "0": 1}
    assert all(torch.equal(a, b) for a, b in zip(wanted, found[0], strict=True))
