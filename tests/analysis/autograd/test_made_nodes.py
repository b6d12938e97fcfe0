"""Operators that made a node, by the numbers of what follows."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from shared_traces import shared_trace

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.loading import load


def made(analysis: Analysis) -> list[str]:
    texts = analysis.trace.strings
    rows = analysis.made_nodes.nonzero()[0]
    return [texts[analysis.host.string[row]].removeprefix("aten::") for row in rows]


def test_the_last_operator_of_each_number(tmp_path: Path) -> None:
    picture = """
        main ops  [aten::view seq=4][aten::linear seq=4   ][aten::add seq=5][aten::item seq=5][aten::sum seq=6]
        main ops                      [aten::addmm seq=4]
        auto ops  [aten::mul seq=1                         ]
        """
    analysis = load(grid.write(tmp_path / "t.json", grid.events(picture)))
    assert made(analysis) == ["addmm", "add"]


def test_a_node_may_make_the_next_one(tmp_path: Path) -> None:
    """With create_graph=True: the operator before it has the number, too."""
    picture = """
        main ops  [aten::mm seq=4][aten::argmax seq=5][mm' seq=4 F=1    ][aten::sum seq=6]
        main ops                                        [aten::mm seq=5]
        """
    names = {"mm'": "autograd::engine::evaluate_function: MmBackward0"}
    assert made(load(grid.write(tmp_path / "t.json", grid.events(picture, names)))) == ["mm"]


def test_an_optimizer_makes_none(tmp_path: Path) -> None:
    picture = """
        main notes [step                             ]
        main ops     [aten::mul seq=4][aten::add seq=5] [aten::mul seq=6]
        """
    names = {"step": "Optimizer.step#Adam.step"}
    analysis = load(grid.write(tmp_path / "t.json", grid.events(picture, names)))
    assert made(analysis) == []


@pytest.mark.parametrize(
    ("name", "nodes"),
    [
        ("tracelens_mi300_ddp_resnet18", 355),
        ("kineto_resnet50_num_workers_0", 1068),
        ("hta_a100_nccl_training", 542),
        ("hta_v100_training", 738),
    ],
)
def test_they_are_the_forward_operators_of_nodes_that_are_evaluated(name: str, nodes: int) -> None:
    analysis = load(shared_trace(name))
    forward_op = analysis.nodes.forward_op
    evaluated = {row for row in forward_op.tolist() if row >= 0 and analysis.row_node[row] < 0}
    made_rows = set(analysis.made_nodes.nonzero()[0].tolist())
    assert len(made_rows) == nodes
    assert made_rows <= evaluated
    assert len(evaluated - made_rows) <= 1  # the last of all, after which no number shows it
