"""Recording from outside: which modules are wrapped, which steps count, what is left."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from support.recording import Trace, hooks_below, only_trace
from torch import nn
from torch.optim import SGD, Optimizer

import tb_hookview as hookview
from tb_hookview.recorder import roots
from tb_hookview.recorder.auto_record import Plan, TrainingRecorder

Start = Callable[..., TrainingRecorder]


@pytest.fixture
def lines() -> list[str]:
    """The lines for the user."""
    return []


@pytest.fixture
def start(tmp_path: Path, lines: list[str]) -> Iterator[Start]:
    """Begins to watch; whatever happens in the test, nothing of it stays."""
    begun: list[TrainingRecorder] = []
    replaced = [(Optimizer, "profile_hook_step"), (torch.profiler.profile, "prepare_trace")]
    before = [getattr(*pair) for pair in replaced]

    def begin(say: Callable[[str], None] = lines.append, **plan: Any) -> TrainingRecorder:
        recorder = TrainingRecorder(Plan(tmp_path, **{"wait": 1, "active": 1, **plan}), say)
        recorder.begin()
        begun.append(recorder)
        return recorder

    yield begin
    for recorder in begun:
        recorder.end()
    assert [getattr(*pair) for pair in replaced] == before


def optimizer_of(*modules: nn.Module) -> Optimizer:
    return optimizer_for([p for module in modules for p in module.parameters()])


def optimizer_for(parameters: list[nn.Parameter]) -> Optimizer:
    """An optimizer of a class that is new to torch, as in a script's process."""

    class Fresh(SGD):
        def step(self, closure: Any = None) -> Any:
            return super().step(closure)

    return Fresh(parameters, lr=0.1)


def train(
    optimizer: Optimizer, forward: Callable[[torch.Tensor], torch.Tensor], steps: int
) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        forward(torch.ones(2, 4)).sum().backward()
        optimizer.step()


def wrapped() -> dict[str, str]:
    return {root.path: type(module).__name__ for root, module in roots.alive()}


class Scale(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / 2


class Criterion(nn.Module):
    def forward(self, outputs: dict[str, Any]) -> torch.Tensor:
        return outputs["all"][0].square()


def test_the_model_and_what_gradients_flow_through_are_wrapped(start, lines, tmp_path):
    start()
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    transform, criterion, idle = Scale(), Criterion(), Criterion()
    optimizer = optimizer_of(model)
    train(optimizer, lambda x: criterion({"all": [model(transform(x))]}), 2)
    assert wrapped() == {"": "Sequential", "Criterion": "Criterion"}
    train(optimizer, lambda x: criterion({"all": [model(transform(x))]}), 1)
    assert wrapped() == {}
    assert [hooks_below(m) for m in (model, transform, criterion, idle)] == [[]] * 4
    trace = only_trace(tmp_path)
    assert trace.paths("forward") == {"": 1, "0": 1, "1": 1, "Criterion": 1}
    assert len(trace.named("ProfilerStep#2")) == 1
    assert lines[:3] == [
        "wrapped Sequential (20 parameters)",
        "recording steps 3 to 3 of Fresh",
        "wrapped Criterion",
    ]


def test_a_range_of_an_optimizer_lies_within_one_step(start, tmp_path):
    start(active=2, repeat=2)
    model = nn.Linear(4, 4)
    train(optimizer_of(model), model, 8)
    for path in sorted(tmp_path.glob("*.gz")):
        trace = Trace(path)
        steps = [span for span in trace.spans if span.name.startswith("ProfilerStep#")]
        ranges = [span for span in trace.spans if span.name.startswith("Optimizer.step#")]
        assert len(steps) == 2
        assert [sum(step.holds(each) for step in steps) for each in ranges] == [1] * len(ranges)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    "enclose", [nn.DataParallel, lambda m: nn.ModuleDict({"net": m, "loss": nn.MSELoss()})]
)
def test_the_outermost_module_is_wrapped_but_no_data_parallelism(start, enclose):
    start()
    model = nn.Linear(4, 4)
    outer = enclose(model)
    copied = copy.deepcopy(model)
    train(optimizer_of(model), model, 1)
    assert wrapped() == {"": "Linear" if isinstance(outer, nn.DataParallel) else "ModuleDict"}
    assert hooks_below(copied) == []


def test_several_models_and_several_optimizers(start):
    start()
    first, second, third = nn.Linear(4, 4), nn.Bilinear(4, 4, 4), nn.PReLU()
    together, other = optimizer_of(first, second), optimizer_of(third)
    other.add_param_group({"params": [nn.Parameter(torch.zeros(1))]})  # of no module
    train(together, lambda x: second(first(x), x), 1)
    train(other, third, 1)
    assert wrapped() == {each: each for each in ("Bilinear", "Linear", "PReLU")}


def test_the_steps_are_those_of_one_optimizer_and_of_the_next_when_that_is_gone(start, tmp_path):
    start(wait=3)
    model = nn.Linear(4, 4)
    optimizer, other = optimizer_of(model), optimizer_of(nn.Linear(4, 4))
    train(optimizer, model, 2)
    train(other, model, 5)
    assert list(tmp_path.iterdir()) == []
    del optimizer
    train(other, model, 3)
    assert len(only_trace(tmp_path).named("ProfilerStep#4")) == 1


def test_of_optimizers_in_optimizers_the_outermost_counts(start, lines):
    class Lookahead(SGD):
        def step(self, closure: Any = None) -> None:
            for _ in range(5):
                inner.step(closure)

    start(wait=2)
    model = nn.Linear(4, 4)
    inner = optimizer_of(model)
    train(Lookahead(model.parameters(), lr=0.1), model, 2)
    assert lines == ["wrapped Linear (20 parameters)", "recording steps 4 to 4 of Lookahead"]


def test_steps_inside_a_backward_and_in_other_threads_are_left_alone(start, lines):
    start()
    model = nn.Linear(4, 4)
    optimizer = optimizer_of(model)
    thread = threading.Thread(target=train, args=(optimizer, model, 5))
    thread.start()
    thread.join()
    model.bias.register_post_accumulate_grad_hook(lambda _: optimizer.step())
    for _ in range(5):
        model(torch.ones(2, 4)).sum().backward()
    assert (lines, wrapped()) == ([], {})


def test_where_all_steps_are_inside_a_backward_that_is_the_reason(start, lines):
    recorder, weight = start(), nn.Parameter(torch.ones(1))
    optimizer = optimizer_for([weight])
    weight.register_post_accumulate_grad_hook(lambda _: optimizer.step())
    weight.sum().backward()
    recorder.end()
    assert "step inside the backward pass" in lines[-1]


def test_the_search_for_a_further_model_is_no_part_of_a_step(start, monkeypatch):
    recorder, first, second = start(wait=3), nn.Linear(4, 4), nn.Linear(4, 4)
    clock = optimizer_of(first)
    train(clock, first, 1)
    left_out: list[int] = []
    assert recorder._profiler is not None
    monkeypatch.setattr(recorder._profiler, "leave_out", left_out.append)
    train(optimizer_of(second), second, 1)
    train(clock, first, 1)
    assert len(left_out) == 1


def test_what_is_in_no_module_is_recorded_without_names(start, lines, tmp_path):
    start()
    weight = nn.Parameter(torch.ones(4))
    train(optimizer_for([weight]), lambda x: x * weight, 3)
    assert lines[0] == "no module holds what Fresh trains; the recording has no module names"
    assert only_trace(tmp_path).paths("forward") == {}


def test_a_loss_that_is_watched_can_be_copied_and_pickled(start):
    start(wait=2)
    model, loss = nn.Linear(4, 4), Scale()
    train(optimizer_of(model), lambda x: loss(model(x)), 1)
    for twin in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert torch.equal(twin(torch.ones(1)), torch.ones(1) / 2)


def test_a_module_that_the_script_wrapped_stays_wrapped(start, tmp_path):
    start()
    model = hookview.wrap(nn.Linear(4, 4), name="mine")
    train(optimizer_of(model), model, 3)
    assert wrapped() == {"mine": "Linear"}
    assert only_trace(tmp_path).paths("forward") == {"mine": 1}
    hookview.unwrap(model)


def test_a_scripted_model_is_recorded_without_marks(start, lines, tmp_path):
    start()
    model = torch.jit.trace(nn.Linear(4, 4), torch.ones(2, 4))
    train(optimizer_of(model), model, 3)
    assert any("gets no marks: " in line for line in lines)
    assert only_trace(tmp_path).paths("forward") == {}


def test_a_training_that_is_too_short_is_reported_in_one_line(start, lines, tmp_path):
    recorder = start(wait=5)
    model = nn.Linear(4, 4)
    train(optimizer_of(model), model, 4)
    recorder.end()
    assert lines[2:] == [
        "nothing was recorded: the script took 4 optimizer steps, and the recording begins with "
        "step 7; --wait 5 can be lowered to 1"
    ]
    assert list(tmp_path.iterdir()) == []


def test_on_other_ranks_nothing_happens(start, lines, tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    recorder = start(ranks=frozenset([0]))
    model = nn.Linear(4, 4)
    train(optimizer_of(model), model, 4)
    recorder.end()
    assert (lines, list(tmp_path.iterdir())) == ([], [])


def test_a_fault_of_ours_is_a_warning_and_the_training_goes_on(start, expected_fault):
    def closed(_: str) -> None:
        raise ValueError("I/O operation on closed file")

    start(say=closed)
    model = nn.Linear(4, 4)
    with pytest.warns(RuntimeWarning, match="recording the training failed"):
        train(optimizer_of(model), model, 4)
    assert hooks_below(model) == []
