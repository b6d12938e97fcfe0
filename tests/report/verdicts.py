"""Timelines of which several files ask the verdict, and the report of a timeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
from rules.eager import ADD
from simulation import drawn

from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.report.result import Report

DEVICE = """
    main notes [ProfilerStep#1                            ]
    main calls [launch corr=1][wait                       ]
    gpu kernel  [k corr=1                                ]
"""

DATA = """
    main notes [ProfilerStep#1                                    ]
    main notes [loader                   ]
    main calls                            [launch corr=1][wait    ]
    gpu kernel                             [k corr=1             ]
"""

NO_DEVICE = """
    main notes [ProfilerStep#1      ]
    main notes [loader  ]
    main ops             [aten::mm  ]
"""


def report(folder: Path, picture: str, *more: dict[str, Any]) -> Report:
    return made(folder, [*drawn.events(picture), *more])


def made(folder: Path, events: list[dict[str, Any]]) -> Report:
    return build_report(load(grid.write(folder / "t.json", events)))


PACE = [("aten::add", ADD)] * 30
