"""The forward operator of a node where numbers alone would name another."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from shared_traces import shared_trace

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.loading import analyze, load

NODE = "autograd::engine::evaluate_function: "
NAMES = {
    "graph": f"{NODE}torch::jit::(anonymous namespace)::DifferentiableGraphBackward",
    "run": "<forward op>",
    "zero": "## zero_grad ##",
    "fwd": "## forward ##",
    "mine": f"{NODE}MyFnBackward",
}


def forward_ops(analysis: Analysis) -> list[str]:
    texts, found = analysis.trace.strings, analysis.nodes.forward_op
    return [texts[analysis.host.string[row]] if row >= 0 else "none" for row in found]


def test_a_graph_of_torch_script_is_numbered_before_it_runs(tmp_path: Path) -> None:
    """4 is the graph's number: `detach_` and what follows it have it, or the next one."""
    picture = """
        main notes  [zero                 ][fwd                                                ]
        main ops     [aten::detach_ seq=4]  [aten::detach seq=5][run       ][aten::add seq=5]
        auto ops                                                                                 [graph seq=4 F=1]
        """
    analysis = load(grid.write(tmp_path / "t.json", grid.events(picture, NAMES)))
    assert forward_ops(analysis) == ["<forward op>"]
    modules = analysis.modules.path
    assert [modules[m] for m in analysis.attribution.node_module] == ["## forward ##"]


@pytest.mark.parametrize("operator", ["aten::detach_", "aten::item", "aten::is_nonzero"])
def test_what_makes_no_node_is_no_forward_operator(tmp_path: Path, operator: str) -> None:
    picture = """
        main ops     [none seq=4]
        auto ops                   [mine seq=4 F=1]
        """
    names = {**NAMES, "none": operator}
    analysis = load(grid.write(tmp_path / "t.json", grid.events(picture, names)))
    assert forward_ops(analysis) == ["none"]


def test_a_graph_that_ran_before_the_window(tmp_path: Path) -> None:
    picture = """
        main ops     [aten::add seq=9]                       [run   ]
        auto ops                       [graph seq=4 F=1   ]
        """
    analysis = load(grid.write(tmp_path / "t.json", grid.events(picture, NAMES)))
    assert forward_ops(analysis) == ["none"]


def test_a_recorded_training() -> None:
    """No node of it belongs to `## zero_grad ##`, which is where 42% of the backward once was."""
    path = shared_trace("hta_cpu_only_rank34")
    data = analyze(path).data
    times = {row.path: row.backward.host_us or 0.0 for row in data.modules}
    assert max(times, key=lambda path: times[path]) == "DistributedDataParallel.forward"
    assert times.get("## zero_grad ##", 0.0) == 0.0
    assert data.coverage.unattributed_host_us == 0.0
    found = load(path)
    graphs = [
        name
        for row, name in zip(found.nodes.row, forward_ops(found), strict=True)
        if "DifferentiableGraph" in found.trace.strings[found.host.string[row]]
    ]
    assert graphs == ["<forward op>"] * 10
