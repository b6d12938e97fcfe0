"""Collectives of the ranks by the groups within which they are matched, as columns."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.collectives.names import POINT_TO_POINT
from tb_hookview.arrays.types import Int
from tb_hookview.ranks.map.summary import RankSummary

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
