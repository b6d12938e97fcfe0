"""Which module a node belongs to, and how it is known."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from analysis.owners import EVALUATE, NAMES, module, report_of

from tb_hookview import markers
from tb_hookview.loading import load
from tb_hookview.report.build import build_report


def test_a_node_belongs_to_the_module_whose_operator_made_it(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main ops   [root                                              ]
        main ops    [fc                   ]   [relu              ]
        main ops      [aten::mm seq=4]          [aten::relu seq=5]
        auto ops                                                    [relu' seq=5 F=1]  [mm' seq=4 F=1      ]
        auto calls                                                                       [launch corr=9]
        gpu  kernel                                                                            [gemm corr=9]
        """,
    )
    assert module(data, "relu").backward.self_host_us == 17
    assert module(data, "fc").backward.self_host_us == 21
    assert module(data, "fc").backward.self_device_us == 13
    assert module(data, "fc").parent == ""
    assert module(data, "").backward.device_us == 13
    assert module(data, "").backward.self_device_us == 0
    assert data.coverage.by_evidence == {"sequence": 13.0}
    assert [(node.name, node.count, node.device_us) for node in data.nodes] == [
        ("MmBackward0", 1, 13.0),
        ("ReluBackward0", 1, 0.0),
    ]


def test_the_last_operator_with_a_number_made_the_node(tmp_path: Path) -> None:
    """`aten::to` in relu records number 4 too, but the node is made by the later aten::mm in fc."""
    data = report_of(
        tmp_path,
        """
        main ops   [relu             ]  [fc                    ]
        main ops     [aten::to seq=4]     [aten::mm seq=4]
        auto ops                                                   [mm' seq=4 F=1]
        """,
    )
    assert module(data, "fc").backward.self_host_us == 15
    assert module(data, "relu").backward.self_host_us == 0


def test_a_number_used_again_in_the_next_step_is_distinguished_by_time(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main ops   [fc              ]                    [relu              ]
        main ops    [aten::mm seq=4]                      [aten::relu seq=4]
        auto ops                      [mm' seq=4 F=1   ]                       [relu' seq=4 F=1]
        """,
    )
    assert module(data, "fc").backward.self_host_us == 18
    assert module(data, "relu").backward.self_host_us == 17


def test_a_gradient_that_is_handed_out_is_nobodys_whatever_number_torch_copied_to_it(
    tmp_path: Path,
) -> None:
    """`autograd.grad` inside of a node: torch gives its sink the number of the node around it."""
    data = report_of(
        tmp_path,
        """
        main ops   [root             ]
        main ops    [fc             ]
        main ops     [aten::mm seq=4]
        auto ops                      [mm'                                    ]
        auto ops                        [acc' seq=4 F=1]  [mm_node seq=4 F=1]
        """,
        {"mm_node": "MmBackward0"},
    )
    assert module(data, "fc").backward.self_host_us == 41 - 16
    assert data.coverage.unattributed_host_us == 16


def test_a_number_in_the_middle_of_an_operator_is_that_operators(tmp_path: Path) -> None:
    """torch makes a view's node again while an operator changes the view in place."""
    data = report_of(
        tmp_path,
        """
        main ops   [fc               ]  [relu               ]
        main ops    [aten::mul seq=4]    [aten::relu seq=7]
        auto ops                                                [relu' seq=7 F=1] [view' seq=6 F=1] [mm' seq=3 F=1]
        """,
        {"view'": EVALUATE + "AsStridedBackward0"},
    )
    assert module(data, "fc").backward.self_host_us == 17
    assert module(data, "relu").backward.self_host_us == 17
    assert data.coverage.by_evidence_host == {"sequence": 34.0}
    assert data.coverage.unattributed_by_reason == {"no forward operator found": 15.0}


def test_a_node_that_a_checkpoint_recomputes_outside_of_every_call_is_the_checkpoints(
    tmp_path: Path,
) -> None:
    """Also where that checkpoint is inside of another; not what the engine itself makes."""
    data = report_of(
        tmp_path,
        """
        main ops [fc              ]
        main ops  [Fn seq=4      ]
        main ops                    [ckpt' seq=4 F=1                                                            ]
        main ops                     [aten::add seq=5]  [ckpt' seq=5 F=1                             ]
        main ops                                         [aten::mm seq=6]  [mm' seq=6 F=1] [root_ seq=9 F=1]
        """,
        {"root_": EVALUATE + "torch::autograd::GraphRoot"},
    )
    assert data.coverage.unattributed_host_us == 17
    assert module(data, "fc").backward.self_host_us == data.coverage.backward_host_us - 17
    assert set(data.coverage.by_evidence_host) == {"sequence", "recompute"}


def test_a_mark_names_the_owner_of_an_accumulated_gradient(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main ops   [fc              ]
        main ops    [aten::mm seq=4]
        auto ops                      [mm' seq=4 F=1]  [acc'            ]  [acc'   ]
        auto ops                                         [owns_fc]
        """,
    )
    assert module(data, "fc").backward.self_host_us == 15 + 18
    assert data.coverage.unattributed_host_us == 9
    assert data.coverage.by_evidence_host == {"sequence": 15.0, "mark": 18.0}
    assert data.coverage.unattributed_by_reason == {"gradient accumulation, parameter unknown": 9.0}


def test_without_marks_a_gradient_follows_the_node_that_completed_it(tmp_path: Path) -> None:
    """On the node's own thread and level: a backward nested in a node has a level of its own."""
    data = report_of(
        tmp_path,
        """
        main python  [Net                                          ]
        main python    [Linear                ]  [ReLU            ]
        main ops         [aten::mm seq=4]          [aten::relu seq=5]
        auto ops                                                        [relu' seq=5 F=1          ]  [acc'  ] [mm' seq=4 F=1]  [acc'    ]
        auto ops                                                           [mm' seq=4 F=1] [acc' ]
        oth  ops                                                                                                               [acc'   ]
        """,
        {"ReLU": "nn.Module: ReLU_0"},
    )
    assert module(data, "Linear_0").backward.self_host_us == 15 + 7 + 15 + 10
    assert module(data, "ReLU_0").backward.self_host_us == 27 - 15 - 7 + 8
    assert data.coverage.by_evidence == {"python_stack": 35.0, "follows": 25.0}
    assert data.coverage.unattributed_by_reason == {"gradient accumulation, parameter unknown": 9.0}


@pytest.mark.parametrize(("markers_used", "follows"), [(["forward"], 9.0), (["auto"], None)])
def test_where_gradients_are_marked_one_without_a_mark_is_nobodys(
    tmp_path: Path, markers_used: list[str], follows: float | None
) -> None:
    data = report_of(
        tmp_path,
        """
        main ops   [fc              ]
        main ops    [aten::mm seq=4]
        auto ops                      [mm' seq=4 F=1]  [acc'   ]
        """,
        **{markers.MANIFEST_KEY: {"version": 2, "markers": markers_used}},
    )
    assert data.coverage.by_evidence.get("follows") == follows


def test_a_node_between_the_marks_of_a_module_is_the_modules(tmp_path: Path) -> None:
    """Without a sequence number; the innermost pair of marks counts, on the node's own thread."""
    data = report_of(
        tmp_path,
        """
        main ops   [root        ]
        main ops    [fc] [relu]
        auto ops                   [b0] [b1]  [mm'       ] [a1]  [relu'   ] [a0] [mm'   ]
        oth  ops                                             [mm'       ]
        """,
        {
            "b0": markers.encode("before backward", "", "Net"),
            "b1": markers.encode("before backward", "fc", "Linear"),
            "a1": markers.encode("after backward", "fc", "Linear"),
            "a0": markers.encode("after backward", "", "Net"),
        },
    )
    assert module(data, "fc").backward.self_host_us == 12
    assert module(data, "").backward.self_host_us == 10
    assert data.coverage.by_evidence == {"backward_mark": 22.0}
    assert data.coverage.unattributed_host_us == 8 + 12


def test_python_stacks_name_modules_where_there_are_no_marks(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main python [Net                    ]
        main python  [Linear              ]
        main ops        [aten::mm seq=4]
        auto ops                                  [mm' seq=4 F=1]
        """,
    )
    assert module(data, "Linear_0").parent == "Net_0"
    assert module(data, "Linear_0").module_class == "Linear"
    assert data.coverage.by_evidence == {"python_stack": 15.0}


def test_marks_silence_the_stack_rows_of_the_same_calls(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main python [Net                         ]
        main ops     [root                      ]
        main python   [Linear                 ]
        main ops       [fc                   ]
        main ops          [aten::mm seq=4]
        auto ops                                    [mm' seq=4 F=1]
        """,
    )
    assert [m.path for m in data.modules] == ["", "fc"]


def test_an_annotation_is_the_last_resort(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main notes [fwd               ]   [bwd                    ]
        main ops     [aten::mm seq=4]
        main ops                                [mm' seq=4 F=1]
        """,
    )
    assert [(m.path, m.module_class) for m in data.modules] == [("## forward ##", "annotation")]
    assert data.coverage.by_evidence == {"annotation": 15.0}


def test_an_arrow_leads_to_the_operator_where_there_is_no_number(tmp_path: Path) -> None:
    picture = """
        main ops   [fc                    ]
        main ops        [aten::mm    ]
        auto ops                               [mm'           ]
        """
    traced = grid.events(picture, NAMES)
    tail, head = traced[1], traced[2]
    common = {"cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": 77}
    traced.append({**common, "ph": "s", "tid": "main", "ts": tail["ts"]})
    traced.append({**common, "ph": "f", "bp": "e", "tid": "auto", "ts": head["ts"]})
    data = build_report(load(grid.write(tmp_path / "t.json", traced))).data
    assert module(data, "fc").backward.self_host_us == 16
    assert data.coverage.by_evidence == {"fwdbwd": 16.0}


def test_what_nothing_explains_is_unattributed_with_its_reason(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main ops   [fc  ]  [aten::mm seq=4]
        auto ops                              [mm' seq=4 F=1]  [relu' seq=9 F=1]
        """,
    )
    assert data.coverage.unattributed_by_reason == {
        "no forward operator found": 17.0,
        "not made in a module": 15.0,
    }


def test_a_nested_evaluation_is_not_counted_twice(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main ops   [fc              ]  [relu               ]
        main ops    [aten::mm seq=4]    [aten::relu seq=5]
        auto ops                                              [ckpt' seq=5 F=1           ]
        auto ops                                                 [mm' seq=4 F=1]
        """,
    )
    assert module(data, "fc").backward.self_host_us == 15
    assert module(data, "relu").backward.self_host_us == 28 - 15
    assert data.coverage.backward_host_us == 28


def test_old_traces_without_evaluate_rows(tmp_path: Path) -> None:
    """torch 1.8: only the inner operator, whose nested operators repeat its number."""
    data = report_of(
        tmp_path,
        """
        main ops   [fc              ]
        main ops    [aten::mm seq=4]
        auto ops                      [MmBackward seq=4 F=1                      ]
        auto ops                        [aten::mm seq=4 F=1]
        """,
    )
    assert [(node.name, node.count) for node in data.nodes] == [("MmBackward", 1)]
    assert module(data, "fc").backward.self_host_us == 44


def test_two_forward_threads_count_their_own_numbers(tmp_path: Path) -> None:
    """Both threads use number 0; the names of the nodes decide which thread is which."""
    data = report_of(
        tmp_path,
        """
        one  ops   [fc              ]
        one  ops    [aten::mm seq=0]
        two  ops                       [relu               ]
        two  ops                         [aten::relu seq=0]
        auto ops                                              [relu' seq=0 F=2] [mm' seq=0 F=1]
        """,
    )
    assert module(data, "relu").backward.self_host_us == 17
    assert module(data, "fc").backward.self_host_us == 15


def test_without_a_module_anywhere_that_is_the_reason(tmp_path: Path) -> None:
    data = report_of(tmp_path, "main ops   [aten::mm seq=4]   [mm' seq=4 F=1]  [acc'  ]")
    assert data.coverage.unattributed_by_reason == {"the trace names no modules": 23.0}
