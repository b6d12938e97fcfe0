"""`sync-grad-clip`."""

from __future__ import annotations

from pathlib import Path

from rules.drawn import causes, findings

NAMES = {
    "norm": "aten::linalg_vector_norm",
    "scale": "aten::_foreach_mul_",
    "clamp": "aten::clamp",
    "isnan": "aten::isnan",
    "isinf": "aten::isinf",
    "or": "aten::logical_or",
    "add": "aten::add",
    "rcp": "aten::reciprocal",
    "mul": "aten::mul",
    "mean": "aten::mean",
    "lt": "aten::lt",
}


def test_the_check_that_the_norm_is_finite(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main ops   [norm] [isnan] [isinf] [or] [aten::is_nonzero  ] [mul          ]
        main ops                                 [aten::item     ]
        main calls                                 [wait        ]   [launch corr=7]
        gpu  kernel [k      ]                                                 [k corr=7]
        """,
        NAMES,
    )
    (finding,) = found["sync-grad-clip"]
    assert found.rules == {"sync-grad-clip"}
    assert (finding.cost_us_per_step or 0) > 0


def test_the_norm_read_by_the_caller(tmp_path: Path) -> None:
    picture = """
        main ops   [norm] [add] [rcp] [mul] [clamp] [scale] [aten::item      ]
        main calls                                           [wait          ]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-grad-clip"]


def test_a_branch_on_another_comparison(tmp_path: Path) -> None:
    picture = """
        main ops   [norm] [lt] [aten::is_nonzero  ]
        main calls                 [wait        ]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-bool-branch"]


def test_a_check_that_a_loss_is_finite(tmp_path: Path) -> None:
    picture = """
        main ops   [mean] [isnan] [aten::is_nonzero  ]
        main calls                    [wait        ]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-bool-branch"]


def test_a_norm_that_is_read_and_clips_nothing(tmp_path: Path) -> None:
    picture = """
        main ops   [norm] [aten::item      ]
        main calls         [wait          ]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-scalar-item"]


def test_a_loss_read_long_after_clipping(tmp_path: Path) -> None:
    picture = """
        main ops   [norm] [add] [clamp] [scale] [mean] [aten::sum] [aten::item      ]
        main calls                                                   [wait          ]
        """
    assert causes(tmp_path, picture, NAMES) == ["sync-scalar-item"]
