"""The ranks' steps replayed with some of what a rank does taken out.

    rank 0   |- own -|[ all_reduce ....held]|- own -|     the end is a gate: rank 0 was held to it
    rank 1   |- own ----------------|[ a.r.]|- own -|

A rank's time is its own except while it is held: does nothing but wait in a collective. The
rest passes as recorded, less what is taken out. A collective begins on a rank when that rank
comes to it, and ends on all ranks at once: its transfer after the last of them came. If any
rank was held to the end of a collective, no rank of it goes on before that end.

Where devices run the collectives, the host has a time of its own, which passes without its device:
the device waits for its launches, and it for the device, no longer than then needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from tb_hookview.analysis.collectives.calls import POINT_TO_POINT
from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Bool, Float, Int, Nanoseconds
from tb_hookview.ranks.carried import Own, earlier_of
from tb_hookview.ranks.late import Members
from tb_hookview.ranks.lateness import Waits
from tb_hookview.ranks.map.summary import RankSummary
from tb_hookview.ranks.matching import Matched


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

    Args:
        ranks: summaries.
        matched: their collectives.
        waits: the transfers of these.
    """

    def __init__(self, ranks: Sequence[RankSummary], matched: Matched, waits: Waits) -> None:
        members = self.members = matched.members
        self._ranks, self._transfer = ranks, waits.transfer
        offset = np.nan_to_num(matched.clocks.offset)
        first, last = (np.array([rank.edges[at] for rank in ranks], float) for at in (0, -1))
        begin = first - offset
        self.begin: Float = begin - begin.min()
        self._recorded_end: Float = last - offset - begin.min()
        self.recorded_ends = members.end - (offset + begin.min())[members.rank]
        self.of_ranks = members.of_ranks(len(ranks))
        self.start, self.end, self.launch = (
            self._edge(at) for at in (members.start, members.end, members.launch)
        )
        self.before, self.since = _ended_before(members, self.of_ranks)
        self._gate = self._held_to_the_end()
        self.known = np.array([rank.ahead.known for rank in ranks], bool)[members.rank]
        self.earlier = earlier_of(members, self._recurs())
        silent, self.silent_at_last = self._silent()
        # where one host waits, all of them do, if not as long
        together = members.total(silent)[members.collective] > 0
        self.host_waits = [
            _HostWaits(rank, self.end[own], self.launch[own], silent[own], together[own])
            for rank, own in zip(ranks, self.of_ranks, strict=True)
        ]

    @property
    def recorded(self) -> float:
        """Recorded time from the first moment of any rank to the last one."""
        return float(self._recorded_end.max() - self.begin.min())

    def play(self, saved: Mapping[int, Saved] | None = None) -> Played:
        """Play the run.

        Args:
            saved: what to take from some ranks, by their place.
        """
        passed = [_Passed(rank, (saved or {}).get(at)) for at, rank in enumerate(self._ranks)]
        device = [each.device for each in passed]
        begun, ended = self.each(device, self.start), self.each(device, self.end)
        hosts, count = _Hosts(self, passed), len(self.start)
        # of each member after its collective; the ranks' own at their begin follow
        delay = np.concatenate([np.empty(count), self.begin])
        come = np.empty(count)
        for collective in range(len(self.members)):
            mine = self.members.of(collective)
            least = hosts.least_start(mine)
            come[mine] = np.maximum(begun[mine] + delay[self.since[mine]], least)
            delay[mine] = np.maximum(delay[self.before[mine]], least - begun[mine])
            if self._gate[collective]:
                leave = come[mine].max() + self._transfer[collective]
                delay[mine] = np.maximum(delay[mine], leave - ended[mine])
            hosts.leave(mine, ended[mine] + delay[mine])
        final = [own[-1] if len(own) else count + at for at, own in enumerate(self.of_ranks)]
        last = delay[final] + [each[-1] for each in device]
        last = np.maximum(last, hosts.last(final))
        moved = replace(
            self.members,
            start=whole(come),
            end=whole(np.maximum(come, ended + delay[:count])),
            launch=whole(np.where(self.known, hosts.launch, come)),
        )
        return Played(moved, float(last.max() - self.begin.min()), self.own(passed))

    def own(self, passed: Sequence[_Passed] | None = None) -> Own:
        """Self time of the ranks at each member; as recorded if nothing else is given."""
        passed = passed or [_Passed(rank, None) for rank in self._ranks]
        device = [each.device for each in passed]
        return Own(
            host=self.of_hosts(passed),
            begun=self.each(device, self.start),
            ended=self.each(device, self.end),
            known=self.known,
        )

    def of_hosts(self, passed: Sequence[_Passed]) -> Float:
        """Self time of the hosts until they launch each member, shape (n,)."""
        own = self.each([each.host for each in passed], self.launch)
        for waits, mine in zip(self.host_waits, self.of_ranks, strict=True):
            own[mine] -= waits.silent
        return own

    def each(self, columns: Sequence[NDArray[Any]], index: Int) -> NDArray[Any]:
        """Value of each member at an index of its rank's column, shape (n,)."""
        found = np.empty(len(index), columns[0].dtype)
        for column, mine in zip(columns, self.of_ranks, strict=True):
            found[mine] = column[index[mine]]
        return found

    def _edge(self, moment: Int) -> Int:
        """Index of each member's moment among the edges of its rank, shape (n,)."""
        found = np.empty_like(moment)
        for rank, mine in zip(self._ranks, self.of_ranks, strict=True):
            found[mine] = np.searchsorted(rank.edges, moment[mine])
        return found

    def _recurs(self) -> Bool:
        """Which collectives are compared with earlier ones: messages of stages are not."""
        first = self.members.first[:-1]
        of = self.members.rank[first].tolist(), self.members.index[first].tolist()
        kinds = (self._ranks[rank].collectives.kind[index] for rank, index in zip(*of, strict=True))
        return np.array([kind not in POINT_TO_POINT for kind in kinds], bool)

    def _silent(self) -> tuple[Nanoseconds, Nanoseconds]:
        """Time that each host may have waited without a row: before its launches, and at last.

        In no module, loader or optimizer: longer than the shortest of the ranks, and no longer than
        its device had waited in the collective before. Shape (n,) and (r,).
        """
        members, before = self.members, self.earlier.before
        duration = members.end - members.start
        wait = duration - members.least(duration)[members.collective]
        sums = [np.concatenate([[0], np.cumsum(rank.ahead.other)]) for rank in self._ranks]
        until = self.each(sums, self.launch)

        def longer(other: Int, waited: Int, left: Bool) -> Nanoseconds:
            more = other - members.least(other)[members.collective]
            return np.where(left & self.known, np.clip(more, 0, waited), 0)

        left = (before >= 0) & (members.launch >= members.end[before])
        silent = longer(until - until[before], wait[before], left)
        last = self.each([each[-1:] for each in sums], np.zeros_like(until)) - until
        at_last = np.append(longer(last, wait, self.known), 0)
        final = [own[-1] if len(own) else -1 for own in self.of_ranks]
        return silent, at_last[final]

    def _held_to_the_end(self) -> Bool:
        """Whether any rank was held until the end of each collective, shape (m,)."""
        columns = [np.append(rank.held, 0) for rank in self._ranks]
        held = self.each(columns, np.maximum(self.end - 1, 0))
        return np.asarray(self.members.total((held > 0).astype(np.int64)) > 0)


class _Hosts:
    """Hosts while a run is played: when they let their devices begin each of n members.

    A host that waited for its device goes on when that had done what it did since a collective.
    """

    def __init__(self, replay: Replay, passed: Sequence[_Passed]) -> None:
        members, ranks = replay.members, len(passed)
        count = len(members.rank)
        self._replay, self._members = replay, members
        self.launch = np.full(count, -np.inf)
        self._own = replay.of_hosts(passed)
        silent = np.array([waits.all_silent for waits in replay.host_waits])
        silent += replay.silent_at_last
        self._end = np.array([each.host[-1] for each in passed]) + replay.begin - silent
        waited = [
            waits.all_waited + (each.saved_host[replay.end[own[-1]]] if len(own) else 0.0)
            for waits, each, own in zip(replay.host_waits, passed, replay.of_ranks, strict=True)
        ]
        self._at_last = np.where(replay.silent_at_last > 0, silent + waited, -np.inf)
        self._end[[not each.known for each in passed]] = -np.inf
        self._tail = np.zeros(count)
        """From launch to start, where the device had waited for a launch before."""
        # of each member, then of the ranks' begin: how much later its end is, what a wait for it
        # adds to the host's self time, and the most that any wait until then does
        self._shift, self._added = np.zeros(count + ranks), np.full(count + ranks, -np.inf)
        self._most = np.zeros(count + ranks)
        self._synced, self._waited = np.empty(count, np.int64), np.empty(count)
        for rank, each in enumerate(passed):
            self._prepare(rank, each, replay.of_ranks[rank], replay.host_waits[rank])
        self._most[count:] = np.maximum(self._added[count:], 0.0)

    def _prepare(self, rank: int, passed: _Passed, own: Int, waits: _HostWaits) -> None:
        replay, count = self._replay, len(self.launch)
        places, ends = np.append(own, count + rank), np.append(replay.end[own], 0)
        # what a host waited until it went on, if its device did as much after the collective
        less = passed.saved[waits.edge] - passed.saved[ends[waits.member]]
        waited = waits.waited + passed.saved_host[waits.edge] - less
        last = waits.before(replay.launch[own])
        self._synced[own], self._waited[own] = places[waits.member[last]], waited[last]
        self._added[places[waits.member[:-1]]] = waited[:-1]
        start, since = replay.start[own], replay.since[own]
        left = np.where(since < count, replay.end[np.minimum(since, count - 1)], 0)
        tail = passed.edges[start] - passed.edges[replay.launch[own]]
        tail = np.maximum(tail - (passed.saved[start] - passed.saved[left]), 0)
        self._tail[own] = np.where(passed.idle[start] > passed.idle[left], tail, 0)

    def least_start(self, mine: slice) -> Float:
        """When the hosts let their devices begin some members; -inf where that is unknown."""
        replay, synced = self._replay, self._synced[mine]
        before = replay.before[np.minimum(synced, len(self.launch) - 1)]
        earlier = np.where(synced < len(self.launch), self._most[before], 0.0)
        added = np.maximum(earlier, self._shift[synced] + self._waited[mine])
        launch = replay.begin[self._members.rank[mine]] + self._own[mine] + added
        self.launch[mine] = launch
        return np.where(replay.known[mine], launch + self._tail[mine], -np.inf)

    def leave(self, mine: slice, end: Float) -> None:
        """Note when some members ended."""
        self._shift[mine] = end - self._replay.recorded_ends[mine]
        added = self._shift[mine] + self._added[mine]
        self._most[mine] = np.maximum(self._most[self._replay.before[mine]], added)

    def last(self, final: Sequence[int]) -> Float:
        """When the hosts come to their last edges, after their last members; shape (r,)."""
        added = np.maximum(self._most[final], self._shift[final] + self._at_last)
        return np.asarray(self._end + added)


def whole(moment: Float) -> Nanoseconds:
    """Whole nanoseconds."""
    return np.asarray(moment.round().astype(np.int64))


def _ended_before(members: Members, of_ranks: Sequence[Int]) -> tuple[Int, Int]:
    """The rank's member before each, and the last one that it had left when it began; shape (n,).

    Where there is none: the number of members, and the rank's place, for ranks follow members.
    """
    count = len(members.rank)
    before, since = np.empty(count, np.int64), np.empty(count, np.int64)
    for rank, own in enumerate(of_ranks):
        places = np.concatenate([[count + rank], own])
        until = np.maximum.accumulate(members.end[own])
        left = np.searchsorted(until, members.start[own], side="right")
        before[own] = places[:-1]
        since[own] = places[np.minimum(left, np.arange(len(own)))]
    return before, since


class _Passed:
    """Self time of a rank since its first edge, shape (e,), less what is saved."""

    def __init__(self, rank: RankSummary, saved: Saved | None) -> None:
        self.known, self.edges, ahead = rank.ahead.known, rank.edges, rank.ahead
        length = np.diff(rank.edges).astype(np.float64)
        of_host, of_device = saved or (0.0, 0.0)
        waited = ahead.waited if self.known else rank.held
        self.host = _sums(np.maximum(length - waited - of_host, 0.0))
        self.device = _sums(np.maximum(length - ahead.idle - rank.held - of_device, 0.0))
        self.saved_host, self.saved = (_sums(length * 0 + each) for each in (of_host, of_device))
        self.idle = _sums(ahead.idle.astype(np.float64))


def _sums(time: Float) -> Float:
    return np.concatenate([[0.0], np.cumsum(time)])


class _HostWaits:
    """Moments at which a rank's host went on after a wait for its device.

    Args:
        rank: its summary.
        ends: edges at which its members end, shape (k,).
        launches: edges at which it launches them.
        silent: time that it waited before them without a row.
        together: before which it did that, for whatever time.
    """

    def __init__(
        self,
        rank: RankSummary,
        ends: Int,
        launches: Int,
        silent: Nanoseconds,
        together: Bool,
    ) -> None:
        resumed, order, by_launch = (
            rank.ahead.resumed,
            np.argsort(ends, kind="stable"),
            np.argsort(launches, kind="stable"),
        )
        until_launch = np.concatenate([[0], np.cumsum(silent[by_launch])])
        self.silent = np.empty_like(silent)
        """All until each launch, its own included; shape (k,)."""
        self.silent[by_launch] = until_launch[1:]
        self.all_silent = int(until_launch[-1])
        self.all_waited = int(rank.ahead.waited.sum())
        at = unique(launches[together])
        left = np.append(np.searchsorted(rank.edges, resumed, side="right") - 1, at)
        until = np.append(np.searchsorted(rank.edges, resumed), at)
        moments = np.lexsort((left, until))
        # that of the rank's begin, without a wait, is the last one
        self.edge, self.until = (np.append(each[moments], 0) for each in (left, until))
        """Edges before them, and after them; shape (w + 1,)."""
        place = np.searchsorted(ends[order], self.edge[:-1], side="right") - 1
        # a wait without a row was before what the host did until the launch
        silently = np.append(moments >= len(resumed), False)
        left_last = np.append(np.append(ends[order], 0)[place], 0)
        self.edge = np.where(silently, np.minimum(left_last, self.edge), self.edge)
        self.member = np.append(np.append(order, -1)[place], -1)
        """Members of the rank that ended last, -1 for none."""
        waited = np.concatenate([[0], np.cumsum(rank.ahead.waited)])[self.until]
        before = np.searchsorted(launches[by_launch], self.until, side="right")
        self.waited = waited + until_launch[before]
        """All that the host had waited."""
        self.waited[-1] = 0

    def before(self, edge: Int) -> Int:
        """The last moment before each of some edges, as an index of them."""
        return np.asarray(np.searchsorted(self.until[:-1], edge, side="right") - 1)
