"""`sync-scalar-item`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.drawn import causes, findings


@pytest.mark.parametrize("operator", ["aten::item", "aten::_local_scalar_dense"])
def test_a_value_brought_to_python(tmp_path: Path, operator: str) -> None:
    found = findings(
        tmp_path,
        f"""
        main ops   [{operator:36}] [aten::mm     ]
        main calls    [copy corr=5]  [wait corr=6  ]     [launch corr=7]
        gpu  copy            [D2P corr=5       ]
        gpu  kernel [k   ]                                       [k corr=7]
        """,
    )
    (finding,) = found["sync-scalar-item"]
    assert finding.severity == "high"
    assert finding.count == 1
    assert finding.gain_us_per_step == finding.cost_us_per_step


def test_a_value_that_lies_on_the_host_already(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main ops   [aten::item] [aten::mm     ]
        main calls              [launch corr=7]
        gpu  kernel                     [k corr=7]
        """,
    )
    assert "sync-scalar-item" not in found


def test_a_tensor_is_more_than_a_value(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::copy_                          ]
        main calls    [copy corr=5]  [wait corr=6       ]
        gpu  copy            [D2P corr=5       ]
        """
    assert causes(tmp_path, picture) == ["sync-d2h-copy"]
