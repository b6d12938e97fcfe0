"""`debug-apis-on`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.cpu import findings as on_cpu
from rules.cpu import node, operator, step
from rules.drawn import causes, findings, report

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


def launches(*calls: tuple[str, str], count: int = 50) -> str:
    """Launches, of each kind in turn, with their kernels; as long as drawn, from the right.

    Args:
        calls: of each kind the call and its kernel, `#` for the correlation id.
        count: how many.
    """
    host = device = ""
    for number in range(count):
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
    assert "the host was in 50 such calls for 1.55 ms" in finding.evidence
    assert finding.count == 50
    assert finding.cost_us_per_step == 4 * 49  # from the end of each kernel to the next launch


def test_without_the_waits_the_device_goes_on(tmp_path: Path) -> None:
    """Each kernel begins 8 us after its launch; without the waits it follows the one before."""
    picture = launches(SHORT, LONG)
    assert set(causes(tmp_path, picture)) == {"debug-apis-on"}
    made = report(tmp_path, picture)
    kernels = sum(made.totals.device_busy_us.values())
    assert made.totals.sync_transfer_us == kernels
    assert made.verdict.sentence.endswith("unset CUDA_LAUNCH_BLOCKING.")
    assert made.verdict.device_us == kernels
    assert made.verdict.host_us == made.verdict.step_us - kernels
    (finding,) = [each for each in made.findings if each.rule == "debug-apis-on"]
    assert finding.gain_us_per_step == pytest.approx(made.verdict.step_us - kernels, abs=20)


def test_the_code_of_the_last_kernel_is_loaded(tmp_path: Path) -> None:
    """For 2 ms of its launch; without the waits the host comes to it 1,050 us earlier.

    Each launch takes as long as it did besides its kernel, 11 us with the pause after it.
    """
    lines = launches(SHORT, LONG).splitlines()
    loads = f"[launch corr=200{' ' * 2400}]"
    lines[1], lines[2] = (f"{line[:-1]}{' ' * len(loads)}]" for line in lines[1:3])
    lines[3] += loads
    lines[4] += f"{' ' * 2000}[conv corr=200{' ' * 350}]"
    made = report(tmp_path, "\n".join(lines))
    assert made.steps[0].idle
    assert made.steps[0].idle.kernel_loading == 2000
    assert made.totals.sync_transfer_us == 1050 + 365
    (finding,) = [each for each in made.findings if each.rule == "debug-apis-on"]
    assert finding.gain_us_per_step == pytest.approx(1050, abs=60)


def test_they_are_no_loop_of_syncs(tmp_path: Path) -> None:
    """Each launch is in an operator of its own, and the two of an iteration differ."""
    lines = launches(SHORT, LONG, count=80).splitlines()
    inside = lines[3].removeprefix("main calls")
    for number in range(80):
        name = "aten::add" if number % 2 else "aten::mul"
        inside = inside.replace(f"launch corr={number:03}", name.ljust(15))
    lines[2] = "main ops  " + inside
    found = findings(tmp_path, "\n".join(lines))
    assert len(found["debug-apis-on"]) == 1
    assert "sync-loop" not in found


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
