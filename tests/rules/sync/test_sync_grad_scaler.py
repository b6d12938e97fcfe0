"""`sync-grad-scaler`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.drawn import causes, findings

NAMES = {
    "step": "Optimizer.step#Adam.step",
    "check": "aten::_amp_foreach_non_finite_check_and_unscale_",
    "update": "aten::_amp_update_scale_",
}
READ = """
    main ops   [check        ] [aten::item      ]
    main notes                                    [step                ]
    main ops                                        [aten::addcdiv_ ]
    main calls [launch corr=1]  [wait          ]     [launch corr=7]
    gpu  kernel        [k corr=1  ]                       [k corr=7]
    """


def test_the_read_of_the_overflow_flag_after_the_check(tmp_path: Path) -> None:
    found = findings(tmp_path, READ, NAMES)
    (finding,) = found["sync-grad-scaler"]
    assert finding.count == 1
    assert finding.caveats[0].startswith("The saving is of the wait alone")
    assert found.rules == {"sync-grad-scaler"}


@pytest.mark.parametrize(
    ("device", "begins"),
    [
        ({"name": "NVIDIA A100-SXM4-40GB"}, "Train in bf16"),
        ({"name": "Tesla T4", "computeMajor": 7, "computeMinor": 5}, "Use a fused=True optimizer"),
        ({"name": "Tesla V100-SXM2-16GB"}, "Use a fused=True optimizer"),
    ],
)
def test_bf16_comes_first_where_the_device_has_tensor_cores_for_it(
    tmp_path: Path, device: dict[str, Any], begins: str
) -> None:
    found = findings(tmp_path, READ, NAMES, deviceProperties=[{"id": 0, **device}])
    (finding,) = found["sync-grad-scaler"]
    assert finding.fix.startswith(begins)


def test_the_same_with_clipping_in_between(tmp_path: Path) -> None:
    picture = """
        main ops   [check] [aten::_foreach_mul_] [aten::item      ]
        main notes                                                  [step   ]
        main calls                                [wait          ]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-grad-scaler"]


def test_a_step_that_is_passed_over_is_followed_by_the_update(tmp_path: Path) -> None:
    picture = """
        main ops   [check] [aten::mul] [aten::item      ] [update]
        main calls                      [wait          ]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-grad-scaler"]


def test_a_loss_read_after_the_update(tmp_path: Path) -> None:
    picture = """
        main ops   [check] [update] [aten::item      ] [aten::mm]
        main calls                   [wait          ]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-scalar-item"]


def test_a_loss_read_before_the_scaler_reads_its_flag(tmp_path: Path) -> None:
    picture = """
        main ops   [check] [aten::item      ] [aten::item      ]
        main notes                                               [step   ]
        main calls          [wait          ]   [wait          ]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-scalar-item", "sync-grad-scaler"]


def test_a_loss_read_before_a_step_without_a_scaler(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::mean] [aten::item      ]
        main notes                                 [step   ]
        main calls               [wait          ]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-scalar-item"]


def test_a_loss_read_before_the_next_step_is_not_that_of_the_last_check(tmp_path: Path) -> None:
    picture = """
        main ops   [check]              [aten::mean] [aten::item      ]
        main notes         [step      ]                                 [step   ]
        main calls                                    [wait          ]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-scalar-item"]


def test_a_norm_read_between_check_and_step_for_the_log(tmp_path: Path) -> None:
    picture = """
        main ops   [check] [aten::mul] [aten::item      ] [aten::mul]
        main notes                                                     [step   ]
        main calls                      [wait          ]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-scalar-item"]
