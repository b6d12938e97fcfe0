"""Two drawn traces of a model, before and after a change that moves a little of everything."""

from __future__ import annotations

from pathlib import Path

import grid

from tb_hookview import markers
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.schema import ReportData

BEFORE = """
    main notes [s1                                                               ][s2         ]
    main ops   [a                           ][b            ]                        [gone  ]
    main ops    [mm seq=4   ] [item        ]  [mm seq=5   ]
    main calls   [L corr=1]     [W corr=9 ]    [L corr=2]                            [L corr=6]
    auto ops                                                [mm' seq=5 F=1] [sum' ]
    auto calls                                               [L corr=3]      [L corr=8]
    gpu  kernel     [k corr=1 ]                   [j corr=2 ]      [k corr=3] [s corr=8] [k corr=6]
    """
AFTER = """
    main notes [s1                                                                               ]
    main ops   [a                                    ][b            ] [new ]
    main ops    [mm seq=4        ] [item            ]  [mm seq=5   ]
    main calls   [L corr=1]          [W corr=9     ]    [L corr=2]     [copy corr=7]
    auto ops                                                            [mm' seq=5 F=1] [sum' ]
    auto calls                                                           [L corr=3]      [L corr=8]
    gpu  kernel     [k corr=1      ]                       [n corr=2 ]      [k corr=3][s corr=8 ]
    gpu  copy                                                             [D2D corr=7]
    """
NAMES = {
    "s1": "ProfilerStep#1",
    "s2": "ProfilerStep#2",
    **{name: markers.encode("forward", name, "Linear") for name in ("a", "b", "gone", "new")},
    "mm": "aten::mm",
    "mm'": "autograd::engine::evaluate_function: MmBackward0",
    "sum'": "autograd::engine::evaluate_function: SumBackward0",
    "item": "aten::item",
    "L": "cudaLaunchKernel",
    "W": "cudaStreamSynchronize",
    "copy": "cudaMemcpyAsync",
    "D2D": "Memcpy DtoD (Device -> Device)",
}


def report(folder: Path, picture: str, name: str = "t.json") -> ReportData:
    """Report of a picture of this model."""
    return build_report(load(grid.write(folder / name, grid.events(picture, NAMES)))).data
