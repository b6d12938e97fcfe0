"""The marks in a trace: complete, closed, of the right instance, in place."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from support.recording import ACCUMULATE, Span, Trace, count_calls, record, record_bare
from torch import nn
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)

import tb_hookview as hookview
from tb_hookview.markers import Mark
from tb_hookview.recorder.demo import VisionTransformer


def training_step(model: nn.Module, loss_fn: nn.Module) -> Callable[[], None]:
    images, labels = torch.randn(2, 3, 64, 64), torch.tensor([1, 2])
    return lambda: loss_fn(model(images), labels).backward()


@pytest.fixture(scope="module")
def recorded() -> tuple[nn.Module, Trace, dict[str, int]]:
    """Two steps of a transformer and its loss, with the calls counted independently."""
    torch.manual_seed(0)
    model = hookview.wrap(VisionTransformer(depth=2))
    loss_fn = hookview.wrap(nn.CrossEntropyLoss(), name="loss")
    step = training_step(model, loss_fn)
    calls, remove = count_calls(model)

    def two_steps() -> None:
        step()
        step()

    trace = record(two_steps)
    remove()
    hookview.unwrap(model)
    hookview.unwrap(loss_fn)
    return model, trace, {**calls, "loss": 2}


def test_there_is_one_forward_mark_per_call(recorded):
    _, trace, calls = recorded
    assert trace.paths("forward") == calls


def test_forward_marks_carry_the_class(recorded):
    model, trace, _ = recorded
    classes = {path: type(m).__name__ for path, m in model.named_modules()}
    classes["loss"] = "CrossEntropyLoss"
    assert {m.path: m.module_class for m, _ in trace.marks("forward")} == classes


def test_forward_marks_nest_as_the_modules_do(recorded):
    _, trace, _ = recorded
    marks = trace.marks("forward")
    for mark, span in marks:
        if mark.path in ("", "loss"):
            continue
        parent = mark.path.rpartition(".")[0]
        around = [m.path for m, outer in marks if outer.holds(span) and outer is not span]
        assert around.count(parent) == 1, mark.path
    assert not any(span.args.get("finished") is False for _, span in marks)


def test_every_trainable_parameter_is_marked_once_per_backward(recorded):
    model, trace, _ = recorded
    marked = [(m.path, m.parameter) for m, _ in trace.marks("gradient")]
    owned = [tuple(name.rpartition(".")[::2]) for name, _ in model.named_parameters()]
    assert sorted(marked) == sorted(owned * 2)


def test_gradient_marks_lie_inside_their_accumulation(recorded):
    _, trace, _ = recorded
    accumulations = trace.named(ACCUMULATE)
    marks = trace.marks("gradient")
    holding = [[a for a in accumulations if a.holds(span)] for _, span in marks]
    assert all(len(found) == 1 for found in holding)
    assert len({found[0].start for found in holding}) == len(accumulations)


def test_a_bare_profiler_gets_the_same_marks_but_those_around_a_backward():
    model = hookview.wrap(VisionTransformer(depth=1))
    loss_fn = hookview.wrap(nn.CrossEntropyLoss(), name="loss")
    step = training_step(model, loss_fn)
    ours, bare = record(step), record_bare(step)
    for kind in ("forward", "gradient"):
        assert bare.paths(kind) == ours.paths(kind)
    for kind in ("before backward", "after backward"):
        assert (bare.paths(kind), bool(ours.paths(kind))) == ({}, True)
    # A bare profiler takes the manifest at the start, when no cost has been measured and a device
    # may yet be used.
    later = {"cost_us", "only_cpu"}
    assert not later & bare.manifest.keys()
    for options in ours.manifest["options"]:
        options["attached"]["backward"] = 0
    assert bare.manifest == {k: v for k, v in ours.manifest.items() if k not in later}
    hookview.unwrap(model)
    hookview.unwrap(loss_fn)


def test_a_shared_module_keeps_its_first_name():
    shared = nn.Linear(4, 4)
    model = hookview.wrap(nn.Sequential(shared, nn.ReLU(), shared))
    trace = record(lambda: model(torch.ones(1, 4)).sum().backward())
    assert trace.paths("forward") == {"": 1, "0": 2, "1": 1}
    assert trace.paths("gradient") == {"0": 2}
    hookview.unwrap(model)


def test_a_tied_weight_belongs_to_its_first_owner():
    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 5, bias=False))
    model[1].weight = model[0].weight
    hookview.wrap(model)
    trace = record(lambda: model(torch.tensor([1, 2])).sum().backward())
    assert [(m.path, m.parameter) for m, _ in trace.marks("gradient")] == [("0", "weight")]
    hookview.unwrap(model)


def test_frozen_parameters_are_not_marked():
    model = hookview.wrap(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)))
    model[0].requires_grad_(False)
    trace = record(lambda: model(torch.ones(1, 4)).sum().backward())
    assert trace.paths("gradient") == {"1": 2}
    hookview.unwrap(model)


class Recursive(nn.Module):
    def forward(self, depth: int) -> int:
        return depth if depth == 0 else self(depth - 1)


def test_a_module_that_calls_itself_has_a_range_per_call():
    model = hookview.wrap(Recursive())
    trace = record(lambda: model(3))
    spans = [span for _, span in trace.marks("forward")]
    assert len(spans) == 4
    ordered = sorted(spans, key=lambda span: span.start)
    assert all(outer.holds(inner) for outer, inner in pairwise(ordered))
    hookview.unwrap(model)


class CallsForItself(nn.Linear):
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return self._call_impl(x)


def test_a_class_with_a_call_of_its_own_is_marked():
    model = hookview.wrap(nn.Sequential(CallsForItself(4, 4)))
    trace = record(lambda: model(torch.ones(1, 4)))
    assert trace.paths("forward") == {"": 1, "0": 1}
    hookview.unwrap(model)


@pytest.mark.parametrize("name", ['we"ird näme', "back\\slash", "tab\there", "100%", "日本", " "])
def test_any_name_comes_back_from_marks_and_manifest(name):
    model = nn.Module()
    model.add_module(name, nn.Linear(2, 2))
    model.forward = lambda x: model._modules[name](x)
    hookview.wrap(model)
    trace = record(lambda: model(torch.ones(1, 2)).sum().backward())
    assert trace.paths("forward") == {"": 1, name: 1}
    assert trace.paths("gradient") == {name: 2}
    assert [row["path"] for row in trace.manifest["modules"]] == ["", name]
    hookview.unwrap(model)
    del model.forward


class Interrupts(nn.Module):
    def __init__(self, error: BaseException | None) -> None:
        super().__init__()
        self.inner = nn.Identity()
        self.error = error

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.error is not None:
            raise self.error
        return self.inner(x)


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_ranges_close_when_forward_raises(error):
    model = hookview.wrap(nn.Sequential(nn.Identity(), Interrupts(error)))

    def run() -> None:
        with pytest.raises(type(error)):
            model(torch.ones(1))
        model[1].error = None
        model(torch.ones(1))

    trace = record(run)
    outer = [span for mark, span in trace.marks("forward") if mark.path == ""]
    assert trace.paths("forward") == {"": 2, "0": 2, "1": 2, "1.inner": 1}
    assert _innermost(trace, _last(trace, "1.inner")) == ["", "1", "1.inner"]
    assert isinstance(error, KeyboardInterrupt) or outer[0].end <= outer[1].start
    hookview.unwrap(model)


def _last(trace: Trace, path: str) -> Span:
    return max((s for m, s in trace.marks("forward") if m.path == path), key=lambda s: s.start)


def _innermost(trace: Trace, span: Span) -> list[str]:
    """Paths of the marks around a span that started last for their path, outermost first."""
    around = [(s.start, m.path) for m, s in trace.marks("forward") if s.holds(span)]
    return list(dict.fromkeys(path for _, path in sorted(around)))


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpointing_marks_the_recomputation_too(reentrant):
    model = hookview.wrap(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)))
    x = torch.ones(2, 4, requires_grad=True)

    def run() -> None:
        checkpoint = torch.utils.checkpoint.checkpoint
        checkpoint(model, x, use_reentrant=reentrant).sum().backward()

    trace = record(run)
    assert trace.paths("forward") == {"": 2, "0": 2, "1": 2, "2": 2}
    spans = [span for mark, span in trace.marks("forward") if mark.path == ""]
    assert all(span.end < max(s.end for s in trace.spans) for span in spans)
    hookview.unwrap(model)


def test_forward_markers_leave_forward_ranges_only():
    model = hookview.wrap(nn.Sequential(nn.Linear(4, 4)), markers="forward")
    trace = record(lambda: model(torch.ones(1, 4)).sum().backward())
    assert trace.paths("forward") == {"": 1, "0": 1}
    assert trace.marks("gradient") == []
    hookview.unwrap(model)


def test_module_markers_surround_the_backward():
    model = hookview.wrap(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)), markers="module")
    x = torch.ones(1, 4, requires_grad=True)
    trace = record(lambda: model(x).sum().backward())
    for kind in ("forward", "before backward", "after backward"):
        assert trace.paths(kind) == {"": 1, "0": 1, "1": 1}
    at = {
        (m.kind, m.path): s.start
        for k in ("before backward", "after backward")
        for m, s in trace.marks(k)
    }
    node = {
        s.args["Sequence number"]: s.start
        for s in trace.spans
        if s.name.endswith("evaluate_function: AddmmBackward0")
    }
    first, second = node[min(node)], node[max(node)]
    assert at["before backward", "1"] < second < at["after backward", "1"]
    assert at["before backward", "0"] < first < at["after backward", "0"]
    hookview.unwrap(model)
    assert model[0]._is_full_backward_hook is None


def test_a_users_hook_added_while_recording_keeps_the_kind_that_torch_noted():
    """torch refuses hooks of the other kind by it."""
    model = hookview.wrap(nn.Sequential(nn.Linear(4, 4)), markers="module")
    handles = []
    record(lambda: handles.append(model[0].register_full_backward_hook(lambda *_: None)))
    assert model[0]._is_full_backward_hook is True
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"):
        model[0].register_backward_hook(lambda *_: None)
    hookview.unwrap(model)


def decoded(trace: Trace, kind: str) -> list[Mark]:
    return [mark for mark, _ in trace.marks(kind)]


@pytest.mark.parametrize(
    ("options", "paths"),
    [
        ({"depth": 0}, {""}),
        ({"depth": 1}, {"", "0", "1"}),
        ({"include": ["1*"]}, {"1", "1.0", "1.1"}),
        ({"include": [nn.ReLU, "0"]}, {"0", "1.1"}),
        ({"exclude": nn.Linear}, {"", "1", "1.1"}),
        ({"include": "1.*", "exclude": ["*.1"]}, {"1.0"}),
        ({"include": "."}, {""}),
    ],
)
def test_options_choose_what_is_marked(options, paths):
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    hookview.wrap(model, **options)
    trace = record(lambda: model(torch.ones(1, 4)).sum().backward())
    assert set(trace.paths("forward")) == paths
    hookview.unwrap(model)


def test_an_unmarked_owner_leaves_its_parameters_to_the_module_above():
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4)))
    hookview.wrap(model, depth=1)
    trace = record(lambda: model(torch.ones(1, 4)).sum().backward())
    assert {(m.path, m.parameter) for m in decoded(trace, "gradient")} == {
        ("0", "weight"),
        ("0", "bias"),
        ("1", "0.weight"),
        ("1", "0.bias"),
    }
    hookview.unwrap(model)


@pytest.mark.parametrize(
    "register",
    [
        lambda module, hook: module.register_forward_pre_hook(hook),
        lambda module, hook: module.register_forward_hook(hook),
        lambda module, hook: module.register_full_backward_pre_hook(hook),
        lambda module, hook: module.register_full_backward_hook(hook),
        lambda _, hook: register_module_forward_pre_hook(hook),
        lambda _, hook: register_module_forward_hook(hook),
        lambda _, hook: register_module_full_backward_pre_hook(hook),
        lambda _, hook: register_module_full_backward_hook(hook),
    ],
)
def test_a_hook_that_comes_while_recording_is_called(register):
    model = hookview.wrap(nn.Sequential(nn.Linear(4, 4)))
    seen: list[nn.Module] = []

    def run() -> None:
        model(torch.ones(1, 4))
        handle = register(model[0], lambda module, *_: seen.append(module))
        model(torch.ones(1, 4)).sum().backward()
        handle.remove()
        model(torch.ones(1, 4)).sum().backward()

    trace = record(run)
    assert seen.count(model[0]) == 1
    assert trace.paths("forward") == {"": 3, "0": 3}
    hookview.unwrap(model)


def test_a_forward_that_is_replaced_while_recording_is_the_one_called():
    model = hookview.wrap(nn.Sequential(nn.Tanh()))
    seen: list[torch.Tensor] = []

    def run() -> None:
        model(torch.ones(1))
        model[0].forward = lambda x: x + 1
        seen.append(model(torch.ones(1)))

    assert record(run).paths("forward") == {"": 2, "0": 2}
    assert seen[0].item() == 2
    hookview.unwrap(model)
