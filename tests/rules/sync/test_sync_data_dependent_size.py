"""`sync-data-dependent-size`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.drawn import causes, findings


@pytest.mark.parametrize(
    ("operator", "confidence", "fix"),
    [
        ("aten::repeat_interleave", "high", "output_size"),
        ("aten::one_hot", "high", "num_classes"),
        ("aten::linalg_cholesky", "high", "check_errors"),
        ("aten::linalg_inv", "high", "check_errors"),
        ("aten::_unique2", "medium", "segments"),
        ("aten::unique_consecutive", "medium", "segments"),
        ("aten::bincount", "medium", "scatter_add"),
        ("aten::histc", "medium", "min and max"),
        ("aten::_coalesce", "medium", "before the loop"),
    ],
)
def test_a_size_that_the_device_knows(
    tmp_path: Path, operator: str, confidence: str, fix: str
) -> None:
    found = findings(
        tmp_path,
        f"""
        main ops   [{operator:36}] [aten::mm     ]
        main ops     [aten::item               ]
        main calls    [copy corr=5][wait corr=6 ]        [launch corr=7]
        gpu  copy        [D2P corr=5]
        gpu  kernel [k]                                           [k corr=7]
        """,
    )
    (finding,) = found["sync-data-dependent-size"]
    assert finding.confidence == confidence
    assert "; in aten::item; " in finding.evidence
    assert fix in finding.fix
    assert found.rules == {"sync-data-dependent-size"}


@pytest.mark.parametrize("operator", ["aten::linalg_vector_norm", "aten::count_nonzero"])
def test_operators_whose_size_is_known(tmp_path: Path, operator: str) -> None:
    picture = f"""
        main ops   [{operator:36}]
        main ops     [aten::item               ]
        main calls    [copy corr=5][wait corr=6 ]
        """
    assert causes(tmp_path, picture) == ["sync-scalar-item"]


def test_an_operator_of_a_given_size_does_not_sync(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main ops   [aten::repeat_interleave     ]
        main calls    [launch corr=7]
        gpu  kernel           [k corr=7]
        """,
    )
    assert "sync-data-dependent-size" not in found
