"""`sync-nonzero-variable-shape`."""

from __future__ import annotations

from pathlib import Path

from rules.drawn import causes, findings

from tb_hookview.rules.engine.by_place import NO_STEPS


def test_a_result_as_long_as_values_say(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main ops   [aten::argwhere                 ] [aten::mm     ]
        main ops     [aten::nonzero               ]
        main calls    [copy corr=5][wait corr=6 ]    [launch corr=7]
        gpu  copy        [D2P corr=5]
        gpu  kernel [k]                                       [k corr=7]
        """,
    )
    (finding,) = found["sync-nonzero-variable-shape"]
    assert finding.where == "not in a module, aten::argwhere"
    caveat, no_steps = finding.caveats
    assert no_steps == NO_STEPS
    assert "conditional" in caveat


def test_nonzero_of_a_given_size_does_not_sync(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::nonzero_static    ] [aten::item    ]
        main calls    [launch corr=7]           [wait      ]
        gpu  kernel           [k corr=7]
        """
    assert causes(tmp_path, picture) == ["sync-scalar-item"]


def test_a_count_is_read_as_any_value(tmp_path: Path) -> None:
    picture = """
        main ops   [aten::count_nonzero     ] [aten::item    ]
        main calls    [launch corr=7]           [wait      ]
        gpu  kernel           [k corr=7]
        """
    assert causes(tmp_path, picture) == ["sync-scalar-item"]
