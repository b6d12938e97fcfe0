"""Drawn training steps with events of an allocator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
from rules.diagnosed import Diagnosed, diagnosed
from support.allocator_rows import rows

from tb_hookview import markers

NAMES = {
    "fc": markers.encode("forward", "fc", "Linear"),
    "mm'": "autograd::engine::evaluate_function: MmBackward0",
    "adam": "Optimizer.step#Adam.step",
    **{f"step{i}": f"ProfilerStep#{i}" for i in range(1, 6)},
}
STEP = 50
"""Length of a drawn step, whose forward begins at 2, backward at 15 and optimizer at 32."""
MB = 1 << 20
DEVICE = [{"id": 0, "name": "A", "totalGlobalMem": 100 * MB}]
Change = tuple[float, int, int]


def steps(count: int) -> list[dict[str, Any]]:
    found = []
    for number in range(1, count + 1):
        drawn = grid.events(
            f"""
            main notes [step{number}                                        ]
            main notes                                 [adam  ]
            main ops     [fc      ]
            main ops      [mm seq={number}]
            main ops                  [mm' seq={number} F=1]
            """,
            NAMES,
        )
        for event in drawn:
            event["ts"] += (number - 1) * STEP - 11
        found += drawn
    return found


def findings(folder: Path, changes: list[Change], count: int = 4, **options: Any) -> Diagnosed:
    allocator = rows(changes, **{"reserved": 60 * MB, **options})
    path = grid.write(folder / "t.json", steps(count) + allocator, deviceProperties=DEVICE)
    return diagnosed(path)


def each_step(*changes: tuple[float, float], count: int = 4) -> list[Change]:
    """The same changes in every step, megabytes at moments; the address is that of the size."""
    return [
        (number * STEP + time, 4096 * abs(round(size * 8)), round(size * MB))
        for number in range(count)
        for time, size in changes
    ]
