"""`recompute-overhead`."""

from __future__ import annotations

from pathlib import Path

from rules.drawn import findings

from tb_hookview import markers
from tb_hookview.analysis.host.roles import EVALUATE

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
