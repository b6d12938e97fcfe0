"""FLOPs of calls and kernels of drawn timelines; sums of all rows are among the invariants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.tables.catalogue import event_table

PICTURE = """
    main ops    [aten::linear                                ]  [aten::mm     ]
    main ops      [aten::addmm                             ]
    main calls       [go corr=1]  [go corr=2]                      [go corr=3]
    gpu  kernel              [gemm corr=1       ][bias corr=2 ]
    """
NAMES = {"gemm": "ampere_sgemm_64x64_tn", "bias": "elementwise_kernel", "go": "cudaLaunchKernel"}
SHAPES = {
    "aten::linear": [[2, 3, 8], [5, 8], [5]],
    "aten::addmm": [[5], [6, 8], [8, 5]],
    "aten::mm": [[6, 8], [8, 5]],
}


def drawn(folder: Path) -> Analysis:
    events = grid.events(PICTURE, NAMES)
    for event in events:
        if shapes := SHAPES.get(event["name"]):
            types = ["float"] * len(shapes)
            event["args"] |= {"Input Dims": shapes, "Input type": types}
    return load(grid.write(folder / "t.json", events))


def test_the_outermost_call_counts_and_its_product_does_the_work(tmp_path: Path) -> None:
    analysis = drawn(tmp_path)
    flops = 2 * 6 * 8 * 5
    assert analysis.call_work.flops[analysis.counted_calls].tolist() == [flops]
    assert analysis.device_work.flops.tolist() == [flops, 0.0]
    moved = 4 * (48 + 40 + 5 + 30)
    assert analysis.device_work.bytes.tolist()[0] == moved
    rows = {row.name: row for row in table(analysis, "operators_by_shape")}
    linear = rows["aten::linear"]
    assert (linear.flops, linear.flops_us) == (flops, 20.0 + 14.0)
    assert linear.flop_per_byte == flops / moved
    assert rows["aten::mm"].flops is None, "nothing that it launched is in the trace"


def table(analysis: Analysis, name: str) -> list[Any]:
    return list(event_table(name, lambda: select(analysis, None)))
