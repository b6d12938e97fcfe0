"""Waits for a delay that earlier collectives have shown already.

    host 0     [a][c1]      [a][c2]              launches, and goes on
    device 0        [c1 waits ]     [c2 waits ]
    host 1     [late][a][c1]      [a][c2]        as late at c2 as at c1: one delay, not two
    device 1              [c1]          [c2]

A rank comes to a collective later than the first one by what its device did longer since the last
collective of the same ranks, by what its host did longer, and by how late its host already was.
What other devices computed as they waited for it does not make its own slower. The last part is
carried: at most as much as was waited for it before, less what the hosts of others have waited
since, and no longer than its device waited for a launch. Where hosts run them (gloo), these do not
wait between two that they begin without a wait, as the buckets of a backward pass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview.arrays.sums import ranges
from tb_hookview.arrays.types import Bool, Float, Int
from tb_hookview.ranks.members import Members


class Own(NamedTuple):
    """A rank's self time since its first edge, at each member; shape (n,), nanoseconds."""

    host: Float
    """Of its host until it launches the member, waits for the device left out."""
    begun: Float
    """Of its device until the member begins, less what it waits for launches and is held."""
    ended: Float
    """The same until the member ends."""
    known: Bool
    """Whether host and device are known apart."""


class Earlier(NamedTuple):
    """For m collectives with n members, those of the same ranks before."""

    before: Int
    """Each rank's member in the last collective of the same ranks, -1 for none; shape (n,)."""
    rounds: list[Int]
    """The collectives: the first ones of all sets of ranks, their second ones, ..."""


def find_new_waits(members: Members, own: Own, earlier: Earlier) -> Float:
    """Part of each member's wait that is for no delay of an earlier collective, shape (n,).

    Args:
        members: m collectives.
        own: time of the ranks without waits.
        earlier: collectives of the same ranks.
    """
    before, wait = earlier.before, members.wait.astype(np.float64)
    newly_waited, known = np.zeros(len(wait)), np.zeros(len(wait))
    late, lag, newly, idle, earliest = _latenesses(members, own, before, wait)
    longer = members.beyond_others(own.begun - own.ended[before])
    while_waiting, ahead = members.beyond_others(own.ended - own.begun), np.zeros(len(wait))
    launched = members.launch - own.host
    for collectives in earlier.rounds:
        mine, of = ranges(members.first[collectives], members.first[collectives + 1])
        first = np.flatnonzero(np.diff(of, prepend=-1))
        past = before[mine]
        has_past = past >= 0
        # how much later a host is by delays that were waited for, after all waits since
        still = np.where(has_past, known[past], 0.0)
        moved = still + np.where(has_past, launched[mine] - launched[past], 0.0)
        still = np.minimum(still, moved - np.minimum.reduceat(moved, first)[of])
        # work of its device that the others' have done ahead, as they waited for it
        owed = np.where(has_past, np.maximum(ahead[past] - while_waiting[past], 0.0), 0.0)
        done = np.minimum(np.maximum(longer[mine], 0.0), owed)
        ahead[mine] = owed - done
        unused = idle[mine] + done
        most = unused - unused[np.searchsorted(mine, earliest[mine])]
        most = np.where(own.known[mine], most, np.inf)
        same = np.clip(np.minimum(late[mine] - newly[mine], most), 0.0, still)
        new = late[mine] - same
        for_new = np.maximum.reduceat(new, first)[of] - new
        newly_waited[mine] = np.minimum(wait[mine], for_new)
        known[mine] = np.minimum(lag[mine], np.maximum(still, late[mine]))
    return newly_waited


def earlier_of(members: Members, recurs: Bool) -> Earlier:
    """Find the earlier collectives of the same ranks.

    Args:
        members: m collectives.
        recurs: which of them are compared with earlier ones, shape (m,).
    """
    before, place = np.full(len(members.rank), -1), np.full(len(members), -1)
    last: dict[bytes, int] = {}
    for collective in members.begun(np.flatnonzero(recurs)).tolist():
        mine = members.of(collective)
        key = members.rank[mine].tobytes()
        if (earlier := last.get(key)) is not None:
            before[mine] = np.arange(*members.first[earlier : earlier + 2])
            place[collective] = place[earlier]
        place[collective] += 1
        last[key] = collective
    order = np.argsort(place, kind="stable")
    parts = np.split(order, np.searchsorted(place[order], np.arange(place.max(initial=-1) + 1)))
    return Earlier(before, parts[1:])


def _latenesses(
    members: Members, own: Own, before: Int, wait: Float
) -> tuple[Float, Float, Float, Float, Int]:
    """Of each member: its lateness, its host's, and how much longer its host worked since.

    These are relative to the member that came first, the last of the columns. Before it: time since
    the earlier collective in which the device did nothing.
    """
    collective = members.collective
    order = np.lexsort((-wait, collective))
    first = order[members.first[:-1]][collective]
    launch = members.launch - members.end
    host = own.host - own.host[before]
    idle = (members.start - members.end[before]) - (own.begun - own.ended[before])
    idle = idle - _in_others(members, before)
    return (
        wait[first] - wait,
        (launch - members.least(launch)[collective]).astype(np.float64),
        np.maximum(host - host[first], 0.0),
        idle,
        first,
    )


def _in_others(members: Members, before: Int) -> Int:
    """Time that each rank was in other collectives since the earlier one, shape (n,)."""
    until = np.zeros(len(members.rank), np.int64)
    duration = members.end - members.start
    for mine in members.of_ranks(int(members.rank.max(initial=0)) + 1):
        until[mine] = np.cumsum(duration[mine])
    return np.maximum(until - duration - until[before], 0)
