"""Which collectives of several ranks are one: by group and number, else by order.

Where a trace does not number them, the i-th of a group within a step is the same on all ranks; so a
recording that begins a step later does not shift the others. What does not fit (another name,
another size) is refused, and said.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.collectives.names import POINT_TO_POINT
from tb_hookview.arrays.types import Int
from tb_hookview.ranks.clocks import moments
from tb_hookview.ranks.summary import RankSummary

_STEP = re.compile(r"ProfilerStep#(\d+)")
_OF_ONE_SIZE = frozenset({"all_reduce", "broadcast", "reduce", "barrier"})
"""Collectives that carry as many bytes on every rank."""
_SEARCHED = 64
"""Collectives by which recordings without steps may be shifted against each other."""

_UNNAMED = "collectives without a group"

Key = tuple[str, int]


class Matched(NamedTuple):
    """Collectives of several ranks, in order of time; m of them over r ranks."""

    member: Int
    """Index of each in the collectives of each rank, -1 where it takes no part; shape (m, r)."""
    refused: tuple[str, ...]
    """What could not be matched, one line for each group."""
    unmatched: int
    """Collectives of single ranks without a counterpart."""


def match(ranks: Sequence[RankSummary]) -> Matched:
    """Match the collectives of some ranks."""
    refused: list[str] = []
    found: dict[Key, dict[int, int]] = defaultdict(dict)
    for group, members in _groups(ranks).items():
        try:
            keys = _numbered(ranks, members) or _aligned(ranks, members)
            _check(ranks, group, keys, equal=group.startswith(_UNNAMED))
        except ValueError as error:
            refused.append(str(error))
            continue
        for number, of_rank in keys.items():
            found[group, number] = of_rank
    several = [of_rank for of_rank in found.values() if len(of_rank) > 1]
    total = sum(len(rank.collectives) for rank in ranks)
    member = np.full((len(several), len(ranks)), -1, np.int64)
    for row, of_rank in enumerate(several):
        member[row, list(of_rank)] = list(of_rank.values())
    member = member[np.argsort(moments(ranks, member), kind="stable")]
    return Matched(member, tuple(refused), total - int(np.count_nonzero(member >= 0)))


def _groups(ranks: Sequence[RankSummary]) -> dict[str, dict[int, list[int]]]:
    """Collectives of each group by rank, in order; a pair of ranks is a group of its own.

    Where no group is named, those of one kind and size are taken for one: on several streams they
    may begin in another order on each rank. Messages that name neither source nor target (gloo's)
    are in none.
    """
    groups: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, rank in enumerate(ranks):
        calls = rank.collectives
        for index, (group, kind) in enumerate(zip(calls.group, calls.kind, strict=True)):
            size = int(calls.bytes[index]) if kind in _OF_ONE_SIZE else -1
            name = group or f"{_UNNAMED}, {_text((kind, size))}"
            if kind in POINT_TO_POINT:
                if calls.source[index] < 0 and calls.target[index] < 0:
                    continue
                name = f"{group} {calls.source[index]}->{calls.target[index]}"
            groups[name][number].append(index)
    return groups


def _numbered(
    ranks: Sequence[RankSummary], members: dict[int, list[int]]
) -> dict[int, dict[int, int]]:
    """Members by their number in the group; empty where one has none, or two have the same."""
    keys: dict[int, dict[int, int]] = defaultdict(dict)
    for rank, indices in members.items():
        numbers = ranks[rank].collectives.number[indices]
        if (numbers < 0).any() or len(set(numbers.tolist())) < len(numbers):
            return {}
        for number, index in zip(numbers.tolist(), indices, strict=True):
            keys[number][rank] = index
    return keys


def _aligned(
    ranks: Sequence[RankSummary], members: dict[int, list[int]]
) -> dict[int, dict[int, int]]:
    """Members by their order, counted from the longest list's first."""
    reference = max(members, key=lambda rank: len(members[rank]))
    keys: dict[int, dict[int, int]] = defaultdict(dict)
    for rank, indices in members.items():
        shift = _shift(ranks, members, reference, rank)
        for place, index in enumerate(indices):
            keys[place + shift][rank] = index
    return keys


def _shift(
    ranks: Sequence[RankSummary], members: dict[int, list[int]], reference: int, rank: int
) -> int:
    """Places by which a rank's list begins after the reference's.

    Raises:
        ValueError: nothing says.
    """
    if rank == reference:
        return 0
    first, other = (_first_of_steps(ranks[r], members[r]) for r in (reference, rank))
    common = sorted(first.keys() & other.keys())
    if common:
        shifts = [first[step] - other[step] for step in common]
        return int(np.bincount(np.array(shifts) - min(shifts)).argmax()) + min(shifts)
    kinds = [[ranks[r].collectives.kind[i] for i in members[r]] for r in (reference, rank)]
    fitting = [s for s in range(-_SEARCHED, _SEARCHED + 1) if _fit(kinds[0], kinds[1], s)]
    if 0 in fitting and len(kinds[0]) == len(kinds[1]):
        return 0
    if len(fitting) == 1:
        return fitting[0]
    path = ranks[rank].path
    raise ValueError(f"{path}: its collectives fit those of other ranks in {len(fitting)} ways")


def _first_of_steps(rank: RankSummary, indices: Sequence[int]) -> dict[int, int]:
    """Place of the first collective of each step, by the step's number; whole steps only."""
    places: dict[int, int] = {}
    for place, index in enumerate(indices):
        if (number := _step_number(rank, index)) >= 0:
            places.setdefault(number, place)
    return places


def _step_number(rank: RankSummary, index: int) -> int:
    """Number of the step of a collective, -1 for none."""
    step = int(rank.step[index])
    named = _STEP.fullmatch(rank.steps.name[step]) if step >= 0 else None
    return int(named[1]) if named else -1


def _fit(first: Sequence[str], other: Sequence[str], shift: int) -> bool:
    """Whether two lists agree where they overlap, and overlap by half of the shorter."""
    begin, end = max(0, shift), min(len(first), len(other) + shift)
    if 2 * (end - begin) < min(len(first), len(other)):
        return False
    return list(first[begin:end]) == list(other[begin - shift : end - shift])


def _check(
    ranks: Sequence[RankSummary], group: str, keys: dict[int, dict[int, int]], *, equal: bool
) -> None:
    """Refuse a group whose members differ.

    Args:
        ranks: summaries.
        group: what is matched.
        keys: index on each rank by number.
        equal: refuse it, too, where the members' steps differ.

    Raises:
        ValueError: they do.
    """
    for of_rank in keys.values():
        steps = {_step_number(ranks[rank], index) for rank, index in of_rank.items()} - {-1}
        if equal and len(steps) > 1:
            raise ValueError(f"{group}: the ranks have different numbers of them in a step")
        signs = {_sign(ranks[rank], index): rank for rank, index in of_rank.items()}
        if len(signs) > 1:
            (one, first), (two, second) = list(signs.items())[:2]
            name = group if equal else f"process group {group}"
            raise ValueError(
                f"{name}: {ranks[second].path} has {_text(two)} where {ranks[first].path} has "
                f"{_text(one)}"
            )


def _sign(rank: RankSummary, index: int) -> tuple[str, int]:
    kind = rank.collectives.kind[index]
    if kind in POINT_TO_POINT:
        return "send", -1
    return kind, int(rank.collectives.bytes[index]) if kind in _OF_ONE_SIZE else -1


def _text(sign: tuple[str, int]) -> str:
    kind, size = sign
    return (kind or "a collective without a name") + (f" of {size} bytes" if size >= 0 else "")
