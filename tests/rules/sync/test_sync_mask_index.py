"""`sync-mask-index`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.drawn import causes, findings


@pytest.mark.parametrize(
    ("operator", "remedy"),
    [
        ("aten::index", "mask.nonzero() once"),
        ("aten::index_put_", "masked_fill"),
        ("aten::masked_select", "mask.nonzero() once"),
    ],
)
def test_a_mask_as_index(tmp_path: Path, operator: str, remedy: str) -> None:
    found = findings(
        tmp_path,
        f"""
        main ops   [{operator:36}] [aten::mm     ]
        main ops     [aten::nonzero                    ]
        main calls    [copy corr=5][wait corr=6 ]        [launch corr=7]
        gpu  copy        [D2P corr=5]
        gpu  kernel [k]                                           [k corr=7]
        """,
    )
    (finding,) = found["sync-mask-index"]
    assert finding.where == f"not in a module, {operator}"
    others = {"mask.nonzero() once", "masked_fill"} - {remedy}
    assert remedy in finding.fix
    assert not any(other in finding.fix for other in others)


def test_the_backward_of_a_selection_writes_by_its_mask(tmp_path: Path) -> None:
    picture = """
        main ops   [{node}      ] [aten::mm     ]
        main ops    [aten::index_put_                  ]
        main ops     [aten::nonzero                   ]
        main calls    [copy corr=5][wait corr=6 ]        [launch corr=7]
        gpu  copy        [D2P corr=5]
        gpu  kernel [k]                                           [k corr=7]
        """
    for node, remedy in (("IndexBackward0", "mask.nonzero() once"), ("MyBackward", "masked_fill")):
        name = {"n": f"autograd::engine::evaluate_function: {node}"}
        drawn = picture.format(node="n".ljust(30))
        (finding,) = findings(tmp_path, drawn, name)["sync-mask-index"]
        assert remedy in finding.fix


def test_a_mask_inside_of_nms_is_advised_about_nms(tmp_path: Path) -> None:
    picture = """
        main ops   [torchvision::nms                    ] [aten::mm     ]
        main ops    [aten::index                       ]
        main ops     [aten::nonzero                   ]
        main calls    [copy corr=5][wait corr=6 ]        [launch corr=7]
        gpu  copy        [D2P corr=5]
        gpu  kernel [k]                                           [k corr=7]
        """
    (finding,) = findings(tmp_path, picture)["sync-mask-index"]
    assert "batched_nms" in finding.fix


def test_nonzero_by_itself(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::nonzero               ] [aten::index    ]
        main calls    [copy corr=5][wait corr=6 ]
        gpu  copy        [D2P corr=5]
        """
    assert causes(tmp_path, picture) == ["sync-nonzero-variable-shape"]


def test_an_index_from_the_host(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::index                        ]
        main ops    [aten::to                         ]
        main calls    [copy corr=5][wait corr=6 ]
        gpu  copy        [P2D corr=5]
        """
    assert causes(tmp_path, picture) == ["sync-host-index-or-slice"]
