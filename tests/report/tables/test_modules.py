"""The table of modules: order, roots, calls, shapes, and what a trace does not hold."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from analysis.owners import NAMES, module, report_of

from tb_hookview import markers
from tb_hookview.comparison.compare import compare
from tb_hookview.loading import load
from tb_hookview.report.build import build_report


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


def test_a_manifest_without_roots_makes_no_root_of_a_module_never_called(tmp_path: Path) -> None:
    listed = [{"path": path, "class": "Linear"} for path in ("fc", "fc.idle")]
    data = report_of(
        tmp_path,
        """
        main ops   [fc               ]
        main ops     [aten::mm seq=4]
        """,
        **{markers.MANIFEST_KEY: {"modules": listed}},
    )
    assert [(m.path, m.parent) for m in data.modules] == [("fc", None), ("fc.idle", "fc")]


def test_operators_inside_each_other_that_run_again_are_counted_once(tmp_path: Path) -> None:
    """Host time is that of the outermost one."""
    data = report_of(
        tmp_path,
        """
        main notes [fwd               ]
        main ops    [aten::relu seq=5]
        auto ops                        [relu' seq=5 F=1                      ]
        auto ops                          [aten::linear seq=1           ]
        auto ops                             [aten::addmm seq=1]
        auto ops                                                          [mul]
        """,
    )
    label = module(data, "## forward ##")
    assert label.recompute is not None
    assert label.recompute.host_us == 31


def test_a_call_that_runs_again_in_the_node_of_another_module_is_of_its_own(tmp_path: Path) -> None:
    data = report_of(
        tmp_path,
        """
        main ops   [fc             ] [relu             ]
        main ops    [aten::mm seq=4]  [aten::relu seq=5]
        auto ops                                         [relu' seq=5 F=1             ]
        auto ops                                            [fc                      ]
        auto ops                                              [aten::mm            ]
        """,
    )
    fc, relu = module(data, "fc"), module(data, "relu")
    assert fc.recompute is not None
    assert fc.backward.host_us == fc.recompute.host_us == 26
    assert relu.backward.host_us == 30 - 26
    assert data.coverage.by_evidence_host == {"sequence": 4, "recompute": 26}


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


def test_a_collective_is_in_the_device_time_of_a_module_and_not_in_its_total(
    tmp_path: Path,
) -> None:
    traced = grid.events(
        """
        main ops   [root             ]
        main ops    [fc             ]
        main ops     [aten::mm seq=4]
        auto ops                       [mm' seq=4 F=1                  ]
        auto calls                      [go corr=1]       [ar corr=2]
        gpu  kernel                        [gemm corr=1]     [nccl corr=2        ]
        """,
        {
            **NAMES,
            "go": "cudaLaunchKernel",
            "ar": "cudaLaunchKernel",
            "nccl": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        },
    )
    gemm, nccl = (event["dur"] for event in traced if event["cat"] == "kernel")
    data = build_report(load(grid.write(tmp_path / "t.json", traced))).data
    for path in ("fc", ""):
        work = module(data, path).backward
        assert (work.device_us, work.compute_us) == (gemm + nccl, gemm)
        assert work.communication_us == nccl
    assert module(data, "").backward.self_compute_us == 0
    assert (data.coverage.total(device=True), data.coverage.unattributed(device=True)) == (gemm, 0)
    assert compare(data, data).backward_us.base == gemm


def test_kernels_of_a_module_by_kind_tensor_cores_and_occupancy(tmp_path: Path) -> None:
    """Occupancy counts by time, in both directions and below; unknown ones do not.
    Copies and sets are no kernels."""
    traced = grid.events(
        """
        main ops   [root                                                    ]
        main ops    [fc                           ]  [relu                 ]
        main ops     [aten::mm seq=4]                 [aten::relu seq=5   ]
        main calls     [go corr=1]    [cp corr=2]       [launch corr=3]
        auto ops                                                              [mm' seq=4 F=1  ]
        auto calls                                                              [go corr=4]
        gpu  kernel       [gemm corr=1      ]             [act corr=3]            [gemm corr=4]
        gpu  copy                       [to corr=2 ]
        """,
        {
            **NAMES,
            "go": "cudaLaunchKernel",
            "cp": "cudaMemcpyAsync",
            "to": "Memcpy DtoD (Device -> Device)",
            "gemm": "ampere_fp16_s16816gemm_fp16_128x64_nn",
            "act": "vectorized_elementwise_kernel",
        },
    )
    occupancy = {1: 30, 3: 90}
    for event in traced:
        number = event["args"].get("correlation")
        if event["cat"] == "kernel" and number in occupancy:
            event["args"]["est. achieved occupancy %"] = occupancy[number]
    data = build_report(load(grid.write(tmp_path / "t.json", traced))).data
    fc, root = module(data, "fc"), module(data, "")
    gemm = {event["args"].get("correlation"): event["dur"] for event in traced}
    assert fc.forward.by_kind == {"matrix": gemm[1], "copy": gemm[2]}
    assert (fc.forward.kernels, fc.backward.kernels) == (1, 1)
    assert fc.forward.tensor_core_us == gemm[1]
    assert root.forward.tensor_core_us == gemm[1]
    assert fc.occupancy_pct == 30
    assert module(data, "relu").occupancy_pct == 90
    mean = (30 * gemm[1] + 90 * gemm[3]) / (gemm[1] + gemm[3])
    assert root.occupancy_pct == pytest.approx(mean)
    assert fc.backward_ratio == gemm[4] / (gemm[1] + gemm[2])
    assert root.backward_ratio == gemm[4] / (gemm[1] + gemm[2] + gemm[3])
    assert module(data, "relu").backward_ratio == 0


@pytest.mark.parametrize("stacks", [True, False])
def test_a_profiler_that_starts_and_stops_in_a_module_is_no_time_of_it(
    tmp_path: Path, stacks: bool
) -> None:
    picture = """
        main ops    [root                                           ]
        main ops     [fc                                           ]
        main python    [start]                 [stop            ]
        main ops                [aten::mm]
        main calls                                [sync       ]
        """
    path = "torch/profiler/profiler.py(82{}): {}"
    names = {name: path.format(at, name) for at, name in enumerate(("start", "stop"))}
    traced = grid.events(picture, {**NAMES, **names, "sync": "cudaDeviceSynchronize"})
    if not stacks:
        traced = [event for event in traced if event["cat"] != "python_function"]
    long = {event["name"]: event["dur"] for event in traced}
    data = build_report(load(grid.write(tmp_path / "t.json", traced))).data
    left_out = (
        sum(long[name] for name in names.values()) if stacks else long["cudaDeviceSynchronize"]
    )
    fc, root = module(data, "fc").forward, module(data, "").forward
    assert fc.host_us == long[NAMES["fc"]] - left_out
    assert root.self_host_us == long[NAMES["root"]] - long[NAMES["fc"]]


@pytest.mark.parametrize("thread", ["auto", "main"])
def test_the_backward_pass_within_an_annotation_is_no_forward(tmp_path: Path, thread: str) -> None:
    """Its thread waits for the engine's, or runs the nodes itself; another one does neither."""
    picture = f"""
        main  notes [train                                                 ]
        main  ops    [aten::mm seq=4]
        {thread}  ops                    [mm' seq=4 F=1    ] [acc'    ]
        {thread}  ops                     [aten::mm]
        other notes      [acts                          ]
        other ops          [aten::mm seq=9]                                  [mm' seq=9 F=2]
        """
    traced = grid.events(picture, NAMES)
    long = {event["name"]: event["dur"] for event in reversed(traced)}  # the first of each
    data = build_report(load(grid.write(tmp_path / "t.json", traced))).data
    train, nodes = module(data, "train"), long[NAMES["mm'"]] + long[NAMES["acc'"]]
    assert train.forward.host_us == long["train"] - nodes
    assert train.backward.host_us == nodes
    assert module(data, "acts").forward.host_us == long["acts"]
