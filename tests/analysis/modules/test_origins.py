"""What names a module: marks, labels of stacks, or an annotation that is none."""

from __future__ import annotations

from pathlib import Path

import pytest
import shared_traces
from analysis.owners import report_of
from timeline.drawn import timeline_of

from tb_hookview.loading import analyze, load
from tb_hookview.timeline import Timeline

NODES = """
    auto ops                                [mm' seq=4 F=1][acc']
"""
MARKED = "main ops [root                 ]\nmain ops  [fc                  ]\n"
LABELLED = "main python [Linear              ]\n"
ANNOTATED = "main notes [fwd                 ]\n"
OPERATOR = "main ops     [mm seq=4     ]\n"


@pytest.mark.parametrize(
    ("calls", "origin"),
    [(MARKED, "recorder"), (LABELLED, "python_stack"), (ANNOTATED, "annotation")],
)
def test_time_by_what_names_its_module(tmp_path: Path, calls: str, origin: str) -> None:
    coverage = report_of(tmp_path, calls + OPERATOR + NODES.strip()).coverage
    attributed = coverage.backward_host_us - coverage.unattributed_host_us
    assert coverage.by_origin == {origin: attributed}
    assert attributed > 0


def test_an_annotation_has_no_lane_among_the_modules_of_the_backward(tmp_path: Path) -> None:
    labelled = timeline_of(tmp_path, LABELLED + OPERATOR + NODES.strip())
    assert len(labelled.lanes_of("backward")) == 1
    annotated = timeline_of(tmp_path, ANNOTATED + OPERATOR + NODES.strip())
    assert len(annotated.lanes_of("backward")) == 0
    assert len(annotated.lanes_of("forward")) == 1


def test_an_annotation_around_modules_has_no_span(tmp_path: Path) -> None:
    picture = """
        main notes  [fwd                       ]
        main python  [Linear              ]
        main ops       [mm seq=4     ]      [mm seq=5]
        auto ops                                       [mm' seq=5 F=1][mm' seq=4 F=1]
    """
    timeline = timeline_of(tmp_path, picture)
    (number,) = timeline.lanes_of("backward")
    shown = {timeline.names.texts[name] for name in timeline.lane(number).name.tolist()}
    assert shown == {"Linear_0"}


def test_a_real_training_whose_backward_went_to_annotations() -> None:
    path = shared_traces.shared_trace("hta_a100_nccl_training")
    coverage = analyze(path).data.coverage
    assert coverage.by_origin == {"annotation": coverage.backward_device_us}
    assert len(Timeline(load(path)).lanes_of("backward")) == 0


SHARED = """
    main python [Net                                                ]
    main python  [A                      ] [B                      ]
    main python    [S      ]                  [S      ][Head      ]
    main python     [Inner]                    [Inner]   [Inner ]
"""


def test_a_module_that_several_call_is_below_what_is_around_all_of_its_calls(
    tmp_path: Path,
) -> None:
    """Otherwise the first to call it takes longer than its own calls."""
    names = {name: f"nn.Module: {name}_0" for name in ("Net", "A", "B", "S", "Head", "Inner")}
    modules = {module.path: module for module in report_of(tmp_path, SHARED, names).modules}
    parents = {path: module.parent for path, module in modules.items()}
    assert parents == {
        "Net_0": None,
        "A_0": "Net_0",
        "B_0": "Net_0",
        "S_0": "Net_0",
        "Head_0": "B_0",
        "Inner_0": "Net_0",
    }
    assert modules["A_0"].forward.host_us == modules["A_0"].forward.self_host_us
    assert modules["S_0"].calls == 2
