"""Ranges around gradient scaling and clipping: reached, closed, harmless, and gone afterwards."""

from __future__ import annotations

import inspect
import pickle
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from support.recording import Trace, record_bare
from support.recording import record as record_profile
from torch import nn
from torch.nn.utils import clip_grad, clip_grad_norm_, clip_grad_value_

import tb_hookview as hookview
from tb_hookview.markers import FUNCTION
from tb_hookview.recorder import functions
from tb_hookview.recorder.costs import Costs
from tb_hookview.recorder.functions import Handle
from tb_hookview.recorder.hooks import OpenCalls
from tb_hookview.recorder.ranges import RecordingState

IN_TWO_PARTS = hasattr(clip_grad, "_get_total_norm")
"""Clipping by norm, since torch 2.6."""
NORMS = [
    f"torch.nn.utils.{name}"
    for name in (
        ("get_total_norm", "clip_grads_with_norm_") if IN_TWO_PARTS else ("clip_grad_norm_",)
    )
]
VALUE = "torch.nn.utils.clip_grad_value_"
UNSCALE, STEP, UPDATE = (f"torch.amp.GradScaler.{name}" for name in ("unscale_", "step", "update"))
PLACES = [
    (torch.amp.GradScaler, "unscale_"),
    (torch.amp.GradScaler, "_maybe_opt_step"),
    (torch.amp.GradScaler, "update"),
    *(
        (getattr(clip_grad, name).__closure__[0], "cell_contents")
        for name in (functions._CLIPPING if IN_TWO_PARTS else functions._OLD_CLIPPING)
    ),
]


def held() -> list[Any]:
    return [getattr(owner, attribute) for owner, attribute in PLACES]


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    before = held()
    yield
    assert all(now is then for now, then in zip(held(), before, strict=True))


@contextmanager
def attached() -> Iterator[list[Handle]]:
    handles = functions.attach(OpenCalls(RecordingState(by_profile=False)), Costs())
    try:
        yield handles
    finally:
        for handle in handles:
            handle.remove()


def record(run: Callable[[], object]) -> Trace:
    with attached():
        return record_bare(run)


class Training:
    """Steps with scaled, unscaled and twice clipped gradients; everything they compute is saved."""

    def __init__(self) -> None:
        torch.manual_seed(1)
        self.net = nn.Linear(4, 4)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cpu", growth_interval=1)
        self.seen: list[Any] = []

    def step(self) -> None:
        self.optimizer.zero_grad()
        self.scaler.scale(self.net(torch.ones(2, 4)).sum()).backward()
        self.seen.append(self.scaler.unscale_(self.optimizer))
        self.seen.append(clip_grad_norm_(self.net.parameters(), 0.5))
        self.seen.append(clip_grad_value_(self.net.parameters(), 0.1))
        self.seen.append(self.scaler.step(self.optimizer))
        self.seen.append(self.scaler.update())
        self.seen += [p.grad.clone() for p in self.net.parameters()]
        self.seen += [p.detach().clone() for p in self.net.parameters()]
        self.seen.append(self.scaler.get_scale())


def test_every_call_leaves_one_range():
    training = Training()
    trace = record(lambda: [training.step() for _ in range(3)])
    assert trace.paths("call") == dict.fromkeys([UNSCALE, *NORMS, VALUE, STEP, UPDATE], 3)
    marks = trace.marks("call")
    assert {(mark.module_class, mark.parameter) for mark, _ in marks} == {(FUNCTION, None)}


def test_a_recording_of_a_wrapped_model_has_them_and_takes_them_off():
    training = Training()
    hookview.wrap(training.net)
    trace = record_profile(training.step)
    assert trace.paths("call") == Counter([UNSCALE, *NORMS, VALUE, STEP, UPDATE])
    assert record_bare(training.step).paths("call") == trace.paths("call")
    training.net(torch.ones(2, 4))  # a bare recording is seen to be over when the root is called
    hookview.unwrap(training.net)


def test_unscaling_within_a_step_and_torchs_own_row_of_the_step_are_there():
    training = Training()

    def step() -> None:
        training.scaler.scale(training.net(torch.ones(2, 4)).sum()).backward()
        training.scaler.step(training.optimizer)
        training.scaler.update()

    trace = record(step)
    assert trace.paths("call") == {UNSCALE: 1, STEP: 1, UPDATE: 1}
    ((_, outer),) = [pair for pair in trace.marks("call") if pair[0].path == STEP]
    (inner,) = trace.named("Optimizer.step#SGD.step")
    assert outer.holds(inner)


def test_torch_names_what_is_left_to_it():
    training = Training()
    batches = torch.utils.data.DataLoader(torch.ones(2, 4))
    trace = record(lambda: [training.step() for _ in batches])
    assert len(trace.named("Optimizer.step#SGD.step")) == 2
    assert len(trace.named("Optimizer.zero_grad#SGD.zero_grad")) == 2
    assert trace.named("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__")


def test_the_older_scaler_is_marked_too():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scaler = torch.cuda.amp.GradScaler()
    assert record(lambda: scaler.update()).paths("call") == {UPDATE: 1}


def test_everything_computed_is_the_same_bit_for_bit():
    plain, marked = Training(), Training()
    for _ in range(3):
        plain.step()
    record(lambda: [marked.step() for _ in range(3)])
    assert len(plain.seen) == len(marked.seen)
    for left, right in zip(plain.seen, marked.seen, strict=True):
        assert torch.equal(left, right) if isinstance(left, torch.Tensor) else left == right


def test_an_exception_passes_and_its_range_is_closed():
    net = nn.Linear(2, 2)
    net.weight.grad = torch.full((2, 2), float("inf"))

    def run() -> None:
        with pytest.raises(RuntimeError, match="non-finite"):
            clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True)
        clip_grad_value_(net.parameters(), 1.0)

    trace = record(run)
    assert trace.paths("call") == Counter([NORMS[0], VALUE])
    (_, first), (_, second) = trace.marks("call")
    assert first.end <= second.start


def places_of_torchs_warnings() -> list[tuple[str, str]]:
    training = Training()
    training.scaler.scale(training.net(torch.ones(2, 4)).sum()).backward()

    class Older(torch.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, *_: Any, grad_scaler: Any = None) -> None:
            assert grad_scaler is training.scaler

    older = Older(training.net.parameters(), lr=0.1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clip_grad_norm_((p for p in ()), 1.0)  # torch 2.6 does not warn of that
        training.scaler.step(older)
    return [(w.filename, str(w.message)) for w in caught]


def test_a_warning_of_torchs_still_points_at_the_caller():
    plain = places_of_torchs_warnings()
    assert plain
    with attached():
        assert places_of_torchs_warnings() == plain


def test_what_is_public_stays_the_object_it_is():
    public = (clip_grad_norm_, clip_grad_value_)
    signatures = [inspect.signature(function) for function in public]
    with attached():
        assert public == (nn.utils.clip_grad_norm_, nn.utils.clip_grad_value_)
        assert not IN_TWO_PARTS or nn.utils.get_total_norm is clip_grad._get_total_norm
        assert [inspect.signature(function) for function in public] == signatures
        assert pickle.loads(pickle.dumps(clip_grad_value_)) is clip_grad_value_


@pytest.mark.parametrize("name", ["unscale_", "update"])
def test_a_marked_method_looks_like_the_original(name):
    original = getattr(torch.amp.GradScaler, name)
    signature = inspect.signature(original)
    with attached():
        marked = getattr(torch.amp.GradScaler, name)
        assert marked is not original
        assert inspect.unwrap(marked) is original
        assert inspect.signature(marked) == signature
        for attribute in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__"):
            assert getattr(marked, attribute) == getattr(original, attribute)


def test_a_scaler_is_pickled_as_ever():
    scaler = Training().scaler
    plain = pickle.dumps(scaler)
    with attached():
        assert pickle.dumps(scaler) == plain
        assert pickle.loads(plain).state_dict() == scaler.state_dict()


def test_what_others_put_around_ours_stays_and_ours_passes_through(monkeypatch):
    training = Training()
    with attached():
        ours = torch.amp.GradScaler.update
        theirs = lambda scaler: ours(scaler)  # noqa: E731
        monkeypatch.setattr(torch.amp.GradScaler, "update", theirs)
    assert torch.amp.GradScaler.update is theirs
    training.scaler.scale(training.net(torch.ones(2, 4)).sum()).backward()
    training.scaler.step(training.optimizer)
    assert record_bare(training.scaler.update).paths("call") == {}
    monkeypatch.undo()
    torch.amp.GradScaler.update = inspect.unwrap(torch.amp.GradScaler.update)


def test_clipping_by_norm_is_marked_in_one_where_torch_has_it_in_one():
    older = types.SimpleNamespace(clip_grad_norm_=clip_grad_norm_, clip_grad_value_=abs)
    older.clip_grad_value_ = lambda: None
    found = list(functions._clipping_functions(older))
    cell = clip_grad_norm_.__closure__[0]
    assert found == [((cell, "cell_contents"), "torch.nn.utils.clip_grad_norm_")]


@contextmanager
def stand_ins() -> Iterator[None]:
    originals = held()
    for (owner, attribute), function in zip(PLACES, originals, strict=True):
        parts = (function.__code__, function.__globals__, function.__name__)
        copy = types.FunctionType(*parts, function.__defaults__, function.__closure__)
        setattr(owner, attribute, copy)
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()
    for (owner, attribute), function in zip(PLACES, originals, strict=True):
        setattr(owner, attribute, function)


@pytest.fixture
def unknown_to_the_compiler() -> Iterator[None]:
    """Stand-ins for the functions, since what was once compiled with is left alone for good."""
    with stand_ins():
        yield


def clip_both(parameters: list[nn.Parameter]) -> torch.Tensor:
    clip_grad_value_(parameters, 0.5)
    return clip_grad_norm_(parameters, 1.0)


def scale_and_update(scaler: torch.amp.GradScaler, optimizer: torch.optim.Optimizer) -> None:
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()


def compilations() -> tuple[int, int]:
    counters = torch._dynamo.utils.counters
    return counters["stats"]["unique_graphs"], sum(counters["graph_break"].values())


def compiles_without_us(parameters: list[nn.Parameter]) -> bool:
    with stand_ins():
        try:
            torch.compile(clip_both, backend="aot_eager", fullgraph=True)(parameters)
        except torch._dynamo.exc.Unsupported:
            return False
    return True


@pytest.mark.parametrize("warm", [True, False], ids=["compiled before", "compiled meanwhile"])
def test_compiled_clipping_is_compiled_once(unknown_to_the_compiler, warm):
    net = nn.Linear(4, 4)
    net(torch.ones(2, 4)).sum().backward()
    parameters = list(net.parameters())
    if not compiles_without_us(parameters):
        pytest.skip("this torch cannot compile clipping without a graph break")
    graphs, breaks = compilations()
    call = torch.compile(clip_both, backend="aot_eager", fullgraph=True)
    if warm:
        call(parameters)
    for _ in range(2):
        assert record(lambda: call(parameters)).paths("call") == {}
        call(parameters)
    assert compilations() == (graphs + 1, breaks)


def test_other_compiled_code_keeps_nothing_from_being_marked(unknown_to_the_compiler):
    net = torch.compile(nn.Linear(4, 4), backend="aot_eager")
    net(torch.ones(2, 4)).sum().backward()
    trace = record(lambda: clip_both(list(net.parameters())))
    assert trace.paths("call") == Counter([VALUE, *NORMS])


def scaled_steps(recording: bool) -> tuple[int, int]:
    torch._dynamo.reset()
    training = Training()
    before = compilations()
    call = torch.compile(scale_and_update, backend="aot_eager")

    def step() -> None:
        training.scaler.scale(training.net(torch.ones(2, 4)).sum()).backward()
        call(training.scaler, training.optimizer)

    step()
    record(step) if recording else step()
    step()
    after = compilations()
    return after[0] - before[0], after[1] - before[1]


def test_a_compiled_step_with_a_scaler_is_compiled_as_often_as_ever(unknown_to_the_compiler):
    assert scaled_steps(recording=True) == scaled_steps(recording=False)
