"""`debug-apis-on`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.cpu import findings as on_cpu
from rules.cpu import node, operator, step
from rules.drawn import causes, findings

from tb_hookview.analysis.host.rows import EVALUATE

NAMES = {"eval": EVALUATE + "MmBackward0", "isnan": "aten::isnan", "any": "aten::_is_any_true"}
NODE = """
    main     notes [ProfilerStep#1                                                             ]
    main     ops     [aten::mm seq=1      ]
    main     calls       [launch corr=5]
    autograd ops                  [eval seq=1 F=1                                             ]
    autograd ops                                     [{test}     ] [{check}] [aten::item         ]
    autograd calls                 [launch corr=7]                           [wait corr=8    ]
    gpu      kernel         [k corr=5]       [k corr=7]
    """


def test_each_gradient_is_tested(tmp_path: Path) -> None:
    picture = NODE.format(test="isnan", check="any")
    assert causes(tmp_path, picture, NAMES) == ["debug-apis-on"]
    (finding,) = findings(tmp_path, picture, NAMES)["debug-apis-on"]
    assert finding.where == "anomaly detection"


def test_a_node_that_reads_a_value_of_its_own(tmp_path: Path) -> None:
    picture = NODE.format(test="aten::gt", check="any")
    assert causes(tmp_path, picture, NAMES) == ["sync-scalar-item"]


def test_gradients_of_parameters_are_not_tested(tmp_path: Path) -> None:
    """Two of three nodes are sinks, and the rule holds all the same."""
    sinks = "[sink F=1] [sink F=1]"
    picture = (
        NODE.format(test="isnan", check="any")
        + f"""
    autograd ops {" " * 90}{sinks}
    """
    )
    names = {**NAMES, "sink": EVALUATE + "torch::autograd::AccumulateGrad"}
    assert causes(tmp_path, picture, names) == ["debug-apis-on"]


def test_the_loss_is_tested_in_the_loop(tmp_path: Path) -> None:
    picture = """
        main notes [ProfilerStep#1                                          ]
        main ops     [isnan      ] [any ] [aten::item         ]
        main calls                          [wait corr=8    ]
        gpu  kernel [k]
        """
    assert "debug-apis-on" not in causes(tmp_path, picture, NAMES)


@pytest.mark.parametrize("test", ["aten::isnan", "aten::gt"])
def test_each_gradient_is_tested_on_a_cpu(tmp_path: Path, test: str) -> None:
    """Three calls of 40 us; a product takes 59 us longer where it makes a node."""
    rows = [step(1000), operator("aten::mm", 1001, 99, **{"Sequence number": 5})]
    rows += node("MmBackward0", 1200, 100, 5)
    rows[-2]["dur"] = 400
    rows.append(operator("aten::mm", 1210, 40))
    names = (test, "aten::ne", "aten::_is_any_true", "aten::item")
    rows += [operator(name, 1310 + 50 * place, 40) for place, name in enumerate(names)]
    found = on_cpu(tmp_path, rows)["debug-apis-on"]
    assert [each.gain_us_per_step for each in found] == (
        [pytest.approx(120 + 59)] if test == "aten::isnan" else []
    )
    assert all(finding.count == len(finding.examples) for finding in found)


def launches(*calls: tuple[str, str]) -> str:
    """Fifty launches, of each kind in turn, with their kernels; as long as drawn, from the right.

    Args:
        calls: of each kind the call and its kernel, `#` for the correlation id.
    """
    host = device = ""
    for number in range(50):
        call, kernel = (each.replace("#", f"{number:03}") for each in calls[number % len(calls)])
        width = max(len(call), len(kernel)) + 1
        host, device = host + call.ljust(width), device + kernel.ljust(width)
    return f"""
main notes  {"[ProfilerStep#1".ljust(len(host))}]
main ops    {"[aten::mm".ljust(len(host))}]
main calls  {host}
gpu  kernel {device}
"""


SHORT = ("[launch corr=#     ]", "       [k corr=#]")
LONG = ("[launch corr=#                       ]", "       [k corr=#                  ]")


def test_launches_that_return_when_their_kernel_is_done(tmp_path: Path) -> None:
    found = findings(tmp_path, launches(SHORT, LONG))
    (finding,) = found["debug-apis-on"]
    assert finding.where == "CUDA_LAUNCH_BLOCKING"
    assert "50 of 50" in finding.evidence
    assert "those 25 that are longer than the shortest such call (22.0 us)" in finding.evidence
    assert finding.gain_bound_us_per_step is None
    assert finding.cost_us_per_step


def test_launches_that_return_at_once(tmp_path: Path) -> None:
    returns = ("[launch corr=#]", LONG[1])
    assert "debug-apis-on" not in findings(tmp_path, launches(SHORT, returns))


def test_kernels_shorter_than_any_launch(tmp_path: Path) -> None:
    """They end within their calls whether these wait or not."""
    assert "debug-apis-on" not in findings(tmp_path, launches(SHORT))


def test_kernels_that_seem_to_begin_before_their_launch(tmp_path: Path) -> None:
    """The clocks differ: what ends before the call returns may end after it."""
    early = ("     [launch corr=#                 ]", "[k corr=#                            ]")
    assert "debug-apis-on" not in findings(tmp_path, launches(SHORT, early))


def test_deterministic_mode_fills_new_memory(tmp_path: Path) -> None:
    """The host binds: without the fill it launches the product 18 us earlier."""
    picture = """
        main notes [ProfilerStep#1                                       ]
        main ops     [{new}               ] [aten::mm      ]
        main ops        [aten::fill_     ]
        main calls       [launch corr=5]      [launch corr=6]
        gpu  kernel        [k corr=5]          [k corr=6]
        """
    found = findings(tmp_path, picture.format(new="aten::empty"))
    (finding,) = found["debug-apis-on"]
    assert finding.where == "new memory is filled"
    assert (finding.cost_us_per_step, finding.gain_us_per_step) == (10, 18)
    assert "fill_uninitialized_memory" in finding.fix
    assert "debug-apis-on" not in findings(tmp_path, picture.format(new="aten::zeros"))
