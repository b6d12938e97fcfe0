"""`recompute-overhead`."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from analysis import owners
from rules.drawn import findings

from tb_hookview import markers
from tb_hookview.analysis.host.rows import EVALUATE
from tb_hookview.analysis.selection import Selection
from tb_hookview.loading import load
from tb_hookview.simulation.questions import scaled
from tb_hookview.simulation.simulator import Simulator

NAMES = {
    "fc": markers.encode("forward", "body.fc", "Linear"),
    "eval": EVALUATE + "CheckpointFunctionBackward",
    "node": "CheckpointFunctionBackward",
}
BACKWARD = """
    main     notes [ProfilerStep#1                                                                ]
    main     ops     [fc                    ]
    main     ops      [aten::mm seq=1      ]
    main     calls       [launch corr=5]
    autograd ops                              [eval seq=1 F=1                             ]
    autograd ops                               [node seq=1 F=1                           ]
    autograd notes                              [{again}                ]
    autograd calls                                    [launch corr=7]
    gpu      kernel         [k corr=5]                       [k corr=7]
    """


def test_a_forward_runs_again_in_the_backward(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, BACKWARD.format(again="fc"), NAMES)["recompute-overhead"]
    assert finding.module == "body.fc"
    assert finding.cost_us_per_step == 10
    assert finding.gain_bound_us_per_step is None
    assert finding.gain_unknown is None
    assert "memory has to hold" in finding.caveats[0]


ON_ONE_THREAD = """
    main notes  [ProfilerStep#1                                                                     ]
    main ops     [fc              ]
    main ops      [aten::mm seq=4]
    main calls     [launch corr=5]
    main ops                          [mm' seq=4 F=1                                       ]
    main ops                              [fc              ]     [aten::mm] [aten::mm]
    main ops                               [aten::mm seq=6]
    main calls                              [launch corr=7]
    gpu  kernel    [k corr=5     ]          [k corr=7     ]
"""


def test_without_it_the_host_runs_no_forward_again(tmp_path: Path) -> None:
    """The host binds: 18 us of the forward, 4 us before it and 5 us after it in the node."""
    path = grid.write(tmp_path / "t.json", grid.events(ON_ONE_THREAD, owners.NAMES))
    selection = Selection(load(path), None)
    simulator = Simulator(selection)
    gone = scaled(selection.analysis, {"recomputation": 0.0})
    assert simulator.unchanged.step - simulator.step(gone) == (18 + 4 + 5) * 1000


def test_its_gain_is_that_of_the_host_too(tmp_path: Path) -> None:
    """The device needs no less time than the host, which binds: the gain is the host's 27 us."""
    (finding,) = findings(tmp_path, ON_ONE_THREAD, owners.NAMES)["recompute-overhead"]
    assert finding.cost_us_per_step == 15
    assert finding.gain_us_per_step == 18 + 4 + 5


def test_a_backward_of_its_own(tmp_path: Path) -> None:
    found = findings(tmp_path, BACKWARD.format(again="x"), NAMES)
    assert "recompute-overhead" not in found


def test_a_small_share(tmp_path: Path) -> None:
    wide = " " * 1000
    picture = (
        BACKWARD.format(again="fc")
        .replace("[k corr=7]", f"[k corr=7] [other{wide}]")
        .replace("[ProfilerStep#1", f"[ProfilerStep#1{wide}")
    )
    assert "recompute-overhead" not in findings(tmp_path, picture, NAMES)


ON_HOST = """
    main notes  [ProfilerStep#1                                                                     ]
    main ops     [fc              ]
    main ops      [aten::mm seq=4]
    main ops                          [mm' seq=4 F=1                                       ]
    main ops                              [fc              ]     [aten::mm] [aten::mm]
    main ops                               [aten::mm seq=6]
"""


def test_on_the_cpu_the_forwards_themselves_count(tmp_path: Path) -> None:
    manifest = {"version": 1, "device": {"parameters": ["cpu"]}, "modules": []}
    root = {markers.MANIFEST_KEY: manifest}
    (finding,) = findings(tmp_path, ON_HOST, owners.NAMES, **root)["recompute-overhead"]
    assert finding.module == "fc"
    assert finding.cost_us_per_step == 18
    assert finding.gain_us_per_step == 18 + 4 + 5
    assert finding.evidence.startswith(
        "forwards that run again in the backward pass take the CPU 18.0 us per step, 21% of it, "
        "in 1 module: fc (18.0 us)"
    )
    assert "checkpoint also calls Python for each saved tensor" in finding.caveats[1]
    of_device = ON_HOST.replace("main ops                  ", "auto ops                  ")
    assert "recompute-overhead" not in findings(tmp_path, of_device, owners.NAMES)


@pytest.mark.parametrize(
    ("node", "again", "own"),
    [
        ("AdjointBackward", "", True),
        ("CheckpointFunctionBackward", "", False),
        ("GLUBackward", "GLU", False),  # the last operator of a checkpointed block
    ],
)
def test_a_function_that_runs_modules_again_is_named(
    tmp_path: Path, node: str, again: str, own: bool
) -> None:
    """An adjoint, or a reversible layer."""
    picture = ON_HOST.replace("[mm' seq", "[ow' seq")
    picture = picture.replace("[aten::mm seq=6]", "[own seq=6     ]") if again else picture
    names = {**owners.NAMES, "ow'": EVALUATE + node, "own": again}
    (finding,) = findings(tmp_path, picture, names)["recompute-overhead"]
    assert (finding.title == "A custom autograd function recomputes the forward") == own
    assert finding.where == (node if own else "the backward pass")


def test_the_modules_that_cost_most_are_named(tmp_path: Path) -> None:
    four = "[a  ][b       ][c    ][d         ]"
    picture = ON_HOST.replace("[fc              ]     [aten::mm] [aten::mm]", four)
    picture = picture.replace("[aten::mm seq=6]", "")
    names = {name: markers.encode("forward", f"body.{name}", "Linear") for name in "abcd"}
    manifest = {"version": 1, "device": {"parameters": ["cpu"]}, "modules": []}
    root = {markers.MANIFEST_KEY: manifest}
    (finding,) = findings(tmp_path, picture, owners.NAMES | names, **root)["recompute-overhead"]
    assert "in 4 modules: body.d (12.0 us), body.b (10.0 us), body.c (7.00 us) and 1 more" in (
        finding.evidence
    )
