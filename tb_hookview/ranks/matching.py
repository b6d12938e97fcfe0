"""Which collectives of several ranks are one, and the rows of their groups.

Where a trace does not number them, the i-th of a group within a step is the same on all ranks; so a
recording that begins a step later does not shift the others. What does not fit (another name,
another size) is refused, and said.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from tb_hookview import schema
from tb_hookview.analysis.collectives.calls import POINT_TO_POINT
from tb_hookview.arrays.joins import dense_rank, first_of_each, isin, unique, unique_inverse
from tb_hookview.arrays.sums import ranges
from tb_hookview.arrays.types import Bool, Float, Int, Nanoseconds
from tb_hookview.formats import format_count
from tb_hookview.ranks.map.summary import RankSummary
from tb_hookview.ranks.members import Members, members_of

# Collectives of the ranks by the groups within which they are matched, as columns.


DIMENSIONS = {
    **dict.fromkeys(("pp", "pipe", "pipeline", "stage"), "pipeline"),
    **dict.fromkeys(("tp", "tensor"), "tensor"),
    **dict.fromkeys(("dp", "ddp", "fsdp", "hsdp", "data", "replicate", "shard"), "data"),
    **dict.fromkeys(("cp", "sp", "context", "sequence"), "context"),
    **dict.fromkeys(("ep", "expert"), "expert"),
}
"""Dimensions by the words that name them."""
_WORD = re.compile(r"[a-z]+")


def dimension_of(description: str) -> str | None:
    """Return the dimension that the first known word of a description names; None for none."""
    words = _WORD.findall(description.lower())
    return next((DIMENSIONS[word] for word in words if word in DIMENSIONS), None)


def find_groups(ranks: Sequence[RankSummary], numbers: Sequence[int]) -> list[schema.RankGroup]:
    """Find the groups of several ranks that have collectives in the traces.

    Args:
        ranks: summaries.
        numbers: of the ranks.
    """
    members: dict[tuple[str, str], set[int]] = defaultdict(set)
    for number, rank in zip(numbers, ranks, strict=True):
        calls = rank.collectives
        for described in set(zip(calls.description, calls.group, strict=True)):
            members[described].add(number)
    found = [
        (name, dimension, sorted(of))
        for (name, _), of in members.items()
        if len(of) > 1 and (dimension := dimension_of(name))
    ]
    return [
        schema.RankGroup(id=place, name=name, dimension=dimension, ranks=of)
        for place, (name, dimension, of) in enumerate(sorted(found))
    ]


_STEP = re.compile(r"ProfilerStep#(\d+)")
_OF_ONE_SIZE = frozenset({"all_reduce", "broadcast", "reduce", "barrier"})
"""Collectives that carry as many bytes on every rank."""
UNNAMED = "collectives without a group"
"""Begins the names of groups that no trace names."""

Sign = tuple[str, int]
"""Kind and bytes."""


class GroupRows(NamedTuple):
    """Collectives of one group on all ranks, columns of shape (n,)."""

    rank: Int
    entry: Int
    """Index in the collectives of the rank."""
    step: Int
    """Number of the step that launched it, -1 for none."""


def group_rows(ranks: Sequence[RankSummary]) -> dict[str, GroupRows]:
    """Collectives of each group, by rank, in order; a pair of ranks is a group of its own.

    Where no group is named, those of one kind and size are taken for one: on several streams they
    may begin in another order on each rank. Messages that name neither source nor target (gloo's)
    are in none.
    """
    groups: dict[str, list[GroupRows]] = defaultdict(list)
    for number, rank in enumerate(ranks):
        step_numbers = np.array([_step_number(name) for name in rank.steps.name] or [-1])
        steps = np.where(rank.launched_step >= 0, step_numbers[rank.launched_step], -1)
        for name, indices in _groups_of(rank).items():
            index = np.array(indices)
            groups[name].append(GroupRows(np.full(len(index), number), index, steps[index]))
    return {
        name: GroupRows(*(np.concatenate(column) for column in zip(*rows, strict=True)))
        for name, rows in groups.items()
    }


def _groups_of(rank: RankSummary) -> dict[str, list[int]]:
    """Collectives of each group of one rank."""
    groups: dict[str, list[int]] = defaultdict(list)
    calls = rank.collectives
    pairs = zip(calls.source.tolist(), calls.target.tolist(), strict=True)
    rows = zip(calls.group, signs_of(rank), pairs, strict=True)
    for index, (group, sign, pair) in enumerate(rows):
        name = group or f"{UNNAMED}, {sign_text(sign)}"
        if calls.kind[index] in POINT_TO_POINT:
            if max(pair) < 0:
                continue
            name = f"{group} {pair[0]}->{pair[1]}"
        groups[name].append(index)
    return groups


def by_rank(rows: GroupRows) -> dict[int, slice]:
    """Rows of each rank that has any."""
    first = np.flatnonzero(np.diff(rows.rank, prepend=-1)).tolist()
    spans = map(slice, first, [*first[1:], len(rows.rank)])
    return dict(zip(rows.rank[first].tolist(), spans, strict=True))


def _step_number(name: str) -> int:
    """Number of a step, -1 for none."""
    named = _STEP.fullmatch(name)
    return int(named[1]) if named else -1


def signs_of(rank: RankSummary, indices: Iterable[int] | None = None) -> Iterator[Sign]:
    """What has to be the same on all ranks: kind and, where they are of one size, bytes."""
    kinds, sizes = rank.collectives.kind, rank.collectives.bytes
    for index in range(len(kinds)) if indices is None else indices:
        kind = kinds[index]
        if kind in POINT_TO_POINT:
            yield "send", -1
        else:
            yield kind, int(sizes[index]) if kind in _OF_ONE_SIZE else -1


def sign_text(sign: Sign) -> str:
    """A sign in words, for messages."""
    kind, size = sign
    return (kind or "a collective without a name") + (f" of {size} bytes" if size >= 0 else "")


_AGREEING_NS = 1_000_000
"""Largest spread of clocks that say who left a collective first."""
_CLEARLY, _RAN_ON_NS = 10.0, 100_000
"""Times that spread, and time, beyond which a later end is none of the clocks' difference."""


class Clocks(NamedTuple):
    """Offsets of the ranks' clocks from that of the first; shape (r,), NaN for unknown."""

    offset: Float
    """Nanoseconds to take from a rank's times."""
    spread: Float
    """Half of the narrowest range that holds four fifths of the differences, nanoseconds."""


def find_clocks(ranks: int, members: Members) -> Clocks:
    """Estimate the offsets of the clocks of some ranks, from one to those it shares some with.

    By collectives with a root only where no others lead to a rank: their ends lie apart.
    """
    offset, spread = np.full(ranks, np.nan), np.full(ranks, np.nan)
    if ranks:
        offset[0] = spread[0] = 0.0
    of_ranks, collective = members.of_ranks(max(ranks, 1)), members.collective
    for left_out in (members.rooted, ~members.rooted):
        reached, compared = np.flatnonzero(~np.isnan(offset))[::-1].tolist(), left_out.copy()
        while reached and np.isnan(offset).any():
            base = reached.pop()
            own = of_ranks[base][~compared[collective[of_ranks[base]]]]
            # all their ranks are known after this
            compared[collective[own]] = True
            for other, apart in _differences(members, own, collective[own], np.isnan(offset)):
                offset[other] = offset[base] + np.median(apart)
                spread[other] = max(spread[base], _narrowest(apart) / 2)
                reached.append(other)
    return Clocks(offset, spread)


def _narrowest(values: Float) -> float:
    """Width of the narrowest range that holds four fifths of some values: the others may be far."""
    ordered, agreeing = np.sort(values), -(-4 * len(values) // 5)
    return float((ordered[agreeing - 1 :] - ordered[: len(ordered) - agreeing + 1]).min())


def find_ran_on(members: Members, clocks: Clocks) -> Nanoseconds:
    """Time each member ran on after all others had left, shape (n,); 0 where clocks are unsure.

    No rank waits for another once all of them came. If its kernel runs on by far more than
    the clocks differ, something interrupted it.
    """
    if not len(members):
        return members.ran_on
    started = members.start - clocks.offset[members.rank]
    order = np.lexsort((-started, members.collective))
    last = order[members.first[:-1]][members.collective]
    beyond = members.wait - (started[last] - started)
    unsure = -members.least(-clocks.spread[members.rank])
    known = (unsure <= _AGREEING_NS) & ~members.rooted
    least = np.where(known, np.maximum(_CLEARLY * unsure, _RAN_ON_NS), np.inf)
    sure = beyond > least[members.collective]
    return np.where(sure, np.minimum(beyond, members.wait), 0).astype(np.int64)


def _differences(
    members: Members, own: Int, collectives: Int, wanted: Bool
) -> list[tuple[int, Float]]:
    """Differences of the ends of other ranks from those of one, by rank.

    Args:
        members: all of them.
        own: those of one rank.
        collectives: what these are of.
        wanted: ranks that are asked for, shape (r,).
    """
    every, of_own = ranges(members.first[collectives], members.first[collectives + 1])
    asked = wanted[members.rank[every]]
    every, of_own = every[asked], of_own[asked]
    order = np.argsort(members.rank[every], kind="stable")
    rank, apart = members.rank[every], (members.end[every] - members.end[own[of_own]])[order]
    first = np.flatnonzero(np.diff(rank[order], prepend=-1))
    parts = np.split(apart.astype(np.float64), first)[1:]
    return list(zip(rank[order][first].tolist(), parts, strict=True))


def moments(members: Members, clocks: Clocks) -> Float:
    """End of each collective on the first rank's clock, shape (m,)."""
    ends = members.end - np.nan_to_num(clocks.offset)[members.rank]
    return np.maximum.reduceat(ends, members.first[:-1]) if len(members) else ends


_SEARCHED = 64
"""Collectives by which recordings without steps may be shifted against each other."""

_DIFFERENT = "the ranks have different numbers of them in a step"


class Matched(NamedTuple):
    """Collectives of several ranks."""

    members: Members
    """In order of time."""
    clocks: Clocks
    """By which that is."""
    refused: tuple[str, ...]
    """What could not be matched, one line for each group."""
    unmatched: int
    """Collectives of single ranks without a counterpart."""


def match(ranks: Sequence[RankSummary]) -> Matched:
    """Match the collectives of some ranks."""
    refused: list[str] = []
    found: list[tuple[GroupRows, Int]] = []
    for group, rows in group_rows(ranks).items():
        try:
            _check_groups(ranks, group, rows)
            numbers = _numbered(ranks, rows)
            if numbers is None:
                numbers = _aligned(ranks, group, rows)
                if group.startswith(UNNAMED) and len(_differing_steps(rows, numbers)):
                    rows, numbers = _by_step(group, rows, refused)
            _check(ranks, group, rows, numbers)
        except ValueError as error:
            refused.append(str(error))
            continue
        found.append((rows, numbers))
    members = _members(ranks, found)
    clocks = find_clocks(len(ranks), members)
    members = replace(members, ran_on=find_ran_on(members, clocks))
    members = members.ordered(moments(members, clocks))
    total = sum(len(rank.collectives) for rank in ranks)
    return Matched(members, clocks, tuple(dict.fromkeys(refused)), total - len(members.rank))


def _members(ranks: Sequence[RankSummary], found: Sequence[tuple[GroupRows, Int]]) -> Members:
    """Members of what has the same number in a group on several ranks."""
    columns, count = [], 0
    for rows, numbers in found:
        of_row, first = unique_inverse(numbers)[1], first_of_each(numbers)
        several = np.bincount(of_row) > 1
        # in the order in which they are met
        place = np.full(len(several), -1)
        met = np.flatnonzero(several)[np.argsort(first[several], kind="stable")]
        place[met] = count + np.arange(len(met))
        chosen = several[of_row]
        columns.append((place[of_row[chosen]], rows.rank[chosen], rows.entry[chosen]))
        count += len(met)
    empty = (np.zeros(0, np.int64),) * 3
    return members_of(ranks, *(np.concatenate(each) for each in zip(empty, *columns, strict=True)))


def _numbered(ranks: Sequence[RankSummary], rows: GroupRows) -> Int | None:
    """Number of each row in the group; None where one has none, or two of a rank have the same."""
    parts = (ranks[rank].collectives.number[rows.entry[at]] for rank, at in by_rank(rows).items())
    number = np.concatenate([*parts])
    repeated = len(unique(dense_rank(rows.rank, number))) < len(number)
    return None if repeated or (number < 0).any() else number


def _aligned(ranks: Sequence[RankSummary], group: str, rows: GroupRows) -> Int:
    """Number of each row by its order, counted from the longest list's first.

    Raises:
        ValueError: nothing says where the lists begin.
    """
    spans = by_rank(rows)
    longest = max(spans, key=lambda rank: spans[rank].stop - spans[rank].start)
    reference = GroupRows(*(column[spans[longest]] for column in rows))
    first = _first_of_steps(reference)
    parts = []
    for rank, mine in spans.items():
        own = GroupRows(*(column[mine] for column in rows))
        shift = 0 if rank == longest else _shift(ranks, group, reference, own, first)
        parts.append(np.arange(len(own.entry)) + shift)
    return np.concatenate(parts)


def _shift(
    ranks: Sequence[RankSummary],
    group: str,
    reference: GroupRows,
    own: GroupRows,
    first: Mapping[int, int],
) -> int:
    """Places by which a rank's list begins after the reference's.

    Raises:
        ValueError: nothing says.
    """
    other = _first_of_steps(own)
    if common := sorted(first.keys() & other.keys()):
        shifts = [first[step] - other[step] for step in common]
        return int(np.bincount(np.array(shifts) - min(shifts)).argmax()) + min(shifts)
    if first and other:
        path = ranks[int(own.rank[0])].path
        raise ValueError(f"{group}: {path} has them in none of the steps in which others do")
    kinds = [
        [ranks[int(rows.rank[0])].collectives.kind[index] for index in rows.entry.tolist()]
        for rows in (reference, own)
    ]
    fitting = [s for s in range(-_SEARCHED, _SEARCHED + 1) if _fit(kinds[0], kinds[1], s)]
    if 0 in fitting and len(kinds[0]) == len(kinds[1]):
        return 0
    if len(fitting) == 1:
        return fitting[0]
    raise ValueError(
        f"{_in_words(group)}: not matched, as some trace does not show the steps that launched "
        f"them, and their order fits in {len(fitting)} ways"
    )


def _in_words(group: str) -> str:
    return group if group.startswith(UNNAMED) else f"process group {group}"


def _first_of_steps(rows: GroupRows) -> dict[int, int]:
    """Place of the first collective of each step, by the step's number; whole steps only."""
    places: dict[int, int] = {}
    for place, number in enumerate(rows.step.tolist()):
        if number >= 0:
            places.setdefault(number, place)
    return places


def _fit(first: Sequence[str], other: Sequence[str], shift: int) -> bool:
    """Whether two lists agree where they overlap, and overlap by half of the shorter."""
    begin, end = max(0, shift), min(len(first), len(other) + shift)
    if 2 * (end - begin) < min(len(first), len(other)):
        return False
    return list(first[begin:end]) == list(other[begin - shift : end - shift])


def _check_groups(ranks: Sequence[RankSummary], group: str, rows: GroupRows) -> None:
    """Refuse collectives without a group of ranks that are in several.

    Raises:
        ValueError: they are.
    """
    several = [rank for rank in by_rank(rows) if (ranks[rank].process_groups or 1) > 1]
    if group.startswith(UNNAMED) and several:
        number, path = ranks[several[0]].process_groups, ranks[several[0]].path
        raise ValueError(
            f"{UNNAMED} are not matched: {path} is in {number} process groups of different ranks"
        )


def _check(ranks: Sequence[RankSummary], group: str, rows: GroupRows, numbers: Int) -> None:
    """Refuse a group whose members differ; one that is not named, too, where their steps do.

    Args:
        ranks: summaries.
        group: what is matched.
        rows: its collectives.
        numbers: equal for those that are one, shape (n,).

    Raises:
        ValueError: they do.
    """
    is_named = not group.startswith(UNNAMED)
    if not is_named and len(_differing_steps(rows, numbers)):
        raise ValueError(f"{group}: {_DIFFERENT}")
    code: dict[Sign, int] = {}
    signs = [
        code.setdefault(sign, len(code))
        for rank, mine in by_rank(rows).items()
        for sign in signs_of(ranks[rank], rows.entry[mine].tolist())
    ]
    differing = _varies(np.array(signs), numbers)
    if len(differing):
        last = {signs[row]: int(rows.rank[row]) for row in np.flatnonzero(numbers == differing[0])}
        (one, first), (two, second) = list(last.items())[:2]
        texts = [*map(sign_text, code)]
        raise ValueError(
            f"{_in_words(group)}: {ranks[second].path} has {texts[two]} where {ranks[first].path} "
            f"has {texts[one]}"
        )


def _differing_steps(rows: GroupRows, numbers: Int) -> Int:
    """Numbers whose rows are in several steps."""
    known = rows.step >= 0
    return _varies(rows.step[known], numbers[known])


def _by_step(group: str, rows: GroupRows, refused: list[str]) -> tuple[GroupRows, Int]:
    """Rows of the steps in which the ranks that have any have equally many, with their numbers.

    A file that was cut off lacks some of a rank's collectives; those of its other steps still fit.

    Raises:
        ValueError: they do in less than half of the steps.
    """
    rows = GroupRows(*(column[rows.step >= 0] for column in rows))
    step = dense_rank(rows.step)
    of_step = dense_rank(rows.rank, step)
    place = np.arange(len(step)) - first_of_each(of_step)[of_step]
    count = np.bincount(of_step)[of_step]
    differing = _varies(count, step)
    if 2 * len(differing) > len(unique(step)):
        raise ValueError(f"{group}: {_DIFFERENT}")
    if len(differing):
        steps = format_count(len(differing), "step")
        refused.append(f"{group}: {_DIFFERENT}; those of {steps} are not matched")
    fits = ~isin(step, differing)
    return GroupRows(*(column[fits] for column in rows)), dense_rank(step, place)[fits]


def _varies(values: Int, numbers: Int) -> Int:
    """Numbers whose rows have several values."""
    order = np.lexsort((values, numbers))
    values, numbers = values[order], numbers[order]
    change = (values[1:] != values[:-1]) & (numbers[1:] == numbers[:-1])
    return np.asarray(numbers[1:][change])
