"""`convolution-benchmark`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.drawn import findings
from shared_traces import shared_trace

from tb_hookview.loading import analyze

RULE = "convolution-benchmark"
NAMES = {"conv": "aten::cudnn_convolution", "timed": "cudaEventSynchronize"}
FIRST = """
    main notes [ProfilerStep#1                             ][ProfilerStep#2     ]
    main ops    [conv                                     ]  [conv             ]
    main calls   [launch corr=1][timed ][timed ][launch corr=2] [launch corr=3]
    gpu  kernel     [a corr=1 ]                 [a corr=2]       [a corr=3]
    """
LATER = """
    main notes [ProfilerStep#1     ][ProfilerStep#2                              ]
    main ops    [conv             ]  [conv                                     ]
    main calls   [launch corr=1]      [launch corr=2][timed ][timed ][launch corr=3]
    gpu  kernel     [a corr=1 ]          [a corr=2 ]                 [a corr=3]
    """


def test_it_happens_once(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, FIRST, NAMES)[RULE]
    assert finding.once_us == 16
    assert finding.cost_us_per_step == 0
    assert finding.severity == "info"
    assert finding.evidence.startswith(
        "2 syncs in 1 convolution of ProfilerStep#1, the host blocked for 16.0 us; none later"
    )


def test_it_recurs(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, LATER, NAMES)[RULE]
    assert finding.once_us is None
    assert finding.cost_us_per_step == 16
    assert "each new shape is timed again" in finding.fix


def test_an_event_awaited_elsewhere(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, LATER, NAMES | {"conv": "aten::mm"})


def test_a_real_trace() -> None:
    """By a plain loop: all `cudaEventSynchronize` come before the first `Optimizer.step` ends."""
    found = analyze(shared_trace("kineto_2021_resnet50_autograd_api")).data.findings
    (finding,) = (each for each in found if each.rule == RULE)
    assert finding.once_us == pytest.approx(423_776, rel=0.005)
    assert finding.cost_us_per_step == 0
