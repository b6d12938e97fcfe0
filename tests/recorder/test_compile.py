"""`torch.compile`: a compiled region is marked as a whole and not compiled again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch
from support.attribution import assert_attributed
from support.harmless import execute, same
from support.recording import hooks_below, record
from torch import nn

import tb_hookview as hookview
from tb_hookview.recorder import roots
from tb_hookview.recorder.compiled import inlined


class Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(x)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.act, self.head = nn.Linear(8, 8), nn.ReLU(), Head()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.act(self.first(x)))

    def __len__(self) -> int:
        return 0


def compiled(target: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    return torch.compile(target, backend="aot_eager")


def step(call: Callable[..., torch.Tensor]) -> None:
    call(torch.ones(2, 8)).sum().backward()


class Compilations:
    def __init__(self) -> None:
        self.before = self._now()

    def _now(self) -> tuple[int, int]:
        counters = torch._dynamo.utils.counters
        return counters["stats"]["unique_graphs"], sum(counters["graph_break"].values())

    def since(self) -> tuple[int, int]:
        graphs, breaks = self._now()
        return graphs - self.before[0], breaks - self.before[1]


@pytest.fixture(autouse=True)
def fresh_compiler() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@contextmanager
def wrapped(module: nn.Module) -> Iterator[None]:
    hookview.wrap(module)
    try:
        yield
    finally:
        hookview.unwrap(module)


def compiled_model() -> tuple[nn.Module, Callable[..., torch.Tensor]]:
    whole = compiled(Net())
    return whole, whole


def compiled_in_place() -> tuple[nn.Module, Callable[..., torch.Tensor]]:
    net = Net()
    net.compile(backend="aot_eager")
    return net, net


def compiled_part() -> tuple[nn.Module, Callable[..., torch.Tensor]]:
    net = Net()
    net.head = compiled(net.head)
    return net, net


def compiled_part_in_place() -> tuple[nn.Module, Callable[..., torch.Tensor]]:
    net = Net()
    net.head.compile(backend="aot_eager")
    return net, net


MAKES = [compiled_model, compiled_in_place, compiled_part, compiled_part_in_place]
WHOLE = {"": 1}
PART = {"": 1, "first": 1, "act": 1, "head": 1}


@pytest.mark.parametrize("warm", [True, False], ids=["compiled before", "compiled meanwhile"])
@pytest.mark.parametrize(
    ("make", "calls"),
    [
        (compiled_model, WHOLE),
        (compiled_in_place, WHOLE),
        (compiled_part, PART),
        (compiled_part_in_place, PART),
    ],
)
def test_a_compiled_region_is_marked_as_a_whole(make, calls, warm):
    module, call = make()
    compilations = Compilations()
    with wrapped(module):
        if warm:
            step(call)
        trace = record(lambda: step(call))
        step(call)
        assert trace.paths("forward") == calls
        assert sum(trace.paths("gradient").values()) == 4
        assert compilations.since() == (1, 0)
    assert hooks_below(module) == []


def test_the_class_shown_is_the_compiled_modules_own():
    module, call = compiled_model()
    with wrapped(module):
        ((mark, _),) = record(lambda: step(call)).marks("forward")
    assert mark.module_class == "Net"


def compile_model(net: nn.Module) -> Callable[..., torch.Tensor]:
    return compiled(net)


def compile_function(net: nn.Module) -> Callable[..., torch.Tensor]:
    return compiled(lambda x: net(x) * 2)


@pytest.mark.parametrize("compile_it", [compile_model, compile_function])
def test_compiling_a_wrapped_model_costs_no_second_compilation(compile_it):
    net = Net()
    with wrapped(net):
        compilations = Compilations()
        call = compile_it(net)
        step(call)
        record(lambda: step(call))
        step(call)
        assert compilations.since() == (1, 0)


def test_a_model_compiled_after_it_was_wrapped_is_marked_as_a_whole():
    net = Net()
    compilations = Compilations()
    with wrapped(net):
        call = compile_model(net)
        step(call)
        trace = record(lambda: step(call))
        step(call)
        assert trace.paths("forward") == {"": 1}
        assert "compiled" not in trace.manifest
        assert compilations.since() == (1, 0)
    assert hooks_below(call) == []


def test_a_model_compiled_twice_after_it_was_wrapped_is_marked():
    net = Net()
    with wrapped(net):
        calls = [compile_model(net), compile_model(net)]
        step(calls[0])
        assert record(lambda: step(calls[1])).paths("forward") == {"": 1}


def test_a_compiled_model_and_what_was_compiled_are_both_marked_once():
    net = Net()
    with wrapped(net):
        call = compile_model(net)
        trace = record(lambda: (step(call), step(net)))
    assert trace.paths("forward") == {"": 2, "first": 1, "act": 1, "head": 1, "head.fc": 1}


@pytest.mark.parametrize("warm", [False, True])
def test_a_model_that_a_compiled_function_calls_is_warned_of_and_in_the_manifest(warm):
    net = Net()
    with wrapped(net):
        call = compile_function(net)
        if warm:
            step(call)
        with pytest.warns(UserWarning, match="compiled into the code that calls it"):
            trace = record(lambda: step(call))
        assert trace.paths("forward") == {}
        assert trace.manifest["compiled"] == [""]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            record(lambda: step(call))  # once is enough


def test_modules_with_hooks_are_warned_of_where_code_was_compiled_unseen(monkeypatch):
    """It may hold them, and would be compiled again if they got more hooks."""
    monkeypatch.setattr(inlined, "_unseen", True)
    net = Net()
    net.first.register_forward_hook(lambda *_: None)
    with wrapped(net), pytest.warns(UserWarning, match="before hookview.wrap.. and may hold them"):
        trace = record(lambda: step(net))
    assert trace.paths("forward") == {"": 1, "act": 1, "head": 1, "head.fc": 1}


@pytest.mark.filterwarnings("error:tb_hookview:UserWarning")
def test_compiling_first_and_in_place_is_not_warned_of():
    for make in MAKES:
        module, call = make()
        with wrapped(module):
            step(call)
            assert "compiled" not in record(lambda call=call: step(call)).manifest
    net = Net()
    with wrapped(net):
        net.compile(backend="aot_eager")
        step(net)
        trace = record(lambda: step(net))
        assert "compiled" not in trace.manifest
        assert trace.paths("forward") == {"": 1}


@pytest.mark.parametrize(
    ("make", "compiled_paths"),
    [
        (compiled_model, ["first", "act", "head", "head.fc"]),
        (compiled_in_place, ["first", "act", "head", "head.fc"]),
        (compiled_part, ["head.fc"]),
        (compiled_part_in_place, ["head.fc"]),
    ],
)
def test_the_manifest_lists_what_is_inside_a_compiled_region(make, compiled_paths):
    module, call = make()
    with wrapped(module):
        modules = record(lambda: step(call)).manifest["modules"]
    assert [row["path"] for row in modules if row.get("compiled")] == compiled_paths
    assert not any(row["marked"] for row in modules if row.get("compiled"))


def compile_forward(net: nn.Module) -> Callable[..., torch.Tensor]:
    net.forward = compiled(net.forward)
    return net


def compile_a_helper(net: nn.Module) -> Callable[..., torch.Tensor]:
    helper = compiled(lambda x: net.head(net.act(x)))
    net.forward = lambda x: helper(net.first(x))
    return net


@pytest.mark.parametrize("warm", [True, False], ids=["compiled before", "compiled meanwhile"])
@pytest.mark.parametrize("compile_it", [compile_forward, compile_a_helper])
def test_a_function_compiled_around_modules_is_compiled_once(compile_it, warm):
    net = Net()
    call = compile_it(net)
    compilations = Compilations()
    with wrapped(net):
        if warm:
            step(call)
        trace = record(lambda: step(call))
        step(call)
    assert trace.paths("forward")[""] == 1
    assert compilations.since() == (1, 0)
    del net.forward


@pytest.mark.parametrize("make", MAKES)
def test_outputs_and_gradients_of_a_compiled_model_are_the_same(make):
    _, plain = make()
    module, call = make()
    call.load_state_dict(plain.state_dict())
    expected = execute(plain, train)
    found = []
    with wrapped(module):
        found.append(execute(call, train))
        record(lambda: found.append(execute(call, train)))
        found.append(execute(call, train))
    for results in found:
        assert all(map(same, expected, results))


def train(call: nn.Module) -> torch.Tensor:
    out = call(torch.randn(2, 8))
    out.sum().backward()
    return out


@pytest.mark.filterwarnings("ignore:Using `torch.compile:UserWarning")  # the truth's own hooks
@pytest.mark.parametrize("make", MAKES)
def test_a_compiled_regions_nodes_go_to_the_module_compiled(make):
    module, call = make()
    step(call)
    verdict = assert_attributed(module, train)
    whole = make in (compiled_model, compiled_in_place)
    in_forward = {"": 1} if whole else {"first": 1, "act": 1, "head": 1}
    assert all(verdict.found[path] > 0 for path in in_forward)


def test_compiled_autograd_changes_nothing_and_compiles_once_more_to_record():
    """It compiles the hooks on parameters too; nothing else makes it compile again."""
    if not hasattr(torch._dynamo.compiled_autograd, "_enable"):
        pytest.skip("this torch has no such switch for compiled autograd")
    model = nn.Sequential(nn.Linear(8, 8), nn.Tanh())

    def run(model: nn.Module) -> torch.Tensor:
        with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")):
            return train(model)

    expected = execute(model, run)
    compilations = Compilations()
    found = []
    with wrapped(model):
        found.append(execute(model, run))
        assert compilations.since() == (0, 0)
        record(lambda: found.append(execute(model, run)))
        assert compilations.since() == (1, 0)
        found.append(execute(model, run))
        assert compilations.since() == (1, 0)
    for results in found:
        assert all(map(same, expected, results))


@pytest.mark.parametrize("strict", [False, True])
def test_an_exported_model_is_not_taken_for_a_compiled_one(strict):
    """It runs as before, and leaves marks."""
    if strict and not hasattr(torch.compiler, "_is_exporting_flag"):
        pytest.skip("this torch compiles a model to export it, and says nothing of it")
    model = hookview.wrap(nn.Sequential(nn.Linear(4, 4), nn.ReLU()))
    torch.export.export(model, (torch.randn(2, 4),), strict=strict)
    assert roots.compiled() == []


@pytest.mark.parametrize("first", ["hook", "wrap"])
def test_a_pre_hook_of_the_users_on_a_compiled_root(first):
    """torch 2.8 to 2.11 raised where one of ours was put in front of it."""
    model, x = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), torch.randn(2, 4)

    def doubled(_, args):
        return (args[0] * 2,)

    if first == "hook":
        model.register_forward_pre_hook(doubled)
    hookview.wrap(model)
    if first == "wrap":
        model.register_forward_pre_hook(doubled)
    expected = model(x)
    compiled = torch.compile(model, backend="eager")
    assert torch.equal(compiled(x), expected)
    with torch.profiler.profile():
        assert torch.equal(compiled(x), expected)


def test_a_sequential_is_compiled_with_us_where_it_is_without_us():
    """Dynamo skips it, or compiles it, as the version of torch has it."""

    def counted(*, ours: bool) -> object:
        torch._dynamo.reset()
        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
        model.compile(backend="eager")
        compilations = Compilations()
        if not ours:
            model(torch.ones(1, 4))
            return compilations.since()
        with wrapped(model):
            names = {event.name for event in record(lambda: model(torch.ones(1, 4))).spans}
        found = compilations.since()
        assert any(name.startswith("Torch-Compiled") for name in names) == (found != (0, 0))
        return found

    assert counted(ours=True) == counted(ours=False)


class Breaking(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.fc(x)
        torch._dynamo.graph_break()
        return x * 2


def test_modules_between_the_parts_of_a_broken_graph_are_marked_and_the_break_is_noted():
    net = nn.Sequential(Breaking(), Breaking())
    call = compiled(net)
    with wrapped(call):
        compilations = Compilations()
        step(call)
        alone = compilations.since()
        trace = record(lambda: step(call))
        assert compilations.since() == alone
    assert trace.paths("forward") == {"": 1, "0": 1, "1": 1}
    here = [each for each in trace.compiled["breaks"] if "test_compile.py" in each["file"]]
    assert {each["function"] for each in here} == {"forward"}
    assert all("graph_break" in each["reason"] for each in here)
