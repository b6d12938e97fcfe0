"""What rules count: syncs of training threads, and gaps within some time."""

from __future__ import annotations

from pathlib import Path

import pytest
from grid import write
from rules.drawn import findings, report
from rules.eager import ADD, operators

from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.rules.engine.parts import StepContext


@pytest.mark.parametrize(
    ("launch", "found"), [("", False), ("[launch corr=7]", True)], ids=["copies only", "trains"]
)
def test_syncs_count_on_threads_that_launch_kernels(
    tmp_path: Path, launch: str, found: bool
) -> None:
    """A thread that only copies, say to write a checkpoint, may block."""
    picture = f"""
        main  calls [launch corr=1]
        saver ops                   [aten::to                              ]
        saver ops                     [aten::copy_                        ]
        saver calls                    [copy corr=5]  [wait corr=6       ]   {launch}
        gpu   copy                             [D2P corr=5     ]
        gpu   kernel    [k corr=1]                                                  [k corr=7]
        """
    data = report(tmp_path, picture)
    assert "sync-d2h-copy" in {sync.cause for sync in data.syncs}
    assert ("sync-d2h-copy" in {each.rule for each in data.findings}) == found


@pytest.mark.parametrize(
    ("pin", "cost"),
    [("[aten::pin_memory        ]", 0), ("[aten::pin_memory                       ]", 45)],
    ids=["six tenths", "nine tenths"],
)
def test_a_gap_within_some_time_lies_in_it_to_nine_tenths(
    tmp_path: Path, pin: str, cost: float
) -> None:
    """A gap of 45 us, of which the operator takes 26 us in one case and 41 us in the other."""
    picture = f"""
        main notes [ProfilerStep#1                                                     ]
        main ops        {pin}
        main calls                                          [launch corr=7]
        gpu  kernel [k]                                             [k corr=7]
        """
    (finding,) = findings(tmp_path, picture)["pin-memory-inline"]
    assert finding.cost_us_per_step == cost


@pytest.mark.parametrize(
    ("starts", "measured"),
    [
        (list(range(0, 14_000, 2_000)), 12_014),
        ([0, 8_000, 8_020, 8_040, 12_000], 54),
    ],
    ids=["recur", "do not recur"],
)
def test_long_gaps_that_recur_are_no_set_up(
    tmp_path: Path, starts: list[float], measured: float
) -> None:
    """In a trace without steps, of which each quarter has a tenth of them."""
    rows = [row for start in starts for row in operators([("aten::add", ADD)], start=1000 + start)]
    steps = StepContext(select(load(write(tmp_path / "t.json", rows)), None))
    assert steps.measured_us == pytest.approx(measured, abs=15)
