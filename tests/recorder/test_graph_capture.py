"""torch.jit, torch.fx and torch.export: refused with the remedy, or the graph is the same."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
from support.recording import record
from torch import nn

import tb_hookview as hookview
from tb_hookview import UsageError

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")

X = torch.ones(2, 4)


def small_model() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU()))


def script(model: nn.Module) -> nn.Module:
    return torch.jit.script(model)


def trace(model: nn.Module) -> nn.Module:
    return torch.jit.trace(model, X)


@pytest.mark.parametrize("capture", [script, trace])
def test_a_scripted_or_traced_module_is_refused(capture):
    with pytest.raises(UsageError, match="scripted or traced"):
        hookview.wrap(capture(small_model()))


@pytest.mark.parametrize("capture", [script, trace])
def test_a_scripted_or_traced_part_belongs_to_the_module_above(capture):
    model = small_model()
    model[1] = capture(model[1])
    hookview.wrap(model)
    recorded = record(lambda: model(X).sum().backward())
    hookview.unwrap(model)
    assert recorded.paths("forward") == {"": 1, "0": 1}
    owned = [(m.path, m.parameter) for m, _ in recorded.marks("gradient")]
    assert sorted(owned) == [("", "1.0.bias"), ("", "1.0.weight"), ("0", "bias"), ("0", "weight")]


def test_scripting_a_wrapped_module():
    model = hookview.wrap(small_model())
    for target in (model, nn.Sequential(model)):
        assert torch.equal(torch.jit.script(target)(X), target(X))
    hookview.unwrap(model)


def test_scripting_a_part_of_a_wrapped_module_while_it_is_recorded():
    model = hookview.wrap(small_model())
    made: list[nn.Module] = []
    record(lambda: (model(X), made.append(torch.jit.script(model[1]))))
    hookview.unwrap(model)
    assert torch.equal(made[0](X), model[1](X))
    assert record(lambda: made[0](X)).paths("forward") == {}


def test_hooks_have_no_name_for_those_who_can_do_without():
    model = small_model()
    model.register_forward_hook(lambda *_: None)
    hookview.wrap(model)
    with torch.profiler.profile():
        (hook,) = model._forward_pre_hooks.values()
        assert not hasattr(hook, "__name__")
        assert getattr(hook, "__name__", "none") == "none"
        with pytest.raises(UsageError, match=r"call unwrap\(\)"):
            _ = hook.__name__  # what torch.jit.script asks for
    hookview.unwrap(model)


def traced_graph(model: nn.Module) -> str:
    return str(torch.jit.trace(model, X).inlined_graph)


def symbolic_graph(model: nn.Module) -> str:
    return str(torch.fx.symbolic_trace(model).graph)


def exported_graph(model: nn.Module) -> str:
    return str(torch.export.export(model, (X,)).graph)


@pytest.mark.parametrize("capture", [traced_graph, symbolic_graph, exported_graph])
def test_the_captured_graph_is_the_same(capture: Callable[[nn.Module], str]):
    model = small_model()
    plain = capture(model)
    hooked = small_model()
    hooked.register_forward_pre_hook(lambda *_: None)
    if nodes(capture(hooked)) != nodes(plain):
        pytest.skip("any hook, even one that does nothing, changes names in this torch's graph")
    hookview.wrap(model)
    assert nodes(capture(model)) == nodes(plain)
    during: list[str] = []
    record(lambda: (model(X), during.append(capture(model))))
    assert nodes(during[0]) == nodes(plain)
    hookview.unwrap(model)


def nodes(graph: str) -> str:
    """A graph without the numbers that torch.jit gives the classes of each capture."""
    return re.sub(r"___torch_mangle_\d+\.", "", graph)
