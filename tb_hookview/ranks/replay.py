"""The ranks' steps replayed with some of what a rank does taken out.

    rank 0   |- own -|[ all_reduce ....held]|- own -|     the end is a gate: rank 0 was held to it
    rank 1   |- own ----------------|[ a.r.]|- own -|

A rank's time is its own except while it is held: does nothing but wait in a collective. The
rest passes as recorded, less what is taken out. A collective begins on a rank when that rank
comes to it, and ends on all ranks at once: its transfer after the last of them came. If any
rank was held to the end of a collective, no rank of it goes on before that end. One whose
kernel ran on after all others had left is as much later.

Where devices run the collectives, hosts go on without them:

    host     |- own -|launch c|- own -|launch d|-- own --|....waits for c|- own -|launch e
    device            ....[ c                            ]     ..........[ d ]

A host comes to a launch when its self time until there has passed since its start, and the longest
of its waits. A wait is longer by as much as the collective before it ends later. A device begins no
collective before the host has launched it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from tb_hookview.analysis.collectives.calls import POINT_TO_POINT
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Bool, Float, Int, Nanoseconds
from tb_hookview.ranks.carried import Own, earlier_of
from tb_hookview.ranks.lateness import Waits
from tb_hookview.ranks.map.summary import RankSummary
from tb_hookview.ranks.matching import Matched
from tb_hookview.ranks.members import Members

_SIDES: tuple[Literal["right"], Literal["left"]] = ("right", "left")


class Saved(NamedTuple):
    """Time that is taken from a rank's own between consecutive edges, shape (e - 1,)."""

    host: Float
    device: Float
    """All of it where host and device are not known apart."""


class Played(NamedTuple):
    """A run that was played."""

    members: Members
    """Its collectives, on a clock that all ranks share."""
    length: float
    """Time from the first moment of any rank to the last one, nanoseconds."""
    own: Own


class Replay:
    """A run whose self times can be changed: m collectives, n members, r ranks; nanoseconds.

    The ranks' edges are one after the other, as index of each; e in all. A place is a member, or
    after all of them the start of a rank: n + r.

    Args:
        ranks: summaries.
        matched: their collectives.
        waits: the transfers of these.
    """

    def __init__(self, ranks: Sequence[RankSummary], matched: Matched, waits: Waits) -> None:
        members = self.members = matched.members
        self.ranks, self._transfer, self._ran_on = ranks, waits.transfer, members.ran_on
        self.edges: Nanoseconds = np.concatenate([rank.edges for rank in ranks])
        after = np.cumsum([len(rank.edges) for rank in ranks])
        self.last: Int = after - 1
        self.first: Int = np.append(0, after[:-1])
        offset = np.nan_to_num(matched.clocks.offset)
        begin = self.edges[self.first] - offset
        self.begin: Float = begin - begin.min()
        self._recorded_end: Float = self.edges[self.last] - offset - begin.min()
        self.recorded_ends = members.end - (offset + begin.min())[members.rank]
        self.of_ranks = members.of_ranks(len(ranks))
        self.start, self.end, self.launch = (
            self._edge(at) for at in (members.start, members.end, members.launch)
        )
        self.left: Int = np.append(self.end, self.first)
        """Edge at which each place is left, shape (n + r,)."""
        self.before, self.since = _ended_before(members, self.of_ranks)
        places = ([len(self.start) + rank, *own] for rank, own in enumerate(self.of_ranks))
        self.final: Int = np.array([each[-1] for each in places], np.int64)
        """The last place of each rank, shape (r,)."""
        # held until its end on any rank
        held = np.concatenate([np.append(rank.held, 0) for rank in ranks])[self.end - 1] > 0
        self._gate = np.asarray(members.total(held.astype(np.int64)) > 0)
        self.hosts_known = np.array([rank.ahead.known for rank in ranks], bool)
        self.known = self._launches_known()
        self.earlier = earlier_of(members, self._recurs())
        self.waits = _find_host_waits(self, self.sums(rank.ahead.other for rank in ranks))

    @property
    def recorded(self) -> float:
        """Recorded time from the first moment of any rank to the last one."""
        return float(self._recorded_end.max() - self.begin.min())

    def play(self, saved: Mapping[int, Saved] | None = None) -> Played:
        """Play the run.

        Args:
            saved: what to take from some ranks, by their place.
        """
        passed = self._passed(saved or {})
        begun, ended = passed.device[self.start], passed.device[self.end]
        hosts, count = _Hosts(self, passed), len(self.start)
        # of the device at each place: how much later it is there than by its self time
        delay = np.concatenate([np.empty(count), self.begin])
        come = np.empty(count)
        for collective in range(len(self.members)):
            mine = self.members.of(collective)
            least = hosts.least_start(mine)
            come[mine] = np.maximum(begun[mine] + delay[self.since[mine]], least)
            delay[mine] = np.maximum(delay[self.before[mine]], least - begun[mine])
            if self._gate[collective]:
                leave = come[mine].max() + self._transfer[collective] + self._ran_on[mine]
                delay[mine] = np.maximum(delay[mine], leave - ended[mine])
            hosts.leave(mine, ended[mine] + delay[mine])
        last = np.maximum(delay[self.final] + passed.device[self.last], hosts.end)
        moved = replace(
            self.members,
            start=whole(come),
            end=whole(np.maximum(come, ended + delay[:count])),
            launch=whole(np.where(self.known, hosts.launch, come)),
        )
        return Played(moved, float(last.max() - self.begin.min()), self._own(passed))

    def own(self) -> Own:
        """Self time of the ranks at each member, as recorded."""
        return self._own(self._passed({}))

    def _own(self, passed: _Passed) -> Own:
        begun, ended = passed.device[self.start], passed.device[self.end]
        return Own(passed.host[self.launch] - self.waits.silent, begun, ended, self.known)

    def sums(self, times: Iterable[NDArray[Any]]) -> Float:
        """Sum of times between a rank's edges until each of them, shape (e,)."""
        return np.concatenate([np.append(0.0, np.cumsum(each)) for each in times])

    def _passed(self, saved: Mapping[int, Saved]) -> _Passed:
        host, device, of_host, of_device = [], [], [], []
        for at, rank in enumerate(self.ranks):
            ahead, length = rank.ahead, np.diff(rank.edges).astype(np.float64)
            less = saved.get(at) or Saved(0 * length, 0 * length)
            waited = ahead.waited if ahead.known else rank.held
            host.append(np.maximum(length - waited - less.host, 0.0))
            device.append(np.maximum(length - ahead.idle - rank.held - less.device, 0.0))
            of_host.append(less.host)
            of_device.append(less.device)
        idle = (rank.ahead.idle for rank in self.ranks)
        return _Passed(*map(self.sums, (host, device, of_host, of_device, idle)))

    def _edge(self, moment: Nanoseconds) -> Int:
        """Edge at a moment of each member, shape (n,)."""
        found = np.empty_like(moment)
        for rank, first, mine in zip(self.ranks, self.first, self.of_ranks, strict=True):
            found[mine] = first + np.searchsorted(rank.edges, moment[mine])
        return found

    def _launches_known(self) -> Bool:
        """Of which members the host, and when it launched them, are known; shape (n,)."""
        known = self.hosts_known[self.members.rank]
        for rank, mine in zip(self.ranks, self.of_ranks, strict=True):
            known[mine] &= rank.launched[self.members.index[mine]]
        return known

    def _recurs(self) -> Bool:
        """Which collectives are compared with earlier ones: messages of stages are not."""
        first = self.members.first[:-1]
        of = self.members.rank[first].tolist(), self.members.index[first].tolist()
        kinds = (self.ranks[rank].collectives.kind[index] for rank, index in zip(*of, strict=True))
        return np.array([kind not in POINT_TO_POINT for kind in kinds], bool)


class _Passed(NamedTuple):
    """Time of each rank until each of its edges, shape (e,)."""

    host: Float
    """Its host's own, less what is saved: what it waits for the device is not its own."""
    device: Float
    """The same of its device, that waits for launches and is held."""
    saved_host: Float
    saved: Float
    """Of its device."""
    idle: Float
    """Its device waited for launches, as recorded."""


class _HostWaits(NamedTuple):
    """Moments at which hosts went on after a wait for their device, by rank and time; shape (w,).

    The first of each rank is its start.
    """

    place: Int
    """The rank's member that had ended last, or its start."""
    edge: Int
    """Until which its device had passed."""
    waited: Float
    """All that the host had waited until then."""
    last: Int
    """The last of them before each launch, shape (n,)."""
    silent: Float
    """Part of what it waited until each launch that has no row, shape (n,)."""
    silent_in_all: Float
    """The same until the end of each rank, shape (r,)."""
    at_end: Float
    """All that it waited until then where that ends with such a wait, else -inf; shape (r,)."""


class _Hosts:
    """Hosts while a run is played: when they let their devices begin each of n members."""

    def __init__(self, replay: Replay, passed: _Passed) -> None:
        waits, count = replay.waits, len(replay.start)
        self._replay = replay
        self.launch = np.full(count, -np.inf)
        self._own = passed.host[replay.launch] - waits.silent
        # what a host waited until it went on, if its device did as much after the collective
        less = passed.saved[waits.edge] - passed.saved[replay.left[waits.place]]
        waited = waits.waited + passed.saved_host[waits.edge] - less
        self._synced, self._waited = waits.place[waits.last], waited[waits.last]
        # of each place: how much later it ends, what the last wait for it adds to the host's own
        # time, and the most that any wait until then does
        self._shift, self._added = np.zeros(len(replay.left)), np.full(len(replay.left), -np.inf)
        self._added[waits.place] = waited
        self._most = np.append(np.zeros(count), np.maximum(self._added[count:], 0.0))
        self._tail = self._tails(passed)
        self._end = replay.begin + passed.host[replay.last] - waits.silent_in_all
        self._end[~replay.hosts_known] = -np.inf
        self._at_end = waits.at_end + passed.saved_host[replay.left[replay.final]]

    def _tails(self, passed: _Passed) -> Float:
        """From launch to start where the device had waited for a launch, else 0; shape (n,)."""
        replay, start = self._replay, self._replay.start
        left = replay.left[replay.since]
        tail = replay.edges[start] - replay.edges[replay.launch]
        tail = np.maximum(tail - (passed.saved[start] - passed.saved[left]), 0.0)
        return np.where(passed.idle[start] > passed.idle[left], tail, 0.0)

    def least_start(self, mine: slice) -> Float:
        """When the hosts let their devices begin some members; -inf where that is unknown."""
        replay, synced, count = self._replay, self._synced[mine], len(self.launch)
        before = replay.before[np.minimum(synced, count - 1)]
        earlier = np.where(synced < count, self._most[before], 0.0)
        added = np.maximum(earlier, self._shift[synced] + self._waited[mine])
        launch = replay.begin[replay.members.rank[mine]] + self._own[mine] + added
        self.launch[mine] = launch
        return np.where(replay.known[mine], launch + self._tail[mine], -np.inf)

    def leave(self, mine: slice, end: Float) -> None:
        """Note when some members ended."""
        self._shift[mine] = end - self._replay.recorded_ends[mine]
        added = self._shift[mine] + self._added[mine]
        self._most[mine] = np.maximum(self._most[self._replay.before[mine]], added)

    @property
    def end(self) -> Float:
        """When the hosts come to their last edges, after all members; shape (r,)."""
        final = self._replay.final
        added = np.maximum(self._most[final], self._shift[final] + self._at_end)
        return np.asarray(self._end + added)


def _find_host_waits(replay: Replay, other: Float) -> _HostWaits:
    """Find the waits of all hosts.

    Args:
        replay: of the run, without these.
        other: time of its hosts in no row of their own until each edge, shape (e,).
    """
    silent, silent_at_last = _silent(replay, other)
    # where one host waits, all of them do, if not as long
    together = replay.members.total(silent)[replay.members.collective] > 0
    of_ranks, found = [], 0
    until_launch, last = np.zeros(len(silent)), np.empty(len(silent), np.int64)
    for rank, own in enumerate(replay.of_ranks):
        by_launch = own[np.argsort(replay.launch[own], kind="stable")]
        until_launch[by_launch] = np.cumsum(silent[by_launch])
        until, *columns = _moments(replay, rank, replay.launch[own[together[own]]])
        at = np.searchsorted(replay.launch[by_launch], until, side="right")
        columns[-1] += np.append(0.0, until_launch[by_launch])[at]
        last[own] = found + np.searchsorted(until, replay.launch[own], side="right") - 1
        of_ranks.append(columns)
        found += len(until)
    place, edge, waited = (np.concatenate(each) for each in zip(*of_ranks, strict=True))
    in_all = silent_at_last + np.bincount(replay.members.rank, silent, len(replay.first))
    waited_in_all = np.array([rank.ahead.waited.sum() for rank in replay.ranks])
    at_end = np.where(silent_at_last > 0, in_all + waited_in_all, -np.inf)
    return _HostWaits(place, edge, waited, last, until_launch, in_all, at_end)


def _moments(replay: Replay, rank: int, quiet: Int) -> tuple[Int, Int, Int, Float]:
    """Moments at which a host went on: edges after them, and `_HostWaits` without silent time.

    Args:
        replay: of the run.
        rank: whose host.
        quiet: edges of launches before which it waited without a row.
    """
    ahead, edges, own = replay.ranks[rank].ahead, replay.ranks[rank].edges, replay.of_ranks[rank]
    first, begin = int(replay.first[rank]), len(replay.start) + rank
    before, after = (np.searchsorted(edges, ahead.resumed, side=side) for side in _SIDES)
    edge = np.concatenate([[first], first + before - 1, unique(quiet)])
    until = np.concatenate([[first], first + after, unique(quiet)])
    order = np.lexsort((edge, until))
    is_quiet = order > len(ahead.resumed)
    edge, until = edge[order], until[order]
    by_end = own[np.argsort(replay.end[own], kind="stable")]
    place = np.searchsorted(replay.end[by_end], edge, side="right") - 1
    place = np.append(by_end, begin)[place]
    # a wait without a row was before what the host did until the launch
    edge = np.where(is_quiet, np.minimum(replay.left[place], edge), edge)
    waited = np.append(0.0, np.cumsum(ahead.waited))[until - first]
    return until, place, edge, waited


def _silent(replay: Replay, other: Float) -> tuple[Float, Float]:
    """Time that each host may have waited without a row: before its launches, and at last.

    In no module, loader, optimizer or call: longer than the shortest of the ranks, if all launches
    are known, and no longer than its device had waited in the collective before. Shape (n,), (r,).
    """
    members, past = replay.members, replay.earlier.before
    wait, collective, known = members.wait, members.collective, replay.known
    until, in_all = other[replay.launch], other[replay.last][members.rank]

    def longer(time: Float, waited: Nanoseconds, known: Bool) -> Float:
        more = time - members.least(time)[collective]
        return np.where(members.least(known)[collective], np.clip(more, 0, waited), 0.0)

    silent = longer(until - until[past], wait[past], known & known[past] & (past >= 0))
    silent[members.launch < members.end[past]] = 0.0
    at_last = np.append(longer(in_all - until, wait, known), np.zeros(len(replay.first)))
    return silent, at_last[replay.final]


def whole(moment: Float) -> Nanoseconds:
    """Whole nanoseconds."""
    return np.asarray(moment.round().astype(np.int64))


def _ended_before(members: Members, of_ranks: Sequence[Int]) -> tuple[Int, Int]:
    """The rank's place before each member, and the last that it had left when that began; (n,)."""
    count = len(members.rank)
    before, since = np.empty(count, np.int64), np.empty(count, np.int64)
    for rank, own in enumerate(of_ranks):
        places = np.concatenate([[count + rank], own])
        until = np.maximum.accumulate(members.end[own])
        left = np.searchsorted(until, members.start[own], side="right")
        before[own] = places[:-1]
        since[own] = places[np.minimum(left, np.arange(len(own)))]
    return before, since
