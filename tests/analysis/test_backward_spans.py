"""Spans of modules over node evaluations that follow each other."""

from __future__ import annotations

from pathlib import Path

import grid
import numpy as np
import pytest

from tb_hookview import markers
from tb_hookview.analysis.backward_spans import find_backward_spans, other_pass_between
from tb_hookview.analysis.modules.tree import Modules
from tb_hookview.loading import load

PARENTS = np.array([-1, 0, 1, 1, 0], np.int64)
TREE = Modules(("", "a", "a.0", "a.1", "b"), ("M",) * 5, PARENTS, np.zeros(5, np.int64))
A, A0, A1, B = 1, 2, 3, 4


def spans(
    owner: list[int], breaks: tuple[int, ...] = (), levels: int | None = None
) -> list[tuple[str, int, int]]:
    """Path, start and end of each span over nodes of 8 ns, one every 10 ns."""
    start = np.arange(len(owner)) * 10
    begins = np.isin(np.arange(len(owner)), breaks)
    found = find_backward_spans(TREE, np.array(owner, np.int64), start, start + 8, begins, levels)
    assert start[found.first].tolist() == found.start.tolist()
    columns = (found.module.tolist(), found.start.tolist(), found.end.tolist())
    return [(TREE.path[m], s, e) for m, s, e in zip(*columns, strict=True)]


def test_a_module_spans_the_nodes_of_those_below_it() -> None:
    assert spans([A1, A1, A0]) == [("", 0, 28), ("a", 0, 28), ("a.1", 0, 18), ("a.0", 20, 28)]


def test_a_node_of_another_part_or_of_no_module_ends_a_span() -> None:
    assert spans([A0, B, A0, -1, A0]) == [
        ("", 0, 28), ("", 40, 48),
        ("a", 0, 8), ("b", 10, 18), ("a", 20, 28), ("a", 40, 48),
        ("a.0", 0, 8), ("a.0", 20, 28), ("a.0", 40, 48),
    ]  # fmt: skip


def test_a_node_of_the_module_itself_ends_only_those_below() -> None:
    assert spans([A0, A, A0], levels=3)[1:] == [("a", 0, 28), ("a.0", 0, 8), ("a.0", 20, 28)]


def test_a_break_ends_all_spans() -> None:
    assert spans([A0, A0], breaks=(1,)) == [
        ("", 0, 8), ("", 10, 18), ("a", 0, 8), ("a", 10, 18), ("a.0", 0, 8), ("a.0", 10, 18)
    ]  # fmt: skip


def test_modules_below_the_deepest_level_have_none() -> None:
    assert [path for path, _, _ in spans([A0, B], levels=2)] == ["", "a", "b"]


@pytest.mark.parametrize("owner", [[], [-1, -1]])
def test_without_modules_there_are_no_spans(owner: list[int]) -> None:
    assert spans(owner) == []


@pytest.mark.parametrize(
    ("between", "parted"),
    [
        ("notes [s1                       ]", False),
        ("notes [s1          ][s2         ]", True),
        ("notes [s1           ] [s2       ]", True),
        ("ops               [fc   ]", True),
        ("ops               [a::b ]", False),
        ("notes             [adam ]", True),
        ("notes             [load ]", True),
        ("notes             [epoch]", False),
    ],
    ids=["nothing", "a step", "a pause", "forward", "operator", "optimizer", "data", "a note"],
)
def test_what_parts_two_backward_passes(tmp_path: Path, between: str, parted: bool) -> None:
    picture = f"""
        main {between}
        auto ops    [mm']              [mm']
        """
    names = {
        "s1": "ProfilerStep#1",
        "s2": "ProfilerStep#2",
        "fc": markers.encode("forward", "fc", "Linear"),
        "mm'": "autograd::engine::evaluate_function: MmBackward0",
        "adam": "Optimizer.step#Adam.step",
        "load": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    }
    analysis = load(grid.write(tmp_path / "t.json", grid.events(picture, names)))
    tree, nodes = analysis.call_tree, analysis.nodes.row
    end, start = tree.end[nodes[:1]], tree.start[nodes[1:]]
    assert other_pass_between(analysis, end, start).tolist() == [parted]
    assert other_pass_between(analysis, start, start).tolist() == [False]
