"""The table of compiled regions, without our recorder."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from support.loaded import reported

from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.schema import CompiledRegion

NAMES = {
    "region": "Torch-Compiled Region: 2/1",
    "graph": "## Call CompiledFxGraph fabc ##",
    "add_0": "triton_poi_fused_add_relu_0",
    "add_7": "triton_poi_fused_add_relu_7",
    "mm": "aten::mm",
    "l": "cuLaunchKernel",
    "replay": "cudaGraphLaunch",
    "node": "autograd::engine::evaluate_function: CompiledFunctionBackward",
}


def rows(folder: Path, picture: str) -> list[CompiledRegion]:
    path = grid.write(folder / "t.json", grid.events(picture, NAMES))
    data = build_report(load(path)).data
    busy = sum(row.total_us for row in data.kernels)
    assert sum(row.device_us or 0 for row in data.compiled_regions) <= busy
    return data.compiled_regions


def test_operators_of_kernels_and_extern_calls(tmp_path: Path) -> None:
    picture = """
        main ops   [region                                       ]
        main ops    [graph                                     ]
        main ops      [add_0      ] [mm         ] [add_7      ]
        main calls      [l corr=1]   [l corr=2]     [l corr=3]
        gpu  kernel        [add_0 corr=1][gemm corr=2      ][add_7 corr=3]
        """
    found = rows(tmp_path, picture)
    assert {(row.operators, row.generated): (row.calls, row.device_us) for row in found} == {
        ("add_relu", True): (2, 14 + 14),
        ("aten::mm", False): (1, 19),
        ("", False): (1, 0),
    }
    assert {(row.region, row.graph, row.compile_id, row.backward) for row in found} == {
        ("Torch-Compiled Region: 2/1", "fabc", "2/1", False)
    }
    assert sum(row.host_us for row in found) == 44


def test_the_backward_is_of_the_region_of_its_forward(tmp_path: Path) -> None:
    picture = """
        main ops   [region                   ]
        main ops    [CompiledFunction seq=4 ]
        auto ops                               [node seq=4 F=1             ]
        auto ops                                  [graph                 ]
        auto ops                                    [mm               ]
        """
    backward = [row for row in rows(tmp_path, picture) if row.backward]
    assert [(row.compile_id, row.operators) for row in backward] == [
        ("2/1", "aten::mm"),
        ("2/1", ""),
    ]


def test_kernels_of_a_replay_are_known_by_their_names(tmp_path: Path) -> None:
    picture = """
        main ops   [region           ]
        main calls   [replay corr=1]
        gpu  kernel    [add_0 corr=1][gemm corr=1]
        """
    found = {row.operators: (row.calls, row.device_us) for row in rows(tmp_path, picture)}
    assert (found["add_relu"], found["gemm"]) == ((1, 14), (1, 13))


def test_eager_code_has_no_rows(tmp_path: Path) -> None:
    assert rows(tmp_path, "main ops [mm     ]") == []


@pytest.mark.parametrize(
    ("name", "region", "operators"),
    [
        ("hta_a100_triton", "Torch-Compiled Region: 0/0", {"add_cos_sin": 1.76}),
        (
            "tracelens_mi300_compile_triton",
            "Torch-Compiled Region: 0/0",
            {"aten::mm": 8029.555, "_unsafe_view_mul_silu": 527.382},
        ),
        ("tracelens_mi300_vllm_piecewise", None, {"constant_pad_nd_moe_forward": 1566.326}),
    ],
)
def test_recorded_traces(name: str, region: str | None, operators: dict[str, float]) -> None:
    data = reported(f"{name}.json.gz").data
    found = {row.operators: row.device_us for row in data.compiled_regions if row.region == region}
    assert {each: found[each] for each in operators} == pytest.approx(operators)
