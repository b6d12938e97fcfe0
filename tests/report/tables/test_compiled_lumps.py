"""Compiled code that stays with the module around it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from analysis.compiled.drawn import FC, analyzed, call, graph
from support.loaded import reported

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.report.build import build_report
from tb_hookview.schema import CompiledLump

PICTURE = """
    main ops   [root                                ]
    main ops    [region                           ]
    main ops     [CompiledFunction seq=4         ]
    main ops      [fw                          ]
    main ops         [addmm   ]
    main calls         [launch corr=1]
    gpu  kernel           [gemm corr=1           ]
    auto ops                                           [call' seq=4 F=1               ]
    auto ops                                             [bw                        ]
    """
FORWARD = graph(call("extern_kernels.addmm", (FC, 100)))


def lumps(analysis: Analysis) -> dict[str, CompiledLump]:
    rows = build_report(analysis).data.modules
    return {row.path: row.compiled_lump for row in rows if row.compiled_lump is not None}


@pytest.mark.parametrize(
    ("graphs", "expected"),
    [
        ((), CompiledLump(calls=2, host_us=30 + 28, device_us=24)),
        ((FORWARD,), CompiledLump(calls=1, host_us=28, device_us=0)),
    ],
    ids=["without map", "with a map of the forward"],
)
def test_graphs_that_no_map_places_are_a_lump_of_their_module(
    tmp_path: Path, graphs: tuple[dict[str, Any], ...], expected: CompiledLump
) -> None:
    assert lumps(analyzed(tmp_path, PICTURE, *graphs)) == {"": expected}


def test_eager_modules_have_none(tmp_path: Path) -> None:
    assert lumps(analyzed(tmp_path, "main ops [root  ]")) == {}


def test_a_lump_is_part_of_the_time_of_a_module_of_a_real_trace() -> None:
    report = reported("hta_v100_training.json.gz").data
    found = [row for row in report.modules if row.compiled_lump is not None]
    assert [row.path for row in found] == ["## forward:over_arch ##"]
    for row in found:
        assert row.compiled_lump is not None
        whole = (row.forward.self_device_us or 0) + (row.backward.self_device_us or 0)
        assert 0 < (row.compiled_lump.device_us or 0) <= whole
