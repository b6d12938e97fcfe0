"""Modules of device events: recomputation, compiled regions, graphs, collectives."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import grid
import numpy as np
import pytest
import shared_traces
from analysis.owners import EVALUATE, NAMES, assert_sums, module, report_of

from tb_hookview.loading import load
from tb_hookview.report.build import build_report


def test_a_collective_in_a_gradients_hook_is_the_modules_and_separate(tmp_path: Path) -> None:
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


def test_a_forward_that_runs_again_is_found_by_its_numbers_alone(tmp_path: Path) -> None:
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


def test_annotations_that_run_again_are_calls_though_the_nodes_inside_are_never_evaluated(
    tmp_path: Path,
) -> None:
    """A checkpoint that is not re-entrant runs its whole block within the last node."""
    annotations = {"attn": "Attention", "ffn": "FFN"}
    data = report_of(
        tmp_path,
        """
        main notes [attn            ] [ffn             ]
        main ops    [aten::mm seq=4]   [aten::mm seq=5]
        auto ops                                        [mm' seq=5 F=1                                              ] [mm' seq=4 F=1]
        auto notes                                       [attn            ] [ffn         ] [keep        ]
        auto ops                                          [aten::mm seq=1]   [add_ seq=2]   [mul_ seq=3]  [aten::mm]
        auto calls                                         [launch corr=7]    [go corr=8]    [go corr=9]
        gpu  kernel                                          [gemm corr=7]      [add corr=8]   [mul corr=9]
        """,
        {**annotations, "add_": "aten::add", "mul_": "aten::mul", "go": "cudaLaunchKernel"},
    )
    attention, ffn = module(data, "Attention"), module(data, "FFN")
    assert attention.recompute is not None
    assert ffn.recompute is not None
    assert attention.recompute.self_device_us == 13
    assert ffn.recompute.self_device_us == 12 + 12  # one annotation is no module's in the forward
    assert attention.calls == ffn.calls == 1
    assert [each.path for each in data.modules] == ["Attention", "FFN"]
    assert data.coverage.by_evidence == {"recompute": 25.0, "annotation": 12.0}


def test_an_annotation_of_the_backward_with_a_modules_name_is_no_call(tmp_path: Path) -> None:
    """No operator inside is a forward's: somebody names the two halves of a function alike."""
    data = report_of(
        tmp_path,
        """
        main notes [attn            ] [ffn             ]
        main ops    [aten::mm seq=4]   [aten::mm seq=5]
        auto ops                                        [mm' seq=5 F=1     ] [mm' seq=4 F=1]
        auto notes                                       [attn           ]
        auto ops                                          [aten::mm     ]
        auto calls                                         [launch corr=7]
        gpu  kernel                                         [gemm corr=7]
        """,
        {"attn": "Attention", "ffn": "FFN"},
    )
    assert module(data, "FFN").backward.self_device_us == 13
    assert module(data, "Attention").backward.self_device_us == 0
    assert module(data, "FFN").recompute is None


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


def test_a_graphs_kernels_are_known_by_its_number_too(tmp_path: Path) -> None:
    """In the backward, and without a launch in the trace: then they are in no module."""
    data = report_of(
        tmp_path,
        """
        main ops   [fc              ]
        main ops    [aten::mm seq=4]
        auto ops                      [mm' seq=4 F=1          ]
        auto calls                      [replay corr=9]
        gpu  kernel  [k corr=2 graph=5]                [k corr=9 graph=5] [k corr=9 graph=5]
        """,
        {"replay": "cuReplay"},
    )
    fc = module(data, "fc")
    assert (fc.backward.kernels, fc.backward.device_us) == (2, 18.0 + 18.0)
    assert [(kernel.count, kernel.graph_count) for kernel in data.kernels] == [(3, 3)]
    assert [(w.code, w.count) for w in data.trace.warnings if w.code != "unnamed-kernels"] == [
        ("no-launch", 1)
    ]


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
    assert [(w.code, w.count) for w in data.trace.warnings if w.code != "unnamed-kernels"] == [
        ("no-launch", 1)
    ]
    assert data.totals.device_busy_us == {"0": 15.0 + 10.0 + 10.0}


def test_fsdps_collectives_are_within_the_module_and_communication(tmp_path: Path) -> None:
    """Weights gathered in the forward and before a node, gradients scattered after one; what is
    launched when the backward is over is in no module, and in no node."""
    data = report_of(
        tmp_path,
        """
        main python  [Linear                               ]
        main ops       [gather       ]  [aten::mm seq=4   ]
        main calls       [go corr=1]      [launch corr=2]
        auto ops                                             [mm' seq=4 F=1              ]
        auto ops                                               [gather     ]
        auto calls                                              [go corr=3] [launch corr=4]
        auto ops                                                                            [acc'            ]  [end        ]
        auto calls                                                                            [scatter corr=5]   [go corr=6]
        gpu  kernel         [all corr=1][gemm corr=2]                      [all corr=3][gemm corr=4][rs corr=5]       [all corr=6]
        """,
        {
            "gather": "c10d::_allgather_base_",
            "end": "c10d::allreduce_",
            "go": "cudaLaunchKernelExC",
            "scatter": "cudaLaunchKernelExC",
            "all": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "rs": "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "gemm": "volta_sgemm_64x64_nt",
        },
    )
    linear = module(data, "Linear_0")
    assert linear.forward.by_kind == {"matrix": 13.0, "communication": 12.0}
    assert linear.backward.by_kind == {"matrix": 13.0, "communication": 12.0 + 11.0}
    assert linear.backward_ratio == 13 / 13  # without collectives, as the totals
    assert data.coverage.communication_device_us == 23
    assert data.coverage.unattributed_us == 0
    assert data.totals.communication_device_us == 12 + 12 + 11 + 12


def test_a_process_on_two_devices(tmp_path: Path) -> None:
    """A backward thread for each; a device's time, idle and streams are its own."""
    traced = grid.events(
        """
        main notes [step                                                        ]
        main ops    [fc                  ] [relu              ]
        main ops     [aten::mm seq=4    ]   [aten::relu seq=5]
        main calls    [launch corr=1]         [launch corr=2]
        one  ops                                               [relu' seq=5 F=1]
        one  calls                                               [launch corr=3]
        two  ops                                                 [mm' seq=4 F=1 ]
        two  calls                                                [launch corr=4]
        gpu  kernel      [a corr=1  ]               [b corr=2 ]    [c corr=3][d corr=4 ]
        """,
        NAMES,
    )
    for event in traced:
        if event["name"] in ("b", "c"):
            event["pid"] = 1
            event["args"]["device"] = 1
    data = build_report(load(grid.write(tmp_path / "t.json", traced))).data
    assert_sums(data)
    assert data.totals.device_busy_us == {"0": 12.0 + 11.0, "1": 11.0 + 10.0}
    assert [device.id for device in data.trace.devices] == ["0", "1"]
    assert [(stream.device, stream.count) for stream in data.streams] == [("0", 2), ("1", 2)]
    assert module(data, "fc").forward.device_us == 12
    assert module(data, "fc").backward.device_us == 11
    assert module(data, "relu").forward.device_us == 11
    assert module(data, "relu").backward.device_us == 10
    (step,) = data.steps
    assert step.device_idle_us == pytest.approx(2 * step.duration_us - step.device_busy_us)
    roles = {row.thread: row.role for row in data.threads}
    assert roles == {"main": "forward", "one": "backward", "two": "backward"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("hta_a100_cuda_graphs_rank0", marks=pytest.mark.slow),
        "tracelens_mi300_vllm_graph_execution",
    ],
)
def test_graphs_of_cuda_and_hip_keep_their_kernels(name: str) -> None:
    """One launch has many kernels, each attributed to where the graph was launched."""
    path = shared_traces.shared_trace(name)
    rows = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    launched = {
        row["args"]["correlation"]: 0 for row in rows if "GraphLaunch" in str(row.get("name"))
    }
    for row in rows:
        number = row.get("args", {}).get("correlation")
        if number in launched and row["cat"].lower() in ("kernel", "gpu_memcpy", "gpu_memset"):
            launched[number] += 1
    analysis = load(path)
    launch = analysis.device_events.launch
    calls = [analysis.host.name(row) if row >= 0 else "" for row in launch.tolist()]
    of_graph = np.array(["GraphLaunch" in call for call in calls])
    counted = np.unique(launch[of_graph], return_counts=True)[1]
    assert sorted(counted) == sorted(number for number in launched.values() if number)
    assert counted.max() > 5
    kernels = build_report(analysis).data.kernels
    assert sum(row.graph_count for row in kernels) == counted.sum()
    owner = analysis.attribution.row_module[launch[of_graph]]
    assert np.array_equal(analysis.device_attribution.module[of_graph], owner)


def test_the_loss_the_optimizer_and_copies_of_data_belong_to_no_module(tmp_path: Path) -> None:
    """They are distinguished by phase; a copy to the device is a copy, whoever asks for it."""
    data = report_of(
        tmp_path,
        """
        main notes [load             ]
        main ops     [aten::copy_   ]  [fc              ] [nll seq=5      ]                       [optim          ]
        main ops                        [aten::mm seq=4]
        main calls    [copy corr=1]      [go corr=2]        [go corr=3]                            [go corr=6   ]
        auto ops                                                           [nll' seq=5 F=1   ] [mm' seq=4 F=1]
        auto calls                                                           [go corr=4]        [go corr=5]
        gpu  copy      [HtoD corr=1]
        gpu  kernel                         [gemm corr=2]    [loss corr=3]        [loss corr=4]  [gemm corr=5][adam corr=6]
        """,
        {
            "load": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
            "nll": "aten::nll_loss_forward",
            "nll'": EVALUATE + "NllLossBackward0",
            "optim": "Optimizer.step#AdamW.step",
            "copy": "cudaMemcpyAsync",
            "go": "cudaLaunchKernel",
            "HtoD": "Memcpy HtoD (Pinned -> Device)",
            "gemm": "volta_sgemm_64x64_nt",
        },
    )
    fc = module(data, "fc")
    assert (fc.forward.device_us, fc.backward.device_us) == (13, 13)
    assert data.totals.forward_device_us == 13 + 13
    assert data.totals.backward_device_us == 13 + 13
    assert data.totals.optimizer_device_us == 13
    assert data.totals.device_us_by_kind["copy"] == 13
    assert data.coverage.unattributed_by_reason == {"not made in a module": 13.0}
    phases = {(row.name, phase) for row in data.kernels for phase in row.by_phase}
    assert phases >= {("loss", "forward"), ("loss", "backward"), ("adam", "optimizer")}
    assert ("Memcpy HtoD (Pinned -> Device)", "data") in phases
