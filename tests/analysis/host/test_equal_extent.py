"""Rows of equal start and duration nest as torch opened them."""

from __future__ import annotations

import random
from pathlib import Path

import grid
import pytest

from tb_hookview.loading import load

PICTURE = """
    main python [module                          ]
    main ops    [aten::linear ext=8              ]
    main ops    [aten::addmm ext=9               ]
    main notes  [zero ext=7                      ]
    main calls  [launch corr=2                   ]
    main calls  [again corr=1                    ]
"""
NAMES = {
    "module": "nn.Module: Linear_0",
    "launch": "cudaLaunchKernel",
    "again": "cudaStreamSynchronize",
}
OUTSIDE_IN = [
    "nn.Module: Linear_0",
    "zero",
    "aten::linear",
    "aten::addmm",
    "cudaStreamSynchronize",
    "cudaLaunchKernel",
]


@pytest.mark.parametrize("seed", range(6))
def test_ids_decide_and_not_the_order_in_the_file(tmp_path: Path, seed: int) -> None:
    rows = grid.events(PICTURE, NAMES)
    random.Random(seed).shuffle(rows)
    host = load(grid.write(tmp_path / "t.json", rows)).host
    assert [host.name(row) for row in range(len(host))] == OUTSIDE_IN
    assert host.call_tree.parent.tolist() == [-1, 0, 1, 2, 3, 4]


@pytest.mark.parametrize("names", [["a", "b"], ["b", "a"]])
def test_without_ids_names_decide(tmp_path: Path, names: list[str]) -> None:
    picture = "\n".join(f"main notes [{name}     ]" for name in names)
    host = load(grid.write(tmp_path / "t.json", grid.events(picture))).host
    assert [host.name(row) for row in range(len(host))] == ["a", "b"]
