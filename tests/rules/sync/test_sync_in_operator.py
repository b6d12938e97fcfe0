"""`sync-in-operator`."""

from __future__ import annotations

from pathlib import Path

from rules.drawn import causes, findings


def test_an_operator_that_nothing_is_known_of(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main ops   [mylib::lookup                  ] [aten::mm     ]
        main calls    [wait corr=6              ]    [launch corr=7]
        gpu  kernel [k   ]                                   [k corr=7]
        """,
    )
    (finding,) = found["sync-in-operator"]
    assert finding.where == "not in a module, mylib::lookup"
    assert finding.confidence == "medium"


def test_a_known_operator_inside_it_goes_first(tmp_path: Path) -> None:
    picture = """
        main ops   [mylib::lookup                  ]
        main ops    [aten::item                   ]
        main calls    [wait corr=6              ]
        """
    assert causes(tmp_path, picture) == ["sync-scalar-item"]
