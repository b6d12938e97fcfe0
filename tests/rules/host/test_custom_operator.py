"""`custom-operator`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.cpu import call, findings, node, operator, step

RULE = "custom-operator"
NODE = "torch::autograd::CppNode<Swish>"


@pytest.mark.parametrize(("length", "found"), [(500, [500]), (390, [])])
def test_a_node_in_cpp_is_charged_without_the_operators_in_it(
    tmp_path: Path, length: float, found: list[float]
) -> None:
    """10% of a step of 4000 us ; the evaluation and the node in it are one call."""
    own = operator("mine::swish", 1110, 100, **{"Sequence number": 5})
    forward = [call("act", 1100, 200), own]
    backward = [*node(NODE, 2000, length + 302, 5), operator("aten::mul", 2010, 301)]
    rows = findings(tmp_path, [step(4000), *forward, *backward])[RULE]
    assert [each.cost_us_per_step for each in rows] == found
    assert all((each.where, each.count) == (f"act, {NODE}", 1) for each in rows)
    assert all(each.gain_us_per_step == 500 for each in rows)


@pytest.mark.parametrize(("name", "found"), [("mine::op", True), ("aten::mm", False)])
def test_namespaces_that_are_torchs_are_not_custom(tmp_path: Path, name: str, found: bool) -> None:
    rows = [step(4000), operator(name, 2000, 900)]
    assert (RULE in findings(tmp_path, rows)) == found
