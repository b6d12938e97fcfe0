"""What one rank ran around a collective: its host and its devices, as lanes of columns.

A window is cut into columns; each is of what took most of it, and equal neighbours are one span.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.activity import (
    DATA,
    OPTIMIZER,
    OTHER,
    PEERS,
    WAIT,
    Activity,
    device_activity,
    host_activity,
    in_windows,
)
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Int, Nanoseconds
from tb_hookview.arrays.units import to_us
from tb_hookview.ranks.result import RunReport
from tb_hookview.ranks.together import collective_of, offset_of, window

COLUMNS = 480
"""Columns of a window: a bit finer than the picture is wide, and the most spans of a lane."""
NOTHING = -6
"""Code of a column in which nothing ran for most of the time."""
_KINDS: dict[int, schema.ActivityKind] = {
    OTHER: "other",
    DATA: "data",
    OPTIMIZER: "optimizer",
    WAIT: "sync",
    PEERS: "ranks",
}


class Activities(NamedTuple):
    """What a trace's host and devices were doing."""

    host: Activity
    device: Activity | None
    """None without a device."""
    modules: Sequence[str]
    """Paths by `ModuleIndex`."""


def find_activities(analysis: Analysis) -> Activities:
    """Find what the host and the devices of a trace were doing."""
    device = device_activity(analysis) if len(analysis.device_events) else None
    return Activities(host_activity(analysis), device, analysis.modules.path)


def rank_around(
    report: RunReport, number: int, rank: schema.Rank, found: Activities
) -> schema.RankActivity:
    """Give what a rank ran around a collective.

    Args:
        report: the run.
        number: id of the collective.
        rank: the rank, whose clock is known.
        found: what its trace's host and devices were doing.

    Raises:
        NotFoundError: the run has no such collective.
    """
    first, last = window(report, collective_of(report.data, number))
    relative = np.linspace(0, last - first, COLUMNS + 1).round().astype(np.int64)
    edges = unique(relative) + first + offset_of(rank)
    lanes = {"host": found.host, "device": found.device}
    return schema.RankActivity(
        rank=rank.rank,
        lanes=[
            schema.ActivityLane(name=name, spans=_spans(activity, edges, found.modules))
            for name, activity in lanes.items()
            if activity is not None
        ],
    )


def codes_of_columns(activity: Activity, edges: Nanoseconds) -> Int:
    """Code that took most of each window between consecutive edges; NOTHING where nothing did."""
    window_of, code, time = in_windows(activity, edges)
    columns = len(edges) - 1
    ran = sum_by(window_of, time, columns)
    most, codes = np.zeros(columns, np.int64), np.zeros(columns)
    # of equal indices the last one is assigned
    order = np.argsort(time, kind="stable")
    most[window_of[order]], codes[window_of[order]] = time[order], code[order]
    return np.where(most > np.diff(edges) - ran, codes, NOTHING).astype(np.int64)


def _spans(
    activity: Activity, edges: Nanoseconds, modules: Sequence[str]
) -> list[schema.ActivitySpan]:
    codes = codes_of_columns(activity, edges)
    changes = np.flatnonzero(np.diff(codes)) + 1
    bounds = [0, *changes.tolist(), len(codes)]
    return [
        schema.ActivitySpan(
            start_us=to_us(edges[begin] - edges[0]),
            duration_us=to_us(edges[end] - edges[begin]),
            kind="module" if codes[begin] >= 0 else _KINDS[int(codes[begin])],
            module=modules[codes[begin]] if codes[begin] >= 0 else None,
        )
        for begin, end in pairwise(bounds)
        if codes[begin] != NOTHING
    ]
