"""`repeated-backward`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules import drawn
from rules.cpu import findings, node, operator, step

from tb_hookview.analysis.host.rows import EVALUATE

RULE = "repeated-backward"


@pytest.mark.parametrize("times", [3, 5])
def test_a_node_is_evaluated_again(tmp_path: Path, times: int) -> None:
    forward = operator("aten::mm", 1100, 200, **{"Sequence number": 5})
    rows = [each for i in range(times) for each in node("MmBackward0", 2000 + 200 * i, 100, 5)]
    found = findings(tmp_path, [step(4000), forward, *rows])[RULE]
    assert [each.gain_us_per_step for each in found] == [400] * (times == 5)


def test_many_nodes_of_one_name(tmp_path: Path) -> None:
    rows = [step(4000)]
    for i in range(5):
        rows += [operator("aten::mm", 1100 + 50 * i, 40, **{"Sequence number": 5 + i})]
        rows += node("MmBackward0", 2000 + 200 * i, 100, 5 + i)
    assert RULE not in findings(tmp_path, rows)


def test_on_a_device(tmp_path: Path) -> None:
    picture = """
        main     notes [ProfilerStep#1                                                          ]
        main     ops     [aten::mm seq=1]
        autograd ops                     [e seq=1 F=1][e seq=1 F=1][e seq=1 F=1][e seq=1 F=1]
        autograd calls                    [l corr=1]   [l corr=2]   [l corr=3]   [l corr=4]
        gpu      kernel                     [k corr=1]   [k corr=2]   [k corr=3]   [k corr=4]
        """
    names = {"e": EVALUATE + "MmBackward0", "l": "cudaLaunchKernel"}
    (finding,) = drawn.findings(tmp_path, picture, names)[RULE]
    assert finding.cost_us_per_step == 40
    assert finding.gain_us_per_step is not None
