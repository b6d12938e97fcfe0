"""One collective on the ranks that took part, on one clock: that of the run's first rank.

    rank 0   [== waits ==|= transfer =]
    rank 1               [= transfer =]     came last

Clocks are those that the ends of collectives estimate. Where the estimate is worse than the wait
that is to be shown, nothing is.
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
from tb_hookview.arrays.types import Int, Nanoseconds, to_us
from tb_hookview.errors import NotFoundError
from tb_hookview.formats import format_us
from tb_hookview.ranks.result import RunReport

MOST_RANKS = 16
"""Ranks that are shown at once: the late one and others."""
_AROUND = 0.5
"""Part of the collective's length that is shown before it, and after it."""


def ranks_together(report: RunReport, number: int, offset: int) -> schema.CollectiveRanks:
    """Give when each of some ranks came to a collective, and how long it waited there.

    Args:
        report: the run.
        number: id of the collective.
        offset: ranks to leave out first; the late one is always among those that are given.

    Raises:
        NotFoundError: the run has no such collective.
    """
    collective = collective_of(report.data, number)
    late, others = parted(report, collective)
    following = others[offset : offset + MOST_RANKS - 1]
    shown = sorted([*late, *following], key=lambda rank: rank.id)
    refused = refusal(shown, collective)
    first, last = window(report, collective)
    return schema.CollectiveRanks(
        refused=refused,
        length_us=to_us(last - first),
        transfer_us=collective.transfer_us,
        clock_spread_us=spread(shown),
        offset=offset,
        left_out=max(len(others) - offset - len(following), 0),
        ranks=[] if refused else _parts(report, collective, shown),
    )


def collective_of(run: schema.Run, number: int) -> schema.Collective:
    """A collective by its id.

    Raises:
        NotFoundError: the run has no such collective.
    """
    if number >= len(run.collectives):
        raise NotFoundError(f"{run.path}: no collective {number}")
    return run.collectives[number]


def parted(
    report: RunReport, collective: schema.Collective
) -> tuple[list[schema.Rank], list[schema.Rank]]:
    """The straggler of a collective (none where nobody waited), and the others that took part."""
    members, ranks = report.members, report.data.ranks
    present = [ranks[place] for place in members.rank[members.of(collective.id)].tolist()]
    late = [rank for rank in present if rank.rank == collective.late_rank]
    return late, [rank for rank in present if rank.rank != collective.late_rank]


def spread(ranks: Sequence[schema.Rank]) -> float | None:
    """Largest spread of some ranks' clocks, microseconds; None where one is unknown."""
    known = [rank.clock_spread_us for rank in ranks if rank.clock_spread_us is not None]
    return max(known) if len(known) == len(ranks) > 0 else None


def refusal(ranks: Sequence[schema.Rank], collective: schema.Collective) -> str | None:
    """Why some ranks cannot be shown on one clock around a collective; None where they can."""
    waited = format_us(collective.wait_us)
    if collective.late_rank is None:
        return f"no rank was late for it: the ranks waited {waited}"
    unknown = [rank.rank for rank in ranks if rank.clock_spread_us is None]
    if unknown:
        return f"the clock of rank {unknown[0]} is unknown: it shares no collective"
    worst = spread(ranks) or 0.0
    if worst > collective.wait_us:
        return (
            f"the ranks waited {waited} for it, their clocks are known to {format_us(worst)} only"
        )
    return None


def window(report: RunReport, collective: schema.Collective) -> tuple[int, int]:
    """Begin and end of what is shown on the first rank's clock, nanoseconds."""
    members, mine = report.members, report.members.of(collective.id)
    offsets = np.array([offset_of(rank) for rank in report.data.ranks])[members.rank[mine]]
    start = int((members.start[mine] - offsets).min())
    end = int((members.end[mine] - offsets).max())
    around = round(_AROUND * (end - start))
    return start - around, end + around


def offset_of(rank: schema.Rank) -> int:
    """By how much a rank's clock is ahead of the first rank's, nanoseconds; 0 for unknown."""
    return round((rank.clock_offset_us or 0.0) * 1000)


def _parts(
    report: RunReport, collective: schema.Collective, ranks: Sequence[schema.Rank]
) -> list[schema.RankPart]:
    members, (first, _) = report.members, window(report, collective)
    mine = members.of(collective.id)
    wait = members.wait[mine]
    parts = []
    for rank in ranks:
        member = members.at(collective.id, rank.id)
        start = int(members.start[member])
        parts.append(
            schema.RankPart(
                rank=rank.rank,
                own_start_us=to_us(start),
                start_us=to_us(start - offset_of(rank) - first),
                wait_us=to_us(wait[member - mine.start]),
                late=rank.rank == collective.late_rank,
            )
        )
    return parts


# What one rank ran around a collective: its host and its devices, as lanes of columns.
#
# A window is cut into columns; each is of what took most of it, and equal neighbours are one span.


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
