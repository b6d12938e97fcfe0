"""Pictures of small traces, and who must own what in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import grid
import pytest

from tb_hookview import markers
from tb_hookview.analysis import build_report, load
from tb_hookview.analysis.schema import Module, ReportData

EVALUATE = "autograd::engine::evaluate_function: "
NAMES = {
    "root": markers.encode("forward", "", "Net"),
    "fc": markers.encode("forward", "fc", "Linear"),
    "relu": markers.encode("forward", "relu", "ReLU"),
    "owns_fc": markers.encode("gradient", "fc", "Linear", "weight"),
    "mm'": EVALUATE + "MmBackward0",
    "relu'": EVALUATE + "ReluBackward0",
    "ckpt'": EVALUATE + "CheckpointFunctionBackward",
    "acc'": EVALUATE + "torch::autograd::AccumulateGrad",
    "launch": "cudaLaunchKernel",
    "step": "ProfilerStep#3",
    "fwd": "## forward ##",
    "bwd": "## backward ##",
    "Net": "nn.Module: Net_0",
    "Linear": "nn.Module: Linear_0",
}


def report_of(
    folder: Path, picture: str, names: Mapping[str, str] | None = None, **root: Any
) -> ReportData:
    traced = grid.events(picture, {**NAMES, **(names or {})})
    path = grid.write(folder / "t.json", traced, **root)
    data = build_report(load(path)).data
    assert_sums(data)
    return data


def assert_sums(data: ReportData) -> None:
    """The invariants of the report, exact to rounding of the microseconds."""
    modules, coverage = data.modules, data.coverage
    host = sum(m.backward.self_host_us or 0 for m in modules) + coverage.unattributed_host_us
    assert host == pytest.approx(coverage.backward_host_us, abs=1e-6)
    if coverage.backward_device_us is not None:
        device = sum(m.backward.self_device_us or 0 for m in modules)
        total = device + (coverage.unattributed_us or 0)
        assert total == pytest.approx(coverage.backward_device_us, abs=1e-6)
        assert coverage.backward_device_us == data.totals.backward_device_us


def module(data: ReportData, path: str) -> Module:
    (found,) = [m for m in data.modules if m.path == path]
    return found


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


def test_a_number_used_again_in_the_next_step_is_told_apart_by_time(tmp_path: Path) -> None:
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


def test_a_collective_in_a_gradients_hook_is_the_modules_and_told_apart(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main python  [Linear                ]
        main ops       [aten::mm seq=4]
        auto ops                               [mm' seq=4 F=1 ] [acc'                           ]
        auto calls                               [go corr=1]      [go corr=2]   [go corr=3]
        gpu  kernel                                    [gemm corr=1]     [add corr=2]  [nccl corr=3]
        """,
        {
            "go": "cudaLaunchKernel",
            "gemm": "volta_sgemm_64x64_nt",
            "nccl": "ncclDevKernel_AllReduce",
        },
    )
    backward = module(data, "Linear_0").backward
    assert backward.by_kind == {"matrix": 13.0, "communication": 13.0, "other": 12.0}
    assert backward.by_kind["communication"] == data.coverage.communication_device_us
    assert data.coverage.unattributed_communication_us == 0
    assert data.totals.communication_device_us == 13


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
        "made outside every module": 15.0,
    }


def test_recomputed_forward_belongs_to_the_module_recomputed(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main ops   [root                                     ]
        main ops    [fc              ]  [relu              ]
        main ops     [aten::mm seq=4]    [aten::relu seq=5]
        auto ops                                              [relu' seq=5 F=1                ]
        auto ops                                                  [fc                 ]
        auto calls                                                   [launch corr=9]
        gpu  kernel                                                         [gemm corr=9]
        """,
    )
    fc = module(data, "fc")
    assert fc.recompute is not None
    assert fc.recompute.self_device_us == 13
    assert fc.backward.self_device_us == 13
    assert fc.calls == 1
    assert module(data, "relu").backward.self_device_us == 0
    assert module(data, "relu").recompute is None
    assert data.coverage.by_evidence == {"recompute": 13.0}


def test_a_forward_that_runs_again_is_told_by_its_numbers_alone(tmp_path: Path) -> None:
    """No module's call is around it: it is the node's own module that is computed again."""
    data = report_of(
        tmp_path,
        """
        main notes [fwd               ]
        main ops    [aten::relu seq=5]
        auto ops                        [relu' seq=5 F=1                            ]
        auto ops                             [aten::mm seq=1] [aten::mul]
        auto calls                            [launch corr=9]  [go corr=8]
        gpu  kernel                                [gemm corr=9]    [mul corr=8]
        """,
        {"go": "cudaLaunchKernel"},
    )
    label = module(data, "## forward ##")
    assert label.recompute is not None
    assert label.recompute.self_device_us == 13
    assert label.backward.self_device_us == 13 + 12
    assert data.coverage.by_evidence == {"annotation": 25.0}


def test_a_backward_that_is_differentiated_recomputes_nothing(tmp_path: Path) -> None:
    """Its operators are numbered as those of a forward are, but make nodes that run later."""
    data = report_of(
        tmp_path,
        """
        main ops   [fc              ]
        main ops    [aten::mm seq=4]  [mm' seq=4 F=1           ]   [mul' seq=9 F=1]
        main ops                        [aten::mul seq=9]
        main calls                        [launch corr=9]
        gpu  kernel                                [mul corr=9]
        """,
        {"mul'": EVALUATE + "MulBackward0"},
    )
    assert module(data, "fc").recompute is None
    assert module(data, "fc").backward.self_device_us == 12


def test_a_compiled_region_belongs_to_its_module(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main python  [Net                      ]
        main ops       [region                ]
        main ops         [compiled seq=4     ]
        auto ops                                 [compiled' seq=4 F=1              ]
        auto notes                                 [graph                         ]
        auto ops                                     [tri          ]
        auto calls                                    [launch corr=9]
        gpu  kernel                                         [triton_poi_fused_add_0 corr=9]
        """,
        {
            "region": "Torch-Compiled Region: 0/0",
            "compiled": "CompiledFunction",
            "compiled'": EVALUATE + "CompiledFunctionBackward",
            "graph": "## Call CompiledFxGraph abc ##",
            "tri": "triton_poi_fused_add_0",
            "launch": "cuLaunchKernel",
        },
    )
    assert module(data, "Net_0").backward.by_kind == {"elementwise": 31.0}
    assert [m.path for m in data.modules] == ["Net_0"]
    assert data.kernels[0].name == "triton_poi_fused_add_0"


def test_a_graphs_kernels_belong_to_where_it_was_launched(tmp_path: Path) -> None:
    """A graph's kernels have no operator: the launching call's place decides."""
    data = report_of(
        tmp_path,
        """
        main python  [Net                                ]
        main python   [Linear                          ]
        main calls      [graph corr=9]
        gpu  kernel                 [volta_sgemm_64 corr=9] [add corr=9]
        """,
        {"graph": "hipGraphLaunch"},
    )
    assert module(data, "Linear_0").forward.by_kind == {"matrix": 23.0, "other": 12.0}
    assert [kernel.graph_count for kernel in data.kernels] == [1, 1]


def test_calls_are_shown_with_the_shapes_of_their_first_operator(tmp_path: Path) -> None:
    """The most frequent first; a recomputed call, and an operator without shapes, do not count."""
    traced = grid.events(
        """
        main ops   [root                                                              ]
        main ops    [fc                 ] [fc           ] [fc           ] [relu       ]
        main ops     [empty] [linear a=1]  [linear a=2 ]   [linear a=2 ]   [empty    ]
        """,
        NAMES,
    )
    dims = {1: [[8, 16], []], 2: [[4, 16], []]}
    for event in traced:
        if event["name"] == "linear":
            event["args"] = {"Input Dims": dims[event["args"]["a"]]}
    data = build_report(load(grid.write(tmp_path / "t.json", traced))).data
    shown = [(shape.operator, shape.dims, shape.calls) for shape in module(data, "fc").shapes]
    assert shown == [("linear", [[4, 16], []], 2), ("linear", [[8, 16], []], 1)]
    assert module(data, "").shapes[0].dims == [[8, 16], []]
    assert module(data, "relu").shapes == []


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
    """Both threads use number 0; the names of the nodes tell which thread is which."""
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


def test_the_manifest_gives_order_roots_and_modules_never_called(tmp_path: Path) -> None:
    listed = [
        ("", "Net"),
        ("relu", "ReLU"),
        ("fc", "Linear"),
        ("fc.idle", "Dropout"),
        ("loss", "L"),
    ]
    manifest = {
        "version": 1,
        "roots": ["", "loss"],
        "modules": [{"path": path, "class": kind} for path, kind in listed],
    }
    data = report_of(
        tmp_path,
        """
        main ops   [root               ]
        main ops    [fc              ]
        main ops     [aten::mm seq=4]
        """,
        **{markers.MANIFEST_KEY: manifest},
    )
    tree = [(m.path, m.parent, m.calls) for m in data.modules]
    assert tree == [
        ("", None, 1),
        ("relu", "", 0),
        ("fc", "", 1),
        ("fc.idle", "fc", 0),
        ("loss", None, 0),
    ]
    assert data.trace.recorder == {"version": 1, "roots": ["", "loss"]}


def test_without_a_module_anywhere_that_is_the_reason(tmp_path: Path) -> None:
    data = report_of(tmp_path, "main ops   [aten::mm seq=4]   [mm' seq=4 F=1]  [acc'  ]")
    assert data.coverage.unattributed_by_reason == {"the trace names no modules": 23.0}


def test_device_numbers_are_null_without_a_device(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main ops   [fc              ]
        main ops    [aten::mm seq=4]   [mm' seq=4 F=1]
        """,
    )
    fc = module(data, "fc")
    assert (fc.backward.device_us, fc.backward.kernels, fc.sync.device_idle_us) == (
        None,
        None,
        None,
    )
    assert data.totals.backward_device_us is None
    assert data.coverage.measure == "host"
    assert data.steps[0].device_busy_us is None


def test_one_launch_of_many_kernels_and_kernels_of_no_launch(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main ops   [fc              ]
        main ops    [aten::mm seq=4]
        auto ops                      [mm' seq=4 F=1          ]
        auto calls                      [graph corr=9]
        gpu  kernel  [before corr=2]                [k corr=9] [k corr=9]
        """,
        {"graph": "cudaGraphLaunch"},
    )
    assert module(data, "fc").backward.kernels == 2
    assert [(w.code, w.count) for w in data.trace.warnings] == [("no-launch", 1)]
    assert data.totals.device_busy_us == {"0": 15.0 + 10.0 + 10.0}
