"""What a straggler spent more time on than the others.

    others   [last common one ]--- a ---|-- b --[waits    ]
    late       [              ]--- a ---|------ b --------[]
                                                 late by: b

From the last collective that all of them had left to this one, each rank's time goes to modules,
loader, optimizer, waits for its device, and the rest. Before the first one, and
the first after a step of which none is matched, it is that since the begin of the step, as far as
the rank came later. A part by which the straggler exceeds the lower
median of the others is a reason: half of them at least take no longer. The time of devices is
counted from start to start, that of hosts from launch to launch: there each rank is at the same
place of the program, which it need not be where the collective ends. What a rank did before all had
left the last collective on a device delays nothing, for that is when the next one could begin: no
rank is later, or earlier, than by the time after that.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from statistics import median_low
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from tb_hookview.analysis.activity import DATA, OPTIMIZER, PEERS, WAIT
from tb_hookview.arrays.types import Bool, Int
from tb_hookview.ranks.map.summary import RankSummary, TimesOf
from tb_hookview.ranks.members import Members, unmatched_steps

CAUSES = {DATA: "data", OPTIMIZER: "optimizer", WAIT: "sync"}
"""Reasons that are no module, by their codes; any other is "host" or "device"."""

_COMPARED = 16
"""Ranks with which a late one is compared, so that the cost of a collective is bounded."""

_AT_ONCE = 1 / 10
"""Share of its lateness within which a collective begins at once after its launch."""
_AT_ONCE_NS = 1_000_000
"""The same as a time, where that is less than half of the lateness."""

Of = TypeVar("Of")
Time = TypeVar("Time", int, float)
Reason = tuple[str, str]
"""Kind ("module", "data", "optimizer", "sync", "host" or "device"), and path of the module."""

_WAITED: Reason = (CAUSES[WAIT], "")
Phase = Literal["forward", "backward"]
Key = Callable[[RankSummary, int, bool], Reason]


class Span(NamedTuple):
    """Time of a rank that is compared with the same of others, by its own clock; nanoseconds."""

    begin: int
    left: int
    """When all had left the last collective, on a device: what came before delays nothing."""
    end: int

    @property
    def delay(self) -> int:
        """By how much it can delay the next collective."""
        return max(0, self.end - self.left)


Spans = Mapping[int, Span]
"""Those of some ranks."""


class Episode(NamedTuple):
    """One collective for which the others waited; nanoseconds."""

    collective: int
    """Index into the matched, -1 for a step as a whole."""
    rank: int
    step: int
    """Step of the straggler in which it was, -1 for none."""
    late_by: int
    """Time of the straggler before it, less that of the next latest."""
    reasons: dict[Reason, int]
    """By how much each part of the straggler's time exceeds the others' median; below 0 if less."""
    spans: Spans
    """Time of the straggler, and of those it is compared with, in which they are counted."""
    on_device: bool
    """Whether they are of its device events, else of its host."""
    of_device: dict[Reason, int]
    """The same of its device events, whether or not that can delay the collective."""
    starved: int = 0
    """By how much longer its devices waited for launches than the others' median."""


def find_episodes(
    ranks: Sequence[RankSummary], times: TimesOf, members: Members, late_member: Int
) -> list[Episode]:
    """Explain collectives to which a rank came late.

    Args:
        ranks: summaries.
        times: what they spent their time on.
        members: the collectives, m of them.
        late_member: which member of each is explained, -1 for none; shape (m,).
    """
    of_ranks, unmatched = members.of_ranks(len(ranks)), unmatched_steps(ranks, members)
    episodes: list[Episode] = []
    explained: dict[bytes, Int] = {}
    """`_Window.until` of the last window of the ranks that took part."""
    for collective in _by_ranks(members, members.begun(np.flatnonzero(late_member >= 0))):
        late = int(late_member[collective])
        rank = int(members.rank[late])
        own = of_ranks[rank]
        earlier = own[: np.searchsorted(own, late)]
        steps = ranks[rank].step[members.index[[*earlier, late]]]
        earlier = earlier[_is_in_reach(steps[:-1], int(steps[-1]), unmatched[rank])]
        window = _window(ranks, members, collective, earlier, explained)
        if window is not None:
            explained[window.present.tobytes()] = window.until
            episodes.append(_episode(ranks, times, members, window, late))
    return sorted(episodes, key=lambda episode: members.start[late_member[episode.collective]])


def _is_in_reach(earlier: Int, step: int, unmatched: Bool) -> Bool:
    """Which of some collectives no step parts from a later one that has some, none of them matched.

    What made a rank late in such a step is no part of what it is late by after that.

    Args:
        earlier: steps of these.
        step: of the later one.
        unmatched: which steps of the rank are such ones.
    """
    last = np.flatnonzero(unmatched[: max(step, 0)]).max(initial=-1)
    return np.asarray((last < 0) | (earlier > last))


class _Window(NamedTuple):
    """Time of some ranks from the last collective that all had left to another, by their clocks.

    Before the first one from the start of its step. Shape (p,), or (2, p) of devices, from start to
    start, and of hosts, from launch to launch.
    """

    collective: int
    present: Int
    """The ranks, which take part in it; ascending."""
    begin: Int
    left: Int
    """When each rank's device had left the last collective."""
    until: Int
    is_first: bool
    """Whether the ranks had left no collective before; then their steps may begin apart."""


def _window(
    ranks: Sequence[RankSummary],
    members: Members,
    collective: int,
    earlier: Int,
    explained: Mapping[bytes, Int],
) -> _Window | None:
    """The time before a collective that is not explained yet; None where it has no begin.

    Args:
        ranks: summaries.
        members: of all collectives.
        collective: the one.
        earlier: members of collectives before, all of one of its ranks.
        explained: until when the time of some ranks is explained, by the bytes of `present`.
    """
    mine = members.of(collective)
    present, start = members.rank[mine], members.start[mine]
    before = _before(members, earlier, present, start)
    if before is not None:
        begin, left = np.stack([members.start[before], members.launch[before]]), members.end[before]
    elif (begins := _step_begins(ranks, members, mine)) is not None:
        begin, left = begins, begins[0]
    else:
        return None
    begin = np.maximum(begin, explained.get(present.tobytes(), begin))
    until, left = np.maximum(begin, [start, members.launch[mine]]), np.maximum(left, begin[0])
    return _Window(collective, present, begin, left, until, before is None)


def _step_begins(ranks: Sequence[RankSummary], members: Members, mine: slice) -> Int | None:
    """When devices and hosts began the step of a collective; None where it is not in one step."""
    rows = zip(members.rank[mine].tolist(), members.index[mine].tolist(), strict=True)
    found = [(ranks[rank].steps, int(ranks[rank].step[index])) for rank, index in rows]
    if len({steps.name[at] if steps.marked and at >= 0 else None for steps, at in found}) > 1:
        return None
    if not found[0][0].marked or found[0][1] < 0:
        return None
    begins = [(steps.start[at], steps.host_start[at]) for steps, at in found]
    return np.array(begins, np.int64).T


def _episode(
    ranks: Sequence[RankSummary], times: TimesOf, members: Members, window: _Window, late: int
) -> Episode:
    """Explain why a member came late to the collective at the end of a window."""
    rank, index = int(members.rank[late]), members.index[late]
    by_device = ranks[rank].collectives.on_device[index]
    left = window.left if by_device else window.begin[0]
    chosen = [rank, *compared(window.present.tolist(), rank)]
    device, host = (
        _spans(np.stack([window.present, begin, left, until], axis=1), chosen)
        for begin, until in zip(window.begin, window.until, strict=True)
    )
    mine = members.of(window.collective)
    later = _later(members, mine, late)
    at_once = by_device and _begins_at_once(members, late, later)
    found = reasons_of(ranks, times, device, host, rank, at_once=at_once)
    if window.is_first:
        share = min(1.0, later / max(_longer(found.reasons), 1))
        reasons = {why: int(time * share) for why, time in found.reasons.items()}
        found = found._replace(reasons=reasons)
    late_by, place = np.maximum(members.start[mine] - window.left, 0), late - mine.start
    return Episode(
        collective=window.collective,
        rank=rank,
        step=int(ranks[rank].step[index]),
        late_by=max(0, int(late_by[place]) - int(np.delete(late_by, place).max())),
        starved=_starved(ranks, device, rank) if by_device else 0,
        **found._asdict(),
    )


def _later(members: Members, mine: slice, late: int) -> int:
    """By how much a member came later than the lower median of the others, who left with it."""
    duration = members.duration[mine].tolist()
    own = duration.pop(late - mine.start)
    return max(0, int(median_low(duration) - own))


def _begins_at_once(members: Members, late: int, later: int) -> bool:
    """Whether a late member began so soon after its launch that it was its host that was late."""
    delay = int(members.start[late] - members.launch[late])
    return 0 < delay < max(_AT_ONCE * later, min(_AT_ONCE_NS, later / 2))


def _starved(ranks: Sequence[RankSummary], spans: Spans, late: int) -> int:
    """By how much longer a rank's devices waited for launches than the others' lower median.

    That is work of its host, even if it is ahead again by the collective, or began the window late.
    """

    def waited(number: int) -> int:
        rank, (_, left, end) = ranks[number], spans[number]
        return int(rank.ahead.starved[slice(*np.searchsorted(rank.edges, (left, end)))].sum())

    others = [waited(other) for other in compared(list(spans), late)]
    return max(0, waited(late) - median_low(others))


def each_once(episodes: Sequence[Episode]) -> list[Episode]:
    """Leave out of each what collectives of other groups explain of the same time of a rank.

    Args:
        episodes: of one rank, in order of its collectives.
    """
    found: list[Episode] = []
    for episode in episodes:
        rank, reasons = episode.rank, dict(episode.reasons)
        for other in reversed(found):
            if other.spans[rank].end <= episode.spans[rank].begin:
                break
            for why in reasons.keys() & other.reasons.keys():
                more, known = reasons[why], other.reasons[why]
                reasons[why] = (
                    max(0, more - max(0, known)) if more > 0 else min(0, more - min(0, known))
                )
        found.append(episode._replace(reasons=reasons))
    return found


def without_ahead(episodes: Sequence[Episode]) -> list[Episode]:
    """Leave out of each what the others' devices had run before, next to a collective.

        others   [c0 ...........][c1]     their kernel k ran while they waited in c0
                        [k]
        late                 [c0][k][c1]     it takes no longer, and is in the next window

    Args:
        episodes: of one rank, in order of its collectives.
    """
    found, longer = list[Episode](), defaultdict[object, Counter[Reason]](Counter)
    for episode in episodes:
        since = longer[episode.step, frozenset(episode.spans)]
        since.update(episode.of_device)
        if episode.on_device:
            most = {why: max(0, since[why]) for why in episode.reasons}
            reasons = {why: min(time, most[why]) for why, time in episode.reasons.items()}
            episode = episode._replace(reasons=reasons)
        found.append(episode)
    return found


def _by_ranks(members: Members, collectives: Int) -> list[int]:
    """Collectives of the same ranks one after the other: their times are in memory then."""
    place: dict[bytes, int] = {}
    keys = (members.rank[members.of(each)].tobytes() for each in collectives.tolist())
    places = [place.setdefault(key, len(place)) for key in keys]
    return [int(collectives[at]) for at in np.argsort(places, kind="stable")]


def _before(members: Members, earlier: Int, present: Int, start: Int) -> Int | None:
    """Members of the last collective that some ranks had left before they began another.

    Args:
        members: all of them.
        earlier: those of one of the ranks in collectives before.
        present: the ranks.
        start: moments at which they began, of the same shape.
    """
    collectives = np.searchsorted(members.first, earlier, side="right") - 1
    for collective in collectives[::-1].tolist():
        mine = members.of(collective)
        ranks = members.rank[mine]
        place = np.minimum(np.searchsorted(ranks, present), len(ranks) - 1)
        found = mine.start + place
        if (ranks[place] == present).all() and (members.end[found] <= start).all():
            return np.asarray(found)
    return None


def compared(present: Sequence[int], late: int, most: int = _COMPARED) -> list[int]:
    """Some of the ranks that took part, the late one left out: a median needs no more."""
    others = [rank for rank in present if rank != late]
    chosen = np.linspace(0, len(others) - 1, min(len(others), most)).astype(np.int64)
    return [others[place] for place in chosen.tolist()]


def _spans(of_ranks: Int, chosen: Sequence[int]) -> Spans:
    """Spans of some ranks: number of the rank and times of each, shape (ranks, 4)."""
    mine = np.searchsorted(of_ranks[:, 0], chosen)
    return {rank: Span(*times) for rank, *times in of_ranks[mine].tolist()}


def reason_of(rank: RankSummary, code: int, device: bool) -> Reason:
    """The reason that a code of `Spent` is time of, on a device or on the host."""
    if code >= 0:
        return "module", rank.modules[code]
    return CAUSES.get(code, "device" if device else "host"), ""


class Reasons(NamedTuple):
    """What a straggler did longer than the others, as in `Episode`."""

    reasons: dict[Reason, int]
    spans: Spans
    on_device: bool
    of_device: dict[Reason, int]


def reasons_of(
    ranks: Sequence[RankSummary],
    times: TimesOf,
    device: Spans,
    host: Spans,
    late: int,
    *,
    at_once: bool = False,
) -> Reasons:
    """Excess of the straggler by reason: by its device where that did more, else by its host.

    Args:
        ranks: summaries.
        times: what they spent their time on.
        device: in which time devices are compared.
        host: in which time hosts are compared.
        late: the straggler.
        at_once: whether it began at once after its launch: then its host made it late, if that
            did not wait for the device.
    """
    by_host = _differences(ranks, times, host, late, device=False, key=reason_of)
    by_host = _delaying(by_host, host, late)
    if not len(times(late).device.window):
        return Reasons(by_host, host, False, {})
    of_device = _differences(ranks, times, device, late, device=True, key=reason_of)
    by_device = _delaying(of_device, device, late)
    waited = 2 * max(0, by_host.get(_WAITED, 0)) >= _longer(by_host)
    if 2 * _longer(by_device) >= _longer(by_host) and (waited or not at_once):
        return Reasons(by_device, device, True, of_device)
    return Reasons(by_host, host, False, of_device)


def _longer(excess: Mapping[Reason, int]) -> int:
    return sum(time for time in excess.values() if time > 0)


def _differences(
    ranks: Sequence[RankSummary], times: TimesOf, spans: Spans, late: int, *, device: bool, key: Key
) -> dict[Reason, int]:
    """By how much each part of the straggler's time exceeds the lower median of the others'.

    Args:
        ranks: summaries.
        times: what they spent their time on.
        spans: time in which ranks are compared.
        late: the late one of them.
        device: whether time of devices is compared, else that of hosts.
        key: what a code of `Spent` is time of.
    """

    def parts(number: int) -> dict[Reason, int]:
        return parts_of(ranks, times, spans, number, device=device, key=key)

    return beyond(parts(late), [parts(other) for other in compared(list(spans), late)])


def beyond(own: Mapping[Of, Time], others: Sequence[Mapping[Of, Time]]) -> dict[Of, Time]:
    """By how much each of one's times exceeds the lower median of the others', one at least."""
    return {
        of: own.get(of, 0) - median_low(other.get(of, 0) for other in others)
        for of in dict.fromkeys(chain(own, *others))
    }


def _delaying(excess: Mapping[Reason, int], spans: Spans, late: int) -> dict[Reason, int]:
    """As much of differences as can delay a collective."""
    longer, shorter = _longer(excess), -sum(time for time in excess.values() if time < 0)
    others = median_low(spans[other].delay for other in compared(list(spans), late))
    up, down = min(1.0, spans[late].delay / max(longer, 1)), min(1.0, others / max(shorter, 1))
    return {why: int(time * (up if time > 0 else down)) for why, time in excess.items()}


def parts_of(
    ranks: Sequence[RankSummary],
    times: TimesOf,
    spans: Spans,
    number: int,
    *,
    device: bool,
    key: Key = reason_of,
) -> dict[Reason, int]:
    """Time of one of the ranks by what it spent it on; see `_differences`."""
    rank, of = ranks[number], times(number)
    spent = of.device if device else of.host
    first, left, last = np.searchsorted(rank.edges, spans[number]).tolist()
    passed = spent.between(first, last)
    if WAIT in passed:  # before `left` it waits for the last collective
        passed[WAIT] = spent.between(left, last).get(WAIT, 0)
    named: dict[Reason, int] = {}
    for code, time in passed.items():
        if code != PEERS:
            reason = key(rank, code, device)
            named[reason] = named.get(reason, 0) + time
    return named


def phases_of(
    ranks: Sequence[RankSummary], times: TimesOf, episodes: Sequence[Episode]
) -> dict[str, Phase]:
    """Find the pass in which each module's time exceeds the others' by most, where it does."""
    longer: Counter[Reason] = Counter()
    for each in episodes:
        differences = _differences(
            ranks, times, each.spans, each.rank, device=each.on_device, key=_pass_of
        )
        passes = _delaying(differences, each.spans, each.rank)
        longer.update(
            {of: t for of, t in passes.items() if each.reasons.get(("module", of[1]), 0) > 0}
        )
    return {
        path: "backward" if longer["backward", path] > longer["forward", path] else "forward"
        for _, path in longer
    }


def _pass_of(rank: RankSummary, code: int, device: bool) -> Reason:
    """The same with the pass of a module."""
    if code < 0:
        return reason_of(rank, code, device)
    return ("backward" if rank.backward[code] else "forward", rank.modules[code])
