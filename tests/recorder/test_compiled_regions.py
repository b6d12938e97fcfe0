"""Modules inside compiled regions, on graphs of products, which need no C++ compiler."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from support.forked_python import run_python
from support.recording import Trace, record
from torch import nn

import tb_hookview as hookview
from tb_hookview.recorder.compiled import compilation, installation, registry

pytestmark = pytest.mark.skipif(
    not installation.is_supported(), reason="modules in compiled regions need torch 2.10"
)


FREEZE_COUNT = gc.get_freeze_count


class Chain(nn.Module):
    """Layers without bias: their products are all there is to run."""

    def __init__(self, *widths: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a, b, bias=False) for a, b in pairwise(widths)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Pair(nn.Module):
    def __init__(self, breaks: bool = False) -> None:
        super().__init__()
        self.left, self.right = Chain(4, 6, 5), Chain(5, 7, 3)
        self.breaks = breaks

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.left(x)
        if self.breaks:
            torch._dynamo.graph_break()
        return self.right(x)


@pytest.fixture(autouse=True)
def fresh_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    torch._dynamo.reset()
    # What is frozen is not counted; here it is what was there before the test, no model of its.
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 0)
    # A graph break leaves functions in this module's variables, which no reset removes.
    monkeypatch.setattr(registry, "_entries", {})
    yield
    torch._dynamo.reset()


def step(call: Callable[..., torch.Tensor], rows: int = 2) -> None:
    out = call(torch.ones(rows, 4))
    out.backward(torch.ones_like(out))


def recorded(call: Callable[..., torch.Tensor], *roots: nn.Module) -> Trace:
    """Record a second step."""
    gc.collect()  # or graphs of models that are gone are described too
    step(call)
    try:
        return record(lambda: step(call))
    finally:
        for root in roots:
            hookview.unwrap(root)


def modules(trace: Trace, backward: bool, item: int = 2) -> list[list[Any]]:
    """The modules of each call, graph by graph in order of their compile ids."""
    graphs = [g for g in trace.compiled["graphs"] if g["backward"] == backward]
    return [
        [None if index < 0 else graph["paths"][index][item] for index, *_ in parts]
        for graph in sorted(graphs, key=lambda g: (g["compile_id"], g["key"]))
        for _, _, parts in graph["calls"]
    ]


FORWARD = [["left.layers.0"], ["left.layers.1"], ["right.layers.0"], ["right.layers.1"]]
BACKWARD = [
    ["right.layers.1"],
    ["right.layers.1"],
    ["right.layers.0"],
    ["right.layers.0"],
    ["left.layers.1"],
    ["left.layers.1"],
    ["left.layers.0"],
]


def compile_first(net: nn.Module) -> tuple[Any, nn.Module]:
    call = torch.compile(net)
    return call, hookview.wrap(call)


def wrap_first(net: nn.Module) -> tuple[Any, nn.Module]:
    hookview.wrap(net)
    return torch.compile(net), net


def in_place_first(net: nn.Module) -> tuple[Any, nn.Module]:
    net.compile()
    return net, hookview.wrap(net)


def in_place_last(net: nn.Module) -> tuple[Any, nn.Module]:
    hookview.wrap(net)
    net.compile()
    return net, net


def around(net: nn.Module) -> tuple[Any, nn.Module]:
    hookview.wrap(net)
    return torch.compile(lambda x: net(x)), net


def inside(net: nn.Module) -> tuple[Any, nn.Module]:
    outer = nn.Sequential(nn.Identity(), torch.compile(net))
    hookview.wrap(outer)
    return outer, outer


@pytest.mark.parametrize(
    "order", [compile_first, wrap_first, in_place_first, in_place_last, around]
)
def test_every_call_has_its_module_whatever_was_wrapped_and_compiled_first(order, recwarn):
    call, root = order(Pair())
    trace = recorded(call, root)
    assert [str(each.message) for each in recwarn if "tb_hookview" in str(each.message)] == []
    assert modules(trace, backward=False) == FORWARD
    # A weight's gradient comes before its input's or after it, but both are the same module's.
    assert modules(trace, backward=True) == BACKWARD
    assert trace.compiled["missing"] == []


@pytest.mark.parametrize("order", [compile_first, wrap_first])
def test_a_sequential_around_others_is_marked_as_any_compiled_model(order, recwarn):
    """torch compiles a function around it, which is not code of the user's that calls it."""
    call, root = order(nn.Sequential(nn.Sequential(Chain(4, 6)), Chain(6, 3)))
    trace = recorded(call, root)
    assert [str(each.message) for each in recwarn if "tb_hookview" in str(each.message)] == []
    assert trace.paths("forward") == {"": 1}
    assert "compiled" not in trace.manifest
    assert modules(trace, backward=False, item=0) == [["0.0.layers.0"], ["1.layers.0"]]


def test_every_module_is_listed_with_its_class():
    call, root = compile_first(Pair())
    (forward, _) = recorded(call, root).compiled["graphs"]
    assert forward["base"] == ["Pair", ""]
    assert forward["root"] == ""
    assert sorted(forward["paths"]) == [
        ["left", "Chain", "left"],
        ["left.layers.0", "Linear", "left.layers.0"],
        ["left.layers.1", "Linear", "left.layers.1"],
        ["right", "Chain", "right"],
        ["right.layers.0", "Linear", "right.layers.0"],
        ["right.layers.1", "Linear", "right.layers.1"],
    ]
    assert {how for _, _, parts in forward["calls"] for _, how, *_ in parts} == {0}


def test_where_something_is_frozen_no_module_is_known_to_be_the_only_one(monkeypatch):
    monkeypatch.setattr(gc, "get_freeze_count", FREEZE_COUNT)
    assert gc.get_freeze_count() > 0
    trace = recorded(*compile_first(Chain(4, 6)))
    assert modules(trace, backward=False) == [[None]]
    assert modules(trace, backward=False, item=0) == [["layers.0"]]


def test_bytes_are_those_that_an_operator_reads_and_writes():
    call, root = compile_first(Chain(4, 6))
    (forward, _) = recorded(call, root).compiled["graphs"]
    assert forward["calls"] == [["extern_kernels.mm", 1, [[0, 0, 1, 4 * (2 * 4 + 4 * 6 + 2 * 6)]]]]


def test_a_compiled_part_has_the_part_as_its_root():
    outer, root = inside(Pair())
    trace = recorded(outer, root)
    assert [graph["root"] for graph in trace.compiled["graphs"]] == ["1", "1"]
    assert modules(trace, backward=False, item=0) == FORWARD
    assert modules(trace, backward=False) == [[f"1.{path}"] for (path,) in FORWARD]


def test_graph_breaks_make_regions_with_the_same_root():
    call, root = compile_first(Pair(breaks=True))
    trace = recorded(call, root)
    assert {graph["root"] for graph in trace.compiled["graphs"]} == {""}
    assert len(trace.compiled["graphs"]) == 4
    assert modules(trace, backward=False) == FORWARD


def test_code_that_serves_two_modules_of_a_class_has_no_root():
    net = nn.Sequential(nn.Linear(4, 4), Chain(4, 4), Chain(4, 4))
    for part in net[1:]:
        part.compile()
    trace = recorded(net, hookview.wrap(net))
    graphs = trace.compiled["graphs"]
    assert {graph["compile_id"] for graph in graphs} == {"0/0"}
    assert [graph["root"] for graph in graphs] == [None, None]
    assert [graph["base"] for graph in graphs] == [["Chain", "1"]] * 2
    assert modules(trace, backward=False) == [[None]]
    assert modules(trace, backward=False, item=0) == [["layers.0"]]
    assert trace.paths("forward") == {"": 1, "0": 1, "1": 1, "2": 1}


def test_a_function_that_gets_its_model_names_the_models_modules():
    def multiply(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
        y = model(x)
        return y.T @ y

    net, compiled = hookview.wrap(Pair()), torch.compile(multiply)
    trace = recorded(lambda x: compiled(net, x), net)
    assert modules(trace, backward=False) == [*FORWARD, [None]]
    assert [graph["base"] for graph in trace.compiled["graphs"]] == [None, None]


def test_another_instance_of_the_model_leaves_a_functions_modules_open():
    net, twin = hookview.wrap(Pair()), Pair()
    compiled = torch.compile(lambda model, x: model(x))
    trace = recorded(lambda x: compiled(net, x), net)
    assert modules(trace, backward=False) == [[None]] * 4
    assert twin is not net


class Other(nn.Module):
    """The graph of `Pair`, from other modules."""

    def __init__(self) -> None:
        super().__init__()
        self.right, self.left = Chain(4, 6, 5), Chain(5, 7, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.left(self.right(x))


class Coarse(nn.Module):
    """The graph of `Pair` in one module."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterList(
            [torch.ones(*shape) for shape in [(6, 4), (5, 6), (7, 5), (3, 7)]]
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for weight in self.weights:
            x = nn.functional.linear(x, weight)
        return x


SWAP = {"left": "right", "right": "left"}


@pytest.mark.parametrize("fx_only", [True, False], ids=["inner cache", "outer cache"])
def test_another_model_with_the_same_graph_has_its_own_modules(fx_only):
    with torch._functorch.config.patch(enable_autograd_cache=not fx_only):
        check_models_of_one_graph()


def check_models_of_one_graph() -> None:
    recorded(*compile_first(Pair()))
    torch._dynamo.reset()
    hits = torch._dynamo.utils.counters["inductor"]["fxgraph_cache_hit"]
    trace = recorded(*compile_first(Other()))
    assert torch._dynamo.utils.counters["inductor"]["fxgraph_cache_hit"] > hits
    found = modules(trace, backward=False)
    assert found == [[f"{SWAP[p.partition('.')[0]]}.{p.partition('.')[2]}"] for (p,) in FORWARD]
    torch._dynamo.reset()
    trace = recorded(*compile_first(Coarse()))
    assert modules(trace, backward=False) == [[None]] * 4


def test_a_model_that_comes_from_the_cache_has_its_modules():
    recorded(*compile_first(Pair()))
    torch._dynamo.reset()
    trace = recorded(*wrap_first(Pair()))
    assert modules(trace, backward=False) == FORWARD
    assert modules(trace, backward=True) == BACKWARD


def test_a_cache_filled_without_us_is_missing_with_the_reason(monkeypatch):
    with monkeypatch.context() as without:
        without.setattr(compilation, "ATTRIBUTE", "_another")
        recorded(*compile_first(Pair()))
    torch._dynamo.reset()
    with pytest.warns(UserWarning, match="took 2 of 2 compiled graphs from a cache .*_CACHE_DIR"):
        trace = recorded(*compile_first(Pair()))
    assert trace.compiled["graphs"] == []
    assert [row["why"] for row in trace.compiled["missing"]] == ["cache", "cache"]
    assert {row["compile_id"] for row in trace.compiled["missing"]} == {"0/0"}


def test_options_of_the_compilation_change_nothing_cold_and_warm():
    """With options, torch compiles a graph within the compilation of the same graph."""
    for _ in range(2):
        torch._dynamo.reset()
        net = Pair()
        call = torch.compile(net, options={"max_fusion_size": 32})
        trace = recorded(call, hookview.wrap(call))
        assert modules(trace, backward=False) == FORWARD
        assert modules(trace, backward=True) == BACKWARD
        assert trace.compiled["missing"] == []


def test_without_torchs_caches_there_is_a_map():
    with torch._inductor.config.patch(force_disable_caches=True):
        trace = recorded(*compile_first(Pair()))
    assert {graph["key"] for graph in trace.compiled["graphs"]} == {"None"}
    assert modules(trace, backward=False) == FORWARD


def test_dynamic_shapes_and_no_grad():
    net = Pair()
    call = torch.compile(net, dynamic=True)
    hookview.wrap(call)
    with torch.no_grad():
        call(torch.ones(3, 4))
    trace = recorded(call, call)
    assert modules(trace, backward=False) in (FORWARD, FORWARD * 2)


def test_two_threads_that_compile_have_a_map_each(monkeypatch):
    # Two threads put torch's global variable back to what either found, which may be True.
    monkeypatch.setattr(torch._dynamo.eval_frame, "_in_optimized_module", False, raising=False)
    nets = [Pair(), Other()]
    calls = [torch.compile(net) for net in nets]
    for number, call in enumerate(calls):
        hookview.wrap(call, name=f"net{number}")
    threads = [threading.Thread(target=step, args=[call]) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    trace = record(lambda: [step(call) for call in calls])
    for call in calls:
        hookview.unwrap(call)
    found = modules(trace, backward=False)
    expected = [
        *([f"net0.{path}"] for (path,) in FORWARD),
        *([f"net1.{SWAP[path.partition('.')[0]]}.{path.partition('.')[2]}"] for (path,) in FORWARD),
    ]
    assert sorted(found) == sorted(expected)


def test_a_region_of_a_region_stays_whole():
    if not hasattr(torch.compiler, "nested_compile_region"):
        pytest.skip("this torch has no nested regions")

    class Nested(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.part = Chain(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            run = torch.compiler.nested_compile_region(lambda x: self.part(x))
            return run(run(x))

    trace = recorded(*compile_first(Nested()))
    whys = {row["why"] for row in trace.compiled["missing"]}
    assert whys == {"subgraph"} or all(
        path == ["part.layers.0"] for path in modules(trace, backward=False)
    )


def test_a_graph_that_is_gone_is_not_described():
    call, root = compile_first(Pair())
    recorded(call, root)
    assert registry._entries
    del call, root
    torch._dynamo.reset()
    gc.collect()
    net = hookview.wrap(Pair())
    trace = record(lambda: step(net))
    hookview.unwrap(net)
    assert trace.compiled == {}


def test_a_break_before_a_reset_is_not_the_next_regions():
    """The compiler's numbers begin again, so both regions are 0/0."""
    assert recorded(*compile_first(Pair(breaks=True))).compiled["breaks"]
    torch._dynamo.reset()
    assert recorded(*compile_first(Pair())).compiled["breaks"] == []


def test_a_fault_of_ours_is_one_warning(monkeypatch, expected_fault):
    def fail(*_: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(compilation, "capture", fail)
    call = torch.compile(Pair())
    with pytest.warns(RuntimeWarning, match=r"noting what is compiled failed \(RuntimeError: ours"):
        step(call)


def test_the_compiler_is_not_loaded_by_us_and_wrapped_once_it_is():
    script = (
        "import sys, torch, tb_hookview.recorder\n"
        "print('torch._inductor.compile_fx' in sys.modules)\n"
        "import torch._inductor.compile_fx as compiler\n"
        "print(hasattr(compiler._compile_fx_inner, '__wrapped__'))\n"
        "print(type(compiler.__spec__.loader).__module__.partition('.')[0])\n"
        "print(any('tb_hookview' in type(f).__module__ for f in sys.meta_path))"
    )
    done = run_python("-c", script)
    assert done.stdout.split() == ["False", "True", "_frozen_importlib_external", "False"]


def test_another_torch_leaves_regions_whole_and_says_so_in_the_trace(monkeypatch):
    monkeypatch.setattr(registry, "off", "modules inside compiled regions need torch 2.10")
    call, root = compile_first(Pair())
    trace = recorded(call, root)
    assert trace.compiled == {
        "version": 1,
        "off": "modules inside compiled regions need torch 2.10",
        "graphs": [],
        "missing": [],
    }
