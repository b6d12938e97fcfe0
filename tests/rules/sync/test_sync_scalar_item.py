"""`sync-scalar-item`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.drawn import causes, findings, findings_with_types


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
    assert finding.gain_bound_us_per_step == finding.cost_us_per_step


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


@pytest.mark.parametrize(
    ("label", "operator", "remedy"),
    [
        ("sparse_data_dist", "aten::item", "sizes, splits"),
        ("all2all_tw_data:init", "aten::item", "sizes, splits"),
        ("distillation", "aten::item", "metrics"),
        ("metrics", "aten::item", "metrics"),
        ("metrics", "fbgemm::permute", "sizes, splits"),
    ],
)
def test_the_annotation_that_explains_a_read(
    tmp_path: Path, label: str, operator: str, remedy: str
) -> None:
    (finding,) = findings(
        tmp_path,
        f"""
        main notes [around                                     ]
        main ops   [{operator:36}]   [aten::mm     ]
        main ops    [aten::item                        ]
        main calls    [copy corr=5]  [wait corr=6  ]     [launch corr=7]
        gpu  copy            [D2P corr=5       ]
        gpu  kernel [k   ]                                       [k corr=7]
        """,
        {"around": label},
    )["sync-scalar-item"]
    assert f"under {label};" in finding.evidence
    assert remedy in finding.fix


@pytest.mark.parametrize(
    ("between", "remedy"), [("aten::item", ".tolist()"), ("aten::mul", "detached tensors")]
)
def test_elements_over_which_python_iterates(tmp_path: Path, between: str, remedy: str) -> None:
    """One read alone is none of several, nor are those between which something else runs."""
    (finding,) = findings(
        tmp_path,
        f"""
        main ops   [aten::unbind] [{between}      ] [aten::item    ] [aten::mm     ]
        main calls                  [wait corr=5 ]   [wait corr=6 ]   [launch corr=7]
        gpu  kernel [k                         ]                           [k corr=7]
        """,
    )["sync-scalar-item"]
    assert remedy in finding.fix


@pytest.mark.parametrize(
    ("before", "kind", "following", "remedy"),
    [
        ("aten::mul", "int", "aten::full", "sizes, splits"),
        ("aten::mul", "int", "aten::mm", "detached tensors"),
        ("aten::mul", "bool", "aten::full", "detached tensors"),
        ("aten::eq", "int", "aten::full", "detached tensors"),
    ],
)
def test_a_sum_of_integers_before_a_tensor_of_that_size(
    tmp_path: Path, before: str, kind: str, following: str, remedy: str
) -> None:
    """Not where the sum counts what passes a test, as that of right predictions."""
    picture = f"""
        main ops   [{before}] [aten::to] [aten::sum] [aten::item  ] [aten::add] [{following}  ]
        main calls                                     [wait corr=5 ]             [launch corr=7]
        gpu  kernel [k                                             ]                       [k corr=7]
        """
    types = {"aten::sum": kind, "aten::item": "long int"}
    (finding,) = findings_with_types(tmp_path, picture, types)["sync-scalar-item"]
    assert remedy in finding.fix
