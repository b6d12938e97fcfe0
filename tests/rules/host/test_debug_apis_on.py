"""`debug-apis-on`."""

from __future__ import annotations

from pathlib import Path

from rules.drawn import causes, findings

from tb_hookview.analysis.host.roles import EVALUATE

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


def launches(count: int, call: str) -> str:
    """Launches, one each 22 us, and their kernels, which end 20 us after each began."""
    calls = "".join(call.replace("#", f"{number:03}") for number in range(count))
    kernels = "".join(f"        [k corr={number:03}]  " for number in range(count))
    return f"""
main notes  {"[ProfilerStep#1".ljust(len(calls))}]
main ops    {"[aten::mm".ljust(len(calls))}]
main calls  {calls}
gpu  kernel {kernels}
"""


def test_launches_that_return_when_their_kernel_is_done(tmp_path: Path) -> None:
    found = findings(tmp_path, launches(50, "[launch corr=#     ]"))
    (finding,) = found["debug-apis-on"]
    assert finding.where == "CUDA_LAUNCH_BLOCKING"
    assert finding.gain_bound_us_per_step is None
    assert finding.cost_us_per_step


def test_launches_that_return_at_once(tmp_path: Path) -> None:
    assert "debug-apis-on" not in findings(tmp_path, launches(50, "[launch corr=#]     "))
