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


def test_a_sparse_tensor_that_is_coalesced_in_each_call(tmp_path: Path) -> None:
    found = findings(
        tmp_path,
        """
        main ops   [aten::matmul                   ] [aten::matmul                   ]
        main ops     [aten::_coalesce            ]     [aten::_coalesce            ]
        main calls      [wait                  ]          [wait                  ]
        gpu  kernel [k   ]                         [k   ]
        """,
    )
    (finding,) = found["sync-in-operator"]
    assert finding.where == "not in a module, aten::matmul"
    assert "2 syncs" in finding.evidence
    assert "each in aten::_coalesce" in finding.evidence
    assert ".coalesce()" in finding.fix


def test_a_known_operator_inside_it_goes_first(tmp_path: Path) -> None:
    picture = """
        main ops   [mylib::lookup                  ]
        main ops    [aten::item                   ]
        main calls    [wait corr=6              ]
        """
    assert causes(tmp_path, picture) == ["sync-scalar-item"]
