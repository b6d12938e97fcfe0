"""Compiled graphs placed on modules by the recorder's map, on drawn timelines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from analysis.compiled.drawn import (
    FC,
    MODULES,
    NEAR,
    NORM,
    REGION,
    RELU,
    analyzed,
    call,
    device,
    graph,
    host,
    reported,
)

from tb_hookview import markers
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.loading import load
from tb_hookview.report.module.detail import module_detail

CPU = """
    main ops   [root                                ]
    main ops    [region                           ]
    main ops     [CompiledFunction seq=4         ]
    main ops      [fw                          ]
    main ops         [addmm   ]       [addmm ]
    main ops                                           [call' seq=4 F=1               ]
    main ops                                             [bw                        ]
    main ops                                               [mm   ]    [mm   ]
    """
FORWARD = graph(
    call("cpp_fused_norm_0", (NORM, 64)),
    call("extern_kernels.addmm", (FC, 100)),
    call("cpp_fused_relu_1", (RELU, 64)),
    call("extern_kernels.addmm", (NORM, 100)),
)
BACKWARD = graph(
    call("extern_kernels.mm", (NORM, 100)),
    call("cpp_fused_relu_1", (RELU, 100), (FC, 300)),
    call("extern_kernels.mm", (FC, 100)),
    key="fbw",
    backward=True,
)


def test_rows_are_their_calls_and_gaps_the_silent_ones_between(tmp_path: Path) -> None:
    data = reported(analyzed(tmp_path, CPU, FORWARD))
    forward = host(data)
    assert forward.pop("fc") == 10
    assert forward.pop("norm") == 3 + 8
    assert forward.pop("relu") == 7
    assert forward == {"": 38 - 28}, "the end of the graph has no silent call"


def test_backward_by_bytes(tmp_path: Path) -> None:
    data = reported(analyzed(tmp_path, CPU, FORWARD, BACKWARD))
    backward = host(data, "backward")
    assert backward == {"norm": 7, "fc": 7 + 3, "relu": 1, "": 32 - 18}
    assert data.coverage.by_evidence_host == {
        "sequence": 14,
        "compiled": 14,
        "compiled_split": 4,
    }


def test_modules_have_the_calls_of_the_forward(tmp_path: Path) -> None:
    data = reported(analyzed(tmp_path, CPU, FORWARD, BACKWARD))
    assert {row.path: row.calls for row in data.modules} == {"": 1, "fc": 1, "relu": 1, "norm": 1}
    assert [row.path for row in data.modules if row.compiled] == ["fc", "relu", "norm"]


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"key": "fother"}, "no map of the graph"),
        ({"compile_id": "1/0"}, "no map of the graph"),
        ({"paths": [["", "Net"], ["fc", "Conv2d"], *MODULES[2:]]}, "the map is of other modules"),
        ({"base": ["Block", None]}, "the map is of other modules"),
        ({"calls": FORWARD["calls"][:3]}, "rows and map differ"),
        ({"calls": [call("extern_kernels.bmm", (FC, 1))]}, "rows and map differ"),
    ],
    ids=["key", "compile id", "class", "region of another class", "calls", "operators"],
)
def test_a_map_of_something_else_places_nothing(
    tmp_path: Path, changed: dict[str, Any], why: str
) -> None:
    analysis = analyzed(tmp_path, CPU, {**FORWARD, **changed})
    data = reported(analysis)
    assert host(data) == {"": 38}
    assert [row.forward.self_host_us for row in data.modules] == [38, None, None, None]
    assert data.compiled is not None
    assert why in data.compiled.whole_by_reason


def test_two_maps_of_one_graph_place_nothing(tmp_path: Path) -> None:
    other = {**FORWARD, "calls": [*FORWARD["calls"][1:], FORWARD["calls"][0]]}
    assert host(reported(analyzed(tmp_path, CPU, FORWARD, other))) == {"": 38}
    assert "fc" in host(reported(analyzed(tmp_path, CPU, FORWARD, FORWARD)))


def test_a_path_of_one_instance_is_believed(tmp_path: Path) -> None:
    paths = [["", "Net", ""], ["x.fc", "Linear", "fc"], *MODULES[2:]]
    data = reported(analyzed(tmp_path, CPU, {**FORWARD, "paths": paths}))
    assert host(data)["fc"] == 10


def test_paths_below_another_object_are_those_of_the_one_root_that_has_them(tmp_path: Path) -> None:
    paths = [[f"L['m'].{path}" if path else "L['m']", name] for path, name in MODULES]
    changed = {**FORWARD, "paths": paths, "base": None}
    whole_step = CPU.replace("[root                                ]", " " * 39)
    data = reported(analyzed(tmp_path, whole_step, changed))
    assert host(data) == {"fc": 10, "norm": 11, "relu": 7}
    assert {row.path: row.calls for row in data.modules}[""] == 1


def test_code_that_two_instances_share(tmp_path: Path) -> None:
    picture = """
        main ops   [a                  ] [b                  ]
        main ops    [region           ]   [region           ]
        main ops     [fw             ]     [fw             ]
        main ops       [addmm      ]         [addmm      ]
        """
    modules = [["", "Net"], ["a", "Block"], ["a.fc", "Linear"], ["b", "Block"], ["b.fc", "Linear"]]
    shared = graph(
        call("extern_kernels.addmm", (0, 1)), paths=[["fc", "Linear"]], base=["Block", "a"]
    )
    data = reported(analyzed(tmp_path, picture, shared, modules=modules))
    assert (host(data)["a.fc"], host(data)["b.fc"]) == (13, 13)


def test_a_row_that_is_in_no_map_is_skipped_if_it_is_short(tmp_path: Path) -> None:
    near = CPU.replace("[fw                          ]", "[fw                          ]").replace(
        "[addmm   ]       [addmm ]", "[addmm   ]   [copy][addmm ]"
    )
    assert host(reported(analyzed(tmp_path, near, FORWARD))) == {"": 38}, "6 of 30 are not short"
    tiny = CPU.replace("[addmm   ]       [addmm ]", "[addmm   ]  [copy]")
    assert host(reported(analyzed(tmp_path, tiny, FORWARD))) == {"": 38}


GPU = """
    main ops   [root                                        ]
    main ops    [region                                   ]
    main ops     [CompiledFunction seq=4                 ]
    main ops      [fw                                  ]
    main ops         [addmm   ] [add0       ] [sum1    ]
    main calls         [l corr=1] [l corr=2]    [l corr=3]
    gpu  kernel                     [k corr=1    ][add0 corr=2  ][sum1 corr=3      ]
    """
ON_GPU = graph(
    call("extern_kernels.addmm", (FC, 100)),
    call("triton_poi_fused_add_relu_0", (RELU, 1), (NORM, 2)),
    call("triton_red_fused_sum_1", (REGION, 2), (NORM, 1, NEAR)),
)


def test_kernels_follow_their_rows(tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, GPU, ON_GPU, names={"l": "cudaLaunchKernel"})
    data = reported(analysis)
    # 14 us of fc; 15 of relu and norm by 1 to 2; 19 of the region and norm by 2 to 1
    assert device(data) == {
        "fc": 14,
        "relu": 5,
        "norm": pytest.approx(10 + 19 / 3, abs=2e-3),
        "": pytest.approx(38 / 3, abs=2e-3),
    }
    assert sum(device(data).values()) == data.totals.forward_device_us
    assert {row.path: row.forward.kernels for row in data.modules} == {
        "": 3,
        "fc": 1,
        "relu": 0,
        "norm": 1,
    }


def test_gaps_of_a_graph_on_a_device_are_the_regions_own(tmp_path: Path) -> None:
    data = reported(analyzed(tmp_path, GPU, ON_GPU, names={"l": "cudaLaunchKernel"}))
    rows = 10 + 13 + 10
    assert host(data)[""] == pytest.approx(46 - rows + 10 * 2 / 3, abs=2e-3)


def forward_evidence(analysis: Analysis) -> dict[str, dict[str, float]]:
    found = {path: module_detail(analysis, path) for path, _ in MODULES}
    return {path: detail.forward_by_evidence for path, detail in found.items()}


def test_evidence_of_the_forward_on_a_host(tmp_path: Path) -> None:
    assert forward_evidence(analyzed(tmp_path, CPU, FORWARD)) == {
        "": {},
        "fc": {"compiled": 10},
        "relu": {"compiled": 7},
        "norm": {"compiled": 3 + 8},
    }


def test_evidence_of_the_forward_on_a_device(tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, GPU, ON_GPU, names={"l": "cudaLaunchKernel"})
    found, split = forward_evidence(analysis), 15 / 3
    assert found["fc"] == {"compiled": 14}
    assert found["relu"] == pytest.approx({"compiled_split": split}, abs=2e-3)
    assert found["norm"]["compiled_split"] == pytest.approx(2 * split, abs=2e-3)
    assert found["norm"]["compiled_near"] == pytest.approx(19 / 3, abs=2e-3)
    assert found[""] == {}


REPLAY = """
    main ops   [root                           ]
    main ops    [region                       ]
    main ops     [fw                         ]
    main calls      [replay corr=9  ]
    gpu  kernel        [memset corr=9][gemm corr=9][add0 corr=9][gemm corr=9][split_k corr=9][sum1 corr=9]
    """
REPLAYED = graph(
    call("extern_kernels.addmm", (FC, 100)),
    call("triton_poi_fused_add_relu_0", (RELU, 1)),
    call("extern_kernels.mm", (NORM, 100)),
    call("triton_red_fused_sum_1", (NORM, 1)),
)


def test_a_replayed_graph_is_aligned_by_the_names_of_generated_kernels(tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, REPLAY, REPLAYED)
    data = reported(analysis)
    assert device(data) == {"fc": 15 + 13, "relu": 13, "norm": 13 + 16 + 13}
    assert host(data) == {"": 33}, "the time of the launch is the region's own"


def test_extern_calls_of_several_modules_between_two_anchors_are_not_placed(tmp_path: Path) -> None:
    two = graph(
        *REPLAYED["calls"][:1], call("extern_kernels.mm", (NORM, 5)), *REPLAYED["calls"][1:]
    )
    data = reported(analyzed(tmp_path, REPLAY, two))
    assert device(data) == {"": 15 + 13, "relu": 13, "norm": 13 + 16 + 13}


def test_a_replay_on_several_streams_has_unique_names_only(tmp_path: Path) -> None:
    traced = f"""{REPLAY}
    gpu  kernel        [side corr=9]
    """
    data = reported(analyzed(tmp_path, traced, REPLAYED))
    assert device(data) == {"relu": 13, "norm": 13, "": 15 + 13 + 13 + 16 + 13}


STREAMS = """
    main ops   [root                           ]
    main ops    [region                       ]
    main ops     [fw                         ]
    main calls      [replay corr=9  ]
    gpu  kernel        [gemm corr=9 node={gemm}  ]        [add0 corr=9 node={add0} ]     [sum1 corr=9 node={sum1} ]
    gpu  kernel           [side corr=9 node={side}     ]      [mul2 corr=9 node={mul2}  ]
    """  # nodes have one digit
ON_STREAMS = graph(
    call("extern_kernels.addmm", (FC, 100)),
    call("triton_poi_fused_add_relu_0", (RELU, 1)),
    call("extern_kernels.mm", (NORM, 100)),
    call("triton_red_fused_sum_1", (NORM, 1)),
    call("triton_poi_fused_mul_2", (RELU, 1)),
)
BY_NAME = {"": 22 + 25, "relu": 21 + 22, "norm": 21}
BY_NODE = {"fc": 22, "relu": 21 + 22, "norm": 25 + 21}


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ({"gemm": 1, "add0": 4, "side": 5, "sum1": 7, "mul2": 9}, BY_NODE),
        ({"gemm": 5, "add0": 4, "side": 5, "sum1": 7, "mul2": 9}, BY_NAME),
        ({"gemm": 0, "add0": 4, "side": 5, "sum1": 7, "mul2": 9}, BY_NAME),
        ({"gemm": 1, "add0": 7, "side": 5, "sum1": 4, "mul2": 9}, BY_NAME),
    ],
    ids=["in order of the calls", "one number twice", "one without", "in another order"],
)
def test_a_replay_on_several_streams_is_in_order_of_its_nodes(
    tmp_path: Path, nodes: dict[str, int], expected: dict[str, float]
) -> None:
    names = {"mul2": "triton_poi_fused_mul_2"}
    picture = STREAMS.format(**nodes)
    assert device(reported(analyzed(tmp_path, picture, ON_STREAMS, names=names))) == expected


COPIED = """
    main ops   [root                           ]
    main ops    [region                       ]
    main ops     [fw                         ]
    main ops      [copies     ][copy]
    main calls     [l corr=1] [c corr=2] [replay corr=9  ]
    gpu  kernel       [k corr=1][k corr=2][gemm corr=9][add0 corr=9][sum1 corr=9]
    """
ONE_PRODUCT = graph(
    call("extern_kernels.addmm", (FC, 100)),
    call("triton_poi_fused_add_relu_0", (RELU, 1)),
    call("triton_red_fused_sum_1", (NORM, 1)),
)
COPY_ROWS = {"copies": "aten::_foreach_copy_", "l": "cudaLaunchKernel", "c": "cudaLaunchKernel"}


@pytest.mark.parametrize("more", [[], [call("aten.copy_", (FC, 1))]], ids=["other", "same name"])
def test_inputs_that_are_copied_before_a_replay_are_the_regions(
    tmp_path: Path, more: list[Any]
) -> None:
    """They take half of the call's host time, and may have the name of a call of the map."""
    listed = {**ONE_PRODUCT, "calls": [*ONE_PRODUCT["calls"], *more]}
    data = reported(analyzed(tmp_path, COPIED, listed, names=COPY_ROWS))
    assert device(data) == {"": 10 + 10, "fc": 13, "relu": 13, "norm": 13}
    assert data.compiled is not None
    assert data.compiled.placed == data.compiled.calls == 1


ATTENTION = """
    main ops   [root                           ]
    main ops    [region                       ]
    main ops     [fw                         ]
    main calls      [replay corr=9  ]
    gpu  kernel        [add0 corr=9][{a} corr=9][memset corr=9][{b} corr=9][{c} corr=9][sum1 corr=9]
    """
PRODUCTS = {"g": "nvjet_sm90_tst_192x192", "s": "flash_fwd_kernel<64>", "x": "mystery"}
SDPA = "torch.ops.aten._scaled_dot_product_flash_attention.default"


@pytest.mark.parametrize(
    ("between", "kernels", "expected"),
    [
        ([("extern_kernels.addmm", FC), (SDPA, NORM)], "gsx", {"fc": 10, "": 15, "norm": 20}),
        ([("extern_kernels.addmm", FC), (SDPA, NORM)], "xgs", {"fc": 35, "norm": 10}),
        ([("extern_kernels.mm", FC), (SDPA, NORM), ("extern_kernels.mm", RELU)], "gsg", {"fc": 10, "": 15, "norm": 10, "relu": 10}),
        ([("extern_kernels.mm", FC), ("extern_kernels.mm", NORM)], "ggx", {"": 45}),
        ([("extern_kernels.mm", FC), ("torch.ops.mine.mixed.default", NORM)], "gxx", {"": 45}),
        ([("extern_kernels.mm", FC), ("aten.randint.low_out", NORM)], "gxx", {"fc": 10, "": 35}),
        ([("extern_kernels.mm", FC), ("my_triton_kernel", NORM)], "gxx", {"": 45}),
    ],
    ids=["in order", "before the first", "by the one between", "equals", "anything", "none", "user"],
)  # fmt: skip
def test_products_of_a_replay_tell_its_extern_calls_apart(
    tmp_path: Path, between: list[tuple[str, int]], kernels: str, expected: dict[str, float]
) -> None:
    listed = graph(
        call("triton_poi_fused_add_relu_0", (RELU, 1)),
        *(call(name, (module, 9)) for name, module in between),
        call("triton_red_fused_sum_1", (NORM, 1)),
    )
    picture = ATTENTION.format(a=kernels[0], b=kernels[1], c=kernels[2])
    found = device(reported(analyzed(tmp_path, picture, listed, names=PRODUCTS)))
    # The generated kernels are placed in any case.
    rest = {"relu": found.get("relu", 0) - 13, "norm": found.get("norm", 0) - 13}
    assert {path: time for path, time in {**found, **rest}.items() if time} == expected


@pytest.mark.parametrize("places", [[3, 1], [1, 1, 3]], ids=["another order", "another number"])
def test_a_replay_of_other_generated_kernels_is_not_placed(
    tmp_path: Path, places: list[int]
) -> None:
    listed = {**REPLAYED, "calls": [REPLAYED["calls"][place] for place in places]}
    data = reported(analyzed(tmp_path, REPLAY, listed))
    assert device(data) == {"": 15 + 13 + 13 + 13 + 16 + 13}
    assert data.compiled is not None
    assert data.compiled.whole_by_reason == {"rows and map differ": 1}


PARTS = """
    main ops   [root                                                 ]
    main ops    [region                                             ]
    main ops     [fw                                               ]
    main ops                     [mm      ]
    main calls    [replay corr=8] [l corr=1] [replay corr=9 ]
    gpu  kernel     [gemm corr=8][add0 corr=8][k corr=1][gemm corr=9][add0 corr=9]
    """


def test_a_call_between_two_replays_is_its_rows(tmp_path: Path) -> None:
    """Inductor cuts a graph where an operator cannot be captured."""
    listed = graph(
        call("extern_kernels.addmm", (FC, 1)),
        call("triton_poi_fused_add_relu_0", (RELU, 1)),
        call("extern_kernels.mm", (NORM, 1)),
        call("extern_kernels.addmm", (FC, 1)),
        call("triton_poi_fused_add_relu_0", (NORM, 1)),
    )
    data = reported(analyzed(tmp_path, PARTS, listed, names={"l": "cudaLaunchKernel"}))
    assert device(data) == {"fc": 13 + 13, "relu": 13, "norm": 10 + 13}


def test_a_replay_without_a_map_stays_whole(tmp_path: Path) -> None:
    data = reported(analyzed(tmp_path, REPLAY, {**REPLAYED, "key": "fother"}))
    assert device(data) == {"": 15 + 13 + 13 + 13 + 16 + 13}


def test_what_could_not_be_placed_is_counted(tmp_path: Path) -> None:
    analysis = analyzed(tmp_path, CPU, FORWARD)  # no map of the backward
    data = reported(analysis)
    assert {warning.code: warning.count for warning in data.trace.warnings} == {
        "compiled-without-map": 1
    }
    assert data.compiled is not None
    assert (data.compiled.calls, data.compiled.placed) == (2, 1)
    assert data.compiled.forward.host_us == 30
    assert data.compiled.forward.placed_host_us == 28


@pytest.mark.parametrize("damage", [7, [], {"version": 2}, {"graphs": [{"key": 1}]}, "x"])
def test_a_map_of_another_shape_places_nothing(tmp_path: Path, damage: Any) -> None:
    path = tmp_path / "t.json"
    analyzed(tmp_path, CPU, FORWARD)
    content = json.loads(path.read_text())
    content[markers.COMPILED_KEY] = damage
    path.write_text(json.dumps(content))
    assert host(reported(load(path))) == {"": 38}


@pytest.mark.parametrize(
    "part", [[4, 0, 1, 1], [-2, 0, 1, 1], ["0", 0, 1, 1], [0, 0, 1], [0, 0, 1, 1.5]]
)
def test_a_graph_with_a_part_of_another_shape_is_dropped(tmp_path: Path, part: list[Any]) -> None:
    calls = [*FORWARD["calls"][:-1], ["extern_kernels.addmm", 1, [part]]]
    analysis = analyzed(tmp_path, CPU, {**FORWARD, "calls": calls})
    assert analysis.trace.compiled is not None
    assert (analysis.trace.compiled.graphs, analysis.trace.compiled.unreadable) == ((), 1)
    assert host(reported(analysis)) == {"": 38}


@pytest.mark.parametrize(
    ("graphs", "code"), [([FORWARD, BACKWARD], "compiled-in-no-call"), ([FORWARD], "compiled")]
)
def test_why_a_module_has_no_times(tmp_path: Path, graphs: list[Any], code: str) -> None:
    """It is in no graph, or a graph has no map."""
    modules = [*MODULES, ["idle", "Identity"]]
    data = reported(analyzed(tmp_path, CPU, *graphs, modules=modules))
    counts = {warning.code: warning.count for warning in data.trace.warnings}
    counts.pop("compiled-without-map", None)
    assert counts == {code: 1}


def test_a_list_of_modules_has_the_times_of_those_in_it(tmp_path: Path) -> None:
    """No graph names it, as it is never called."""
    modules = [["", "Net"], ["all", "ModuleList"], ["all.fc", "Linear"], ["all.idle", "Linear"]]
    paths = [["", "Net"], ["all.fc", "Linear"]]
    calls = [call("extern_kernels.addmm", (1, 100)), call("extern_kernels.addmm", (1, 100))]
    one = graph(*calls, paths=paths)
    for listed, known in ((modules[:3], True), (modules, False)):
        data = reported(analyzed(tmp_path, CPU, one, modules=listed))
        (row,) = [row for row in data.modules if row.path == "all"]
        assert (row.forward.host_us is not None) == known
        assert row.compiled
        unknown = [each.count for each in data.trace.warnings if each.code == "compiled"]
        assert unknown == ([] if known else [2])
