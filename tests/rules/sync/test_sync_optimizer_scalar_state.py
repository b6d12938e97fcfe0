"""`sync-optimizer-scalar-state`."""

from __future__ import annotations

from pathlib import Path

from rules.drawn import causes, findings

NAMES = {
    "step": "Optimizer.step#Adam.step",
    "zero": "Optimizer.zero_grad#Adam.zero_grad",
    "mm'": "autograd::engine::evaluate_function: MmBackward0",
}


def test_a_step_counter_on_the_device(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main notes [step                                                 ]
        main ops     [aten::item     ] [aten::item     ] [aten::addcdiv_ ]
        main calls    [wait         ]   [wait         ]   [launch corr=7]
        gpu  kernel [k   ]                                      [k corr=7]
        """,
        NAMES,
    )
    (finding,) = found["sync-optimizer-scalar-state"]
    assert finding.count == 2
    assert finding.confidence == "medium"
    assert finding.examples == [1014.0, 1032.0]


def test_a_value_read_after_the_step_is_the_callers(tmp_path: Path) -> None:
    picture = """
        main notes [step           ]
        main ops                     [aten::item     ]
        main calls                    [wait         ]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-scalar-item"]


def test_a_value_read_in_a_closures_backward_is_not_the_optimizers(tmp_path: Path) -> None:
    picture = """
        main notes [step                               ]
        main ops      [mm'                       ]
        main ops         [aten::item     ]
        main calls        [wait         ]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-scalar-item"]


def test_zeroing_gradients_is_no_step(tmp_path: Path) -> None:
    picture = """
        main notes [zero                   ]
        main ops      [aten::item     ]
        main calls     [wait         ]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-scalar-item"]
