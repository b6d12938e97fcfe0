"""Which module device work belongs to: recomputation, compiled regions, graphs, collectives."""

from __future__ import annotations

from pathlib import Path

from analysis.owners import EVALUATE, module, report_of


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
