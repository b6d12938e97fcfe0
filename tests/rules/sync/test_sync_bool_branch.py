"""`sync-bool-branch`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.drawn import causes, findings


def test_a_branch(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main ops   [aten::gt] [aten::is_nonzero               ] [aten::mm     ]
        main ops                [aten::item                  ]
        main calls               [copy corr=5][wait corr=6 ]    [launch corr=7]
        gpu  copy                   [D2P corr=5]
        gpu  kernel [k]                                                  [k corr=7]
        """,
    )
    (finding,) = found["sync-bool-branch"]
    assert "NaN" not in finding.evidence
    assert found.rules == {"sync-bool-branch"}


def test_a_branch_on_a_check_for_nan_is_named_so(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main ops   [aten::isnan] [aten::any] [aten::is_nonzero   ]
        main calls                             [wait corr=6 ]
        """,
    )
    (finding,) = found["sync-bool-branch"]
    assert "NaN" in finding.evidence


def test_any_alone_does_not_sync(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main ops   [aten::any       ] [aten::where      ]
        main calls  [launch corr=7]     [launch corr=8]
        gpu  kernel           [k corr=7]     [k corr=8]
        """,
    )
    assert "sync-bool-branch" not in found


def test_a_value_that_is_read_without_a_branch(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::any] [aten::item       ]
        main calls               [wait corr=6 ]
        """
    assert causes(tmp_path, picture) == ["sync-scalar-item"]


@pytest.mark.parametrize(
    ("between", "times", "remedy"),
    [
        ("aten::select", 8, "Compare whole tensors"),
        ("aten::select", 3, "torch.where"),
        ("aten::mul", 8, "torch.where"),
    ],
)
def test_elements_compared_one_by_one(
    tmp_path: Path, between: str, times: int, remedy: str
) -> None:
    (finding,) = findings(
        tmp_path,
        f"""
        main ops   {f"[{between}] [aten::eq] [aten::is_nonzero] " * times}
        main calls {f"{' ' * len(between)}               [wait    ]        " * times}
        gpu kernel [{"k" + " " * 42 * times}]
        """,
    )["sync-bool-branch"]
    assert finding.count == times
    assert remedy in finding.fix
