"""Timelines of small traces that are drawn, and what their lanes show in words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import grid
import numpy as np
from analysis.owners import NAMES

from tb_hookview.loading import load
from tb_hookview.schema.timeline import EventDetail
from tb_hookview.timeline import Timeline
from tb_hookview.timeline.event.detail import detail
from tb_hookview.timeline.lanes.lane import Colour

STEP_OF_TRAINING = """
    main notes [step                                                                 ]
    main ops    [root                            ]
    main ops     [fc            ] [rl            ]
    main ops      [mm seq=4    ]   [r seq=5     ]
    main calls     [go corr=1]
    auto ops                                       [r' seq=5 F=1] [m' seq=4 F=1]
    auto calls                                      [go corr=2]    [go corr=3]
    main notes                                                                  [adam]
    main calls                                                                   [sy]
    gpu  kernel            [gemm corr=1]                  [rk corr=2]  [gemm corr=3]
"""
"""One step: forward, backward and optimizer, in which the host waits for the device."""
WORDS = {
    "go": "cudaLaunchKernel",
    "gemm": "volta_sgemm_64x64_nt",
    "adam": "Optimizer.step#Adam.step",
    "sy": "cudaStreamSynchronize",
    "mm": "aten::mm",
    "r": "aten::relu",
    "rl": NAMES["relu"],
    "m'": NAMES["mm'"],
    "r'": NAMES["relu'"],
    "rk": "relu_kernel",
}


def timeline_of(
    folder: Path, picture: str = STEP_OF_TRAINING, names: Mapping[str, str] | None = None
) -> Timeline:
    traced = grid.events(picture, {**NAMES, **WORDS, **(names or {})})
    return Timeline(load(grid.write(folder / "t.json", traced)))


def shown(timeline: Timeline, kind: str, number: int = 0) -> list[tuple[int, str, int, int]]:
    """Depth, name, start and end (microseconds from the start) of what a lane shows, in order."""
    lane = timeline.lane(timeline.lanes_of(kind)[number])
    names = [timeline.names.texts[name] for name in lane.name.tolist()]
    times = [((t - timeline.origin) // 1000).tolist() for t in (lane.start, lane.end)]
    return list(zip(lane.depth.tolist(), names, *times, strict=True))


def colours(timeline: Timeline, kind: str, number: int = 0) -> dict[str, str]:
    """Colour of each name on a lane."""
    lane = timeline.lane(timeline.lanes_of(kind)[number])
    names = [timeline.names.texts[name] for name in lane.name.tolist()]
    return {n: Colour(c).name.lower() for n, c in zip(names, lane.colour.tolist(), strict=True)}


def found(timeline: Timeline, kind: str, name: str, number: int = 0, place: int = 0) -> EventDetail:
    """The detail of the first event of a name on a lane, or of a later one."""
    lane = timeline.lanes_of(kind)[number]
    names = [row[1] for row in shown(timeline, kind, number)]
    named = [index for index, each in enumerate(names) if each == name]
    event = timeline.ids(lane, np.array([named[place]]))
    return detail(timeline, int(event[0]))


def linked(answer: EventDetail) -> list[tuple[str, str]]:
    """Relation and name of each link."""
    return [(link.relation, link.name) for link in answer.links]


def chained(answer: EventDetail) -> list[tuple[str, str]]:
    """Kind and text of each link of the chain."""
    return [(link.kind, link.text) for link in answer.chain]
