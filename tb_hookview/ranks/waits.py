"""Who waited for whom: times of matched collectives without a common clock.

    rank 0   [== waits ==|= transfer =]          duration 0
    rank 1               [= transfer =]          the shortest: it came last
    rank 2       [=waits=|= transfer =]

All ranks leave together. So the rank with the shortest duration came last, its duration is the
transfer, and what another's is longer by, that rank waited.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview.arrays.joins import running_max
from tb_hookview.arrays.types import Float, Int, Nanoseconds
from tb_hookview.ranks.members import Members

WAITED_NS = 100_000
"""Waits below this name no late rank: the ranks' arrival is never quite equal."""


class Waits(NamedTuple):
    """Times of m collectives with n members, nanoseconds."""

    transfer: Nanoseconds
    """Shortest duration of each collective, shape (m,)."""
    alone: Nanoseconds
    """Time that each member waited, but not in one that its rank began earlier; shape (n,)."""
    last: Int
    """The member that came last, -1 where none waited for it; shape (m,)."""
    caused: Float
    """Mean wait of the other members, shape (m,)."""


def find_waits(members: Members) -> Waits:
    """Measure transfer and waits of every collective."""
    duration, collective = members.end - members.start, members.collective
    transfer = members.least(duration)
    wait = duration - transfer[collective]
    alone = _alone(members, wait)
    others = np.maximum(np.diff(members.first) - 1, 1)
    caused = members.total(wait) / others
    shortest = np.where(wait == 0, np.arange(len(wait)), len(wait))
    last = np.where(caused >= WAITED_NS, members.least(shortest), -1)
    return Waits(transfer, alone, last, caused)


def _alone(members: Members, wait: Nanoseconds) -> Nanoseconds:
    """Time of each wait that is in none of those that its rank began before; shape (n,)."""
    order = np.lexsort((np.arange(len(wait)), members.start, members.rank))
    rank, start = members.rank[order], members.start[order]
    end = start + wait[order]
    # of an earlier one of the same rank
    until = np.concatenate([start[:1], running_max(rank, end)[:-1]])
    until = np.where(np.diff(rank, prepend=-1) != 0, start, until)
    alone = np.empty_like(wait)
    alone[order] = np.maximum(end - np.maximum(start, until), 0)
    return alone
