"""Modules inside compiled regions: what stands around the compiled code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from support import compiled_ddp
from support.forked_python import COMPILER
from support.ranks import run_ranks
from support.recording import Trace, record
from torch import nn
from torch.utils.checkpoint import checkpoint

import tb_hookview as hookview
from tb_hookview.recorder.compiled import installation, registry

pytestmark = pytest.mark.skipif(
    not installation.is_supported(), reason="modules in compiled regions need torch 2.10"
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(registry, "_entries", {})  # graphs of tests before this one may live on
    torch._dynamo.reset()
    return str(tmp_path / "cache")


class Checkpointed(nn.Module):
    """Products alone, in a graph within the graph that Dynamo captures."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__()
        self.order = [one, other]
        self.add_module(one, nn.Linear(4, 6, bias=False))
        self.add_module(other, nn.Linear(6, 5, bias=False))

    def both(self, x: torch.Tensor) -> torch.Tensor:
        for name in self.order:
            x = self._modules[name](x)
        return x

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return checkpoint(self.both, x, use_reentrant=False)


def second_step(net: nn.Module) -> Trace:
    call = torch.compile(net)
    hookview.wrap(call)

    def step() -> None:
        call(torch.ones(2, 4)).sum().backward()

    step()
    trace = record(step)
    hookview.unwrap(call)
    return trace


def modules(trace: Trace, names: list[str]) -> list[tuple[str, list[int]]]:
    """The products of each graph, forward first: positions of their modules in `names`."""
    graphs = sorted(trace.compiled["graphs"], key=lambda graph: graph["backward"])
    return [
        (name, [names.index(graph["paths"][index][0]) for index, *_ in parts])
        for graph in graphs
        for name, extern, parts in graph["calls"]
        if extern
    ]


def test_checkpointed_modules_come_back_from_the_outer_cache(cache):
    first = second_step(Checkpointed("one", "other"))
    assert first.compiled["missing"] == []
    found = modules(first, ["one", "other"])
    assert {tuple(parts) for _, parts in found} == {(0,), (1,)}
    counters = torch._dynamo.utils.counters["aot_autograd"]
    torch._dynamo.reset()
    hits = counters["autograd_cache_hit"]
    again = second_step(Checkpointed("one", "other"))
    # torch 2.10 keeps no checkpointed graph in its outer cache; the inner one serves it.
    assert (counters["autograd_cache_hit"] > hits) is (torch.__version__ >= "2.11")
    assert again.compiled["missing"] == []
    assert modules(again, ["one", "other"]) == found


@pytest.mark.slow
def test_a_compiled_optimizer_has_no_modules(cache):
    net = hookview.wrap(nn.Linear(4, 4))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    step = torch.compile(optimizer.step)
    net(torch.ones(2, 4)).sum().backward()
    step()
    trace = record(step)
    hookview.unwrap(net)
    assert trace.compiled["graphs"]
    for graph in trace.compiled["graphs"]:
        assert (graph["base"], graph["root"], graph["paths"]) == (None, None, [])
        assert graph["calls"]
        assert {index for *_, parts in graph["calls"] for index, *_ in parts} == {-1}


@pytest.mark.slow
def test_every_bucket_of_distributed_training_has_its_modules(cache, tmp_path):
    said = run_ranks(
        [Path(compiled_ddp.__file__), tmp_path],
        tmp_path,
        imported=COMPILER,
        TORCHINDUCTOR_CACHE_DIR=cache,
    )
    for out in said:
        one, two, three = "module.first", "module.rest.0", "module.rest.1"
        assert json.loads(out.splitlines()[-1]) == {
            "graphs": 6,
            "missing": [],
            "forward": [one, two, three],
            "backward": [one, two, two, three, three],
        }
