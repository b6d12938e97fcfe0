"""Workspaces of matrix products, drawn."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from support.allocator_rows import CPU, CUDA, rows

from tb_hookview.analysis.memory.live import MemoryClass
from tb_hookview.loading import load

NAMES = {
    "mm'": "autograd::engine::evaluate_function: MmBackward0",
    "fwd": "aten::linear",
    "mul": "aten::mm",
    "addmm": "aten::addmm",
    "none": "aten::empty",
    "sgd": "Optimizer.step#SGD.step",
    "step1": "ProfilerStep#1",
    "step2": "ProfilerStep#2",
}
STEPS = """
    main notes [step1                             ][step2                             ]
    main notes                             [sgd ]                              [sgd ]
    main ops   [fwd seq=1  ]                       [fwd seq=2  ]
    main ops    [addmm  ]                           [addmm  ]
    main ops     [none]                              [none]
    auto ops                 [mm' seq=1 F=1]                     [mm' seq=2 F=1]
    auto ops                  [mul      ]                         [mul      ]
    """


def classes(
    folder: Path, *changes: tuple[float, int, int], tid: str, device: tuple[int, int] = CUDA
) -> list[str]:
    """Class of each block; changes as columns of the picture, addresses and bytes."""
    events = grid.events(STEPS, NAMES) + rows(changes, tid=tid, device=device)
    found = load(grid.write(folder / "t.json", events)).memory
    assert found
    return [MemoryClass(kind).name.lower() for kind in found.kind.tolist()]


LATER = (64, 9, 4)
"""Result of the second product."""


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        pytest.param([(28, 1, 4), LATER], ["gradient"], id="a result"),
        pytest.param([(28, 1, 4), (29, 2, 8), LATER], ["gradient", "workspace"], id="one"),
        pytest.param(
            [(28, 1, 4), (29, 2, 8), (29, 3, 8), LATER], ["gradient", *["workspace"] * 2], id="two"
        ),
        pytest.param(
            [(28, 1, 4), (29, 2, 8), (30, 2, -8), LATER], ["gradient", "temporary"], id="freed"
        ),
        pytest.param(
            [(28, 1, 8), (29, 1, -8), (30, 2, 4), LATER], ["temporary", "gradient"], id="before"
        ),
        pytest.param(
            [(28, 1, 4), (29, 2, 8), LATER, (66, 2, -8)], ["gradient"] * 2, id="freed later"
        ),
        pytest.param([(64, 1, 8)], ["workspace"], id="the result is given"),
    ],
)
def test_a_product_keeps_more_than_its_result(
    tmp_path: Path, changes: list[tuple[float, int, int]], kinds: list[str]
) -> None:
    assert classes(tmp_path, *changes, tid="auto")[: len(kinds)] == kinds


def test_workspaces_of_the_forward(tmp_path: Path) -> None:
    changes = [(13, 1, 4), (19, 2, 8), (28, 1, -4), (49, 1, 4)]
    assert classes(tmp_path, *changes, tid="main")[1] == "workspace"


def test_memory_of_the_host_is_none(tmp_path: Path) -> None:
    changes = [(28, 1, 4), (29, 2, 8), LATER]
    assert classes(tmp_path, *changes, tid="auto", device=CPU) == ["gradient"] * 3
