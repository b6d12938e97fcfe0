"""Which collectives of several ranks are one: by group and number, else by order.

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

from tb_hookview.analysis.collectives.names import POINT_TO_POINT
from tb_hookview.arrays.joins import dense_rank, first_of_each, unique, unique_inverse
from tb_hookview.arrays.types import Int
from tb_hookview.ranks.clocks import Clocks, find_clocks, moments
from tb_hookview.ranks.members import Members, members_of
from tb_hookview.ranks.summary import RankSummary

_STEP = re.compile(r"ProfilerStep#(\d+)")
_OF_ONE_SIZE = frozenset({"all_reduce", "broadcast", "reduce", "barrier"})
"""Collectives that carry as many bytes on every rank."""
_SEARCHED = 64
"""Collectives by which recordings without steps may be shifted against each other."""

_UNNAMED = "collectives without a group"

_Sign = tuple[str, int]


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


class _Rows(NamedTuple):
    """Collectives of one group on all ranks, columns of shape (n,)."""

    rank: Int
    entry: Int
    """Index in the collectives of the rank."""
    step: Int
    """Number of the step, -1 for none."""


def match(ranks: Sequence[RankSummary]) -> Matched:
    """Match the collectives of some ranks."""
    refused: list[str] = []
    found: list[tuple[_Rows, Int]] = []
    for group, rows in _groups(ranks).items():
        try:
            _check_groups(ranks, group, rows)
            numbers = _numbered(ranks, rows)
            numbers = _aligned(ranks, rows) if numbers is None else numbers
            _check(ranks, group, rows, numbers, equal=group.startswith(_UNNAMED))
        except ValueError as error:
            refused.append(str(error))
            continue
        found.append((rows, numbers))
    members = _members(ranks, found)
    clocks = find_clocks(len(ranks), members)
    members = members.ordered(moments(members, clocks))
    total = sum(len(rank.collectives) for rank in ranks)
    return Matched(members, clocks, tuple(dict.fromkeys(refused)), total - len(members.rank))


def _members(ranks: Sequence[RankSummary], found: Sequence[tuple[_Rows, Int]]) -> Members:
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


def _groups(ranks: Sequence[RankSummary]) -> dict[str, _Rows]:
    """Collectives of each group, by rank, in order; a pair of ranks is a group of its own.

    Where no group is named, those of one kind and size are taken for one: on several streams they
    may begin in another order on each rank. Messages that name neither source nor target (gloo's)
    are in none.
    """
    groups: dict[str, list[_Rows]] = defaultdict(list)
    for number, rank in enumerate(ranks):
        step_numbers = np.array([_step_number(name) for name in rank.steps.name] or [-1])
        steps = np.where(rank.step >= 0, step_numbers[rank.step], -1)
        for name, indices in _groups_of(rank).items():
            index = np.array(indices)
            groups[name].append(_Rows(np.full(len(index), number), index, steps[index]))
    return {
        name: _Rows(*(np.concatenate(column) for column in zip(*rows, strict=True)))
        for name, rows in groups.items()
    }


def _groups_of(rank: RankSummary) -> dict[str, list[int]]:
    """Collectives of each group of one rank."""
    groups: dict[str, list[int]] = defaultdict(list)
    calls = rank.collectives
    pairs = zip(calls.source.tolist(), calls.target.tolist(), strict=True)
    for index, (group, sign, pair) in enumerate(zip(calls.group, _signs(rank), pairs, strict=True)):
        name = group or f"{_UNNAMED}, {_text(sign)}"
        if calls.kind[index] in POINT_TO_POINT:
            if max(pair) < 0:
                continue
            name = f"{group} {pair[0]}->{pair[1]}"
        groups[name].append(index)
    return groups


def _numbered(ranks: Sequence[RankSummary], rows: _Rows) -> Int | None:
    """Number of each row in the group; None where one has none, or two of a rank have the same."""
    number = _of_rows([rank.collectives.number for rank in ranks], rows)
    repeated = len(unique(dense_rank(rows.rank, number))) < len(number)
    return None if repeated or (number < 0).any() else number


def _of_rows(columns: Sequence[Int], rows: _Rows) -> Int:
    """Value of each row in the column of its rank."""
    parts = [columns[rank][rows.entry[mine]] for rank, mine in _by_rank(rows).items()]
    return np.concatenate(parts)


def _by_rank(rows: _Rows) -> dict[int, slice]:
    """Rows of each rank that has any."""
    first = np.flatnonzero(np.diff(rows.rank, prepend=-1)).tolist()
    spans = map(slice, first, [*first[1:], len(rows.rank)])
    return dict(zip(rows.rank[first].tolist(), spans, strict=True))


def _aligned(ranks: Sequence[RankSummary], rows: _Rows) -> Int:
    """Number of each row by its order, counted from the longest list's first.

    Raises:
        ValueError: nothing says where the lists begin.
    """
    spans = _by_rank(rows)
    longest = max(spans, key=lambda rank: spans[rank].stop - spans[rank].start)
    reference = _Rows(*(column[spans[longest]] for column in rows))
    first = _first_of_steps(reference)
    parts = []
    for rank, mine in spans.items():
        own = _Rows(*(column[mine] for column in rows))
        shift = 0 if rank == longest else _shift(ranks, reference, own, first)
        parts.append(np.arange(len(own.entry)) + shift)
    return np.concatenate(parts)


def _shift(
    ranks: Sequence[RankSummary], reference: _Rows, own: _Rows, first: Mapping[int, int]
) -> int:
    """Places by which a rank's list begins after the reference's.

    Raises:
        ValueError: nothing says.
    """
    other = _first_of_steps(own)
    if common := sorted(first.keys() & other.keys()):
        shifts = [first[step] - other[step] for step in common]
        return int(np.bincount(np.array(shifts) - min(shifts)).argmax()) + min(shifts)
    kinds = [
        [ranks[int(rows.rank[0])].collectives.kind[index] for index in rows.entry.tolist()]
        for rows in (reference, own)
    ]
    fitting = [s for s in range(-_SEARCHED, _SEARCHED + 1) if _fit(kinds[0], kinds[1], s)]
    if 0 in fitting and len(kinds[0]) == len(kinds[1]):
        return 0
    if len(fitting) == 1:
        return fitting[0]
    path = ranks[int(own.rank[0])].path
    raise ValueError(f"{path}: its collectives fit those of other ranks in {len(fitting)} ways")


def _first_of_steps(rows: _Rows) -> dict[int, int]:
    """Place of the first collective of each step, by the step's number; whole steps only."""
    places: dict[int, int] = {}
    for place, number in enumerate(rows.step.tolist()):
        if number >= 0:
            places.setdefault(number, place)
    return places


def _step_number(name: str) -> int:
    """Number of a step, -1 for none."""
    named = _STEP.fullmatch(name)
    return int(named[1]) if named else -1


def _fit(first: Sequence[str], other: Sequence[str], shift: int) -> bool:
    """Whether two lists agree where they overlap, and overlap by half of the shorter."""
    begin, end = max(0, shift), min(len(first), len(other) + shift)
    if 2 * (end - begin) < min(len(first), len(other)):
        return False
    return list(first[begin:end]) == list(other[begin - shift : end - shift])


def _check_groups(ranks: Sequence[RankSummary], group: str, rows: _Rows) -> None:
    """Refuse collectives without a group of ranks that are in several.

    Raises:
        ValueError: they are.
    """
    several = [rank for rank in _by_rank(rows) if (ranks[rank].process_groups or 1) > 1]
    if group.startswith(_UNNAMED) and several:
        number, path = ranks[several[0]].process_groups, ranks[several[0]].path
        raise ValueError(
            f"{_UNNAMED} are not matched: {path} is in {number} process groups of different ranks"
        )


def _check(
    ranks: Sequence[RankSummary], group: str, rows: _Rows, numbers: Int, *, equal: bool
) -> None:
    """Refuse a group whose members differ.

    Args:
        ranks: summaries.
        group: what is matched.
        rows: its collectives.
        numbers: equal for those that are one, shape (n,).
        equal: refuse it, too, where the members' steps differ.

    Raises:
        ValueError: they do.
    """
    known = rows.step >= 0
    if equal and len(_varies(rows.step[known], numbers[known])):
        raise ValueError(f"{group}: the ranks have different numbers of them in a step")
    code: dict[_Sign, int] = {}
    signs = [
        code.setdefault(sign, len(code))
        for rank, mine in _by_rank(rows).items()
        for sign in _signs(ranks[rank], rows.entry[mine].tolist())
    ]
    differing = _varies(np.array(signs), numbers)
    if len(differing):
        last = {signs[row]: int(rows.rank[row]) for row in np.flatnonzero(numbers == differing[0])}
        (one, first), (two, second) = list(last.items())[:2]
        name, texts = group if equal else f"process group {group}", [_text(sign) for sign in code]
        raise ValueError(
            f"{name}: {ranks[second].path} has {texts[two]} where {ranks[first].path} has "
            f"{texts[one]}"
        )


def _varies(values: Int, numbers: Int) -> Int:
    """Numbers whose rows have several values."""
    order = np.lexsort((values, numbers))
    values, numbers = values[order], numbers[order]
    change = (values[1:] != values[:-1]) & (numbers[1:] == numbers[:-1])
    return np.asarray(numbers[1:][change])


def _signs(rank: RankSummary, indices: Iterable[int] | None = None) -> Iterator[_Sign]:
    """What has to be the same on all ranks: kind and, where they are of one size, bytes."""
    kinds, sizes = rank.collectives.kind, rank.collectives.bytes
    for index in range(len(kinds)) if indices is None else indices:
        kind = kinds[index]
        if kind in POINT_TO_POINT:
            yield "send", -1
        else:
            yield kind, int(sizes[index]) if kind in _OF_ONE_SIZE else -1


def _text(sign: _Sign) -> str:
    kind, size = sign
    return (kind or "a collective without a name") + (f" of {size} bytes" if size >= 0 else "")
