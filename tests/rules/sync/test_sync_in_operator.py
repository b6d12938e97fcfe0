"""`sync-in-operator`."""

from __future__ import annotations

from pathlib import Path

import grid
import simulation.drawn
from rules.diagnosed import diagnosed
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


def test_the_evidence_names_the_operators_inside(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main ops   [mylib::lookup                           ] [aten::mm     ]
        main ops    [mylib::search][mylib::search][mylib::hash]
        main calls    [wait corr=5]  [wait corr=6]  [wait corr=8] [launch corr=7]
        gpu  kernel [k   ]                                             [k corr=7]
        """,
    )
    (finding,) = found["sync-in-operator"]
    assert "; in mylib::search (2), mylib::hash (1); " in finding.evidence


def test_a_copy_that_the_trace_lacks_on_the_device(tmp_path: Path) -> None:
    """The first call held the host for 1.5 ms; the second may only have queued a copy."""
    picture = """
        main ops   [aten::to              ] [aten::to       ]
        main calls   [copy         ][wait]    [copy][wait   ]
        """
    drawn = simulation.drawn.events(picture)
    waits, copies = diagnosed(grid.write(tmp_path / "t.json", drawn))["sync-in-operator"]
    assert waits.evidence.startswith("1 sync in the trace, the host blocked for 900 us")
    assert copies.evidence.startswith("1 sync in the trace, the host blocked for 2.10 ms")
    assert "copies, to or from the device" in copies.evidence
    assert "pinned memory" in copies.fix
    assert copies.cost_us_per_step is None


def test_a_copy_outside_of_operators_is_not_one_that_the_trace_lacks(tmp_path: Path) -> None:
    """As of an extension, or by a clock that is ahead of its operator's."""
    picture = """
        main notes [exchange                 ]
        main ops                             [aten::mm     ]
        main calls   [copy corr=5         ]    [launch corr=7]
        gpu  copy        [D2P corr=5     ]
        gpu  kernel                              [k corr=7]
        """
    names = {"copy": "cudaMemcpyAsync", "D2P": "Memcpy DtoH (Device -> Pageable)"}
    path = grid.write(tmp_path / "t.json", grid.events(picture, names))
    (finding,) = diagnosed(path)["sync-in-operator"]
    assert "lacks the copy" not in finding.evidence


def test_where_a_graph_is_recorded(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main ops   [region                                ] [region                ]
        main calls    [waitall        ] [capture]              [waitall        ]
        gpu  kernel [k             ]                        [k             ]
        """,
        {"region": "Torch-Compiled Region: 0/0", "capture": "cudaStreamBeginCapture"},
    )
    other, records = found["sync-in-operator"]
    assert "a CUDA graph is recorded" in records.evidence
    assert "before the loop" in records.fix
    assert "CUDA graph" not in other.evidence.replace("out of a CUDA graph", "")


def test_a_known_operator_inside_it_goes_first(tmp_path: Path) -> None:
    picture = """
        main ops   [mylib::lookup                  ]
        main ops    [aten::item                   ]
        main calls    [wait corr=6              ]
        """
    assert causes(tmp_path, picture) == ["sync-scalar-item"]
