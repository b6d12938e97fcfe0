"""`graph-pause`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.drawn import findings

RULE = "graph-pause"
NAMES = {"graph": "cudaGraphLaunch", "hip": "hipGraphLaunch"}
LATE = """
    main ops    [aten::add                     ]      [aten::add        ]
    main calls     [{launch} corr=5]                    [{launch} corr=7]
    gpu  kernel [k  ][a corr=5 ][b corr=5      ]                         [c corr=7  ]
    """
WITHIN = """
    main ops    [aten::add                                              ]
    main calls     [{launch} corr=5]
    gpu  kernel [k  ][a corr=5 ]                [b corr=5      ]
    """


@pytest.mark.parametrize("launch", ["graph", "hip"])
def test_a_graph_is_launched_late(tmp_path: Path, launch: str) -> None:
    (finding,) = findings(tmp_path, LATE.format(launch=launch), NAMES)[RULE]
    assert finding.where == "before graph launches"
    assert finding.cost_us_per_step
    assert "Launch the next graph" in finding.fix
    call = len(f"[{launch} corr=7]")
    assert f"25.0 us, {call}.0 us of it in the launching call" in finding.evidence


def test_the_only_launch_of_a_graph_follows_no_other(tmp_path: Path) -> None:
    """It uploads the graph, once."""
    picture = """
        main ops    [aten::add    ]                   [aten::add        ]
        main calls     [one corr=5]                     [graph corr=7]
        gpu  kernel    [a corr=5   ]                                   [c corr=7  ]
        """
    assert RULE not in findings(tmp_path, picture, {**NAMES, "one": "cudaLaunchKernel"})
    later = picture.replace("one", "graph", 1)
    assert RULE in findings(tmp_path, later, NAMES)


def test_a_gap_within_a_graph_is_reported_and_not_charged(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, WITHIN.format(launch="graph"), NAMES)[RULE]
    assert (finding.where, finding.cost_us_per_step) == ("within graphs", 0)
    assert "16.0 us, the longest" in finding.evidence
    assert any("do not list" in caveat for caveat in finding.caveats)
    assert "Launch the next graph" not in finding.fix, "the host cannot shorten it"


@pytest.mark.parametrize("picture", [LATE, WITHIN])
def test_kernels_that_are_launched_one_by_one(tmp_path: Path, picture: str) -> None:
    assert RULE not in findings(tmp_path, picture.format(launch="launch"), NAMES)


def test_a_graph_without_a_gap(tmp_path: Path) -> None:
    picture = """
        main ops    [aten::add                     ]
        main calls     [graph corr=5]
        gpu  kernel [k  ][a corr=5 ][b corr=5      ]
        """
    assert RULE not in findings(tmp_path, picture, NAMES)


def test_a_graph_that_is_known_by_its_number(tmp_path: Path) -> None:
    """CUPTI numbers the events of graphs, whatever call launched them."""
    names = {"begin": "cudaGraphExecLaunch"}
    plain = WITHIN.format(launch="begin")
    assert RULE not in findings(tmp_path, plain, names)
    numbered = plain.replace("[b corr=5      ]", "[b corr=5 graph=3]")
    (finding,) = findings(tmp_path, numbered, names)[RULE]
    assert (finding.where, finding.cost_us_per_step) == ("within graphs", 0)
    assert finding.evidence.startswith("1 gap before kernels of graphs")
