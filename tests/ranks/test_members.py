"""Members of collectives as columns: waits and clocks against their definitions."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from msgspec.structs import replace

from tb_hookview.ranks.lateness import WAITED_NS, find_waits
from tb_hookview.ranks.matching import find_clocks, find_ran_on
from tb_hookview.ranks.members import Members

RANKS, COLLECTIVES = 6, 30


def drawn(seed: int) -> Members:
    """Draw collectives of two or more of some ranks, whose clocks are apart."""
    random = np.random.default_rng(seed)
    rows = []
    for collective in range(COLLECTIVES):
        ranks = np.flatnonzero(random.random(RANKS) < random.choice([0.3, 1.0]))
        ranks = ranks if len(ranks) > 1 else np.array([0, 1])
        end = (collective + 1) * 1_000_000 + random.integers(0, 1000, len(ranks)) + ranks * 10**8
        rows.append((ranks, end - random.integers(1000, 2_500_000, len(ranks)), end))
    first = np.concatenate([[0], np.cumsum([len(ranks) for ranks, *_ in rows])])
    rank, start, end = (np.concatenate(column) for column in zip(*rows, strict=True))
    rooted = np.random.default_rng(seed).random(COLLECTIVES) < 0.2
    end = np.where(rooted.repeat(np.diff(first)) & (rank == 0), end - 500, end)
    none = np.zeros_like(rank)
    return Members(first, rank, none, start, end, start, rooted, none)


@pytest.mark.parametrize("seed", range(20))
def test_waits_are_those_of_the_definition(seed: int) -> None:
    members = drawn(seed)
    waits = find_waits(members)
    passed: dict[int, list[tuple[int, int, int]]] = {rank: [] for rank in range(RANKS)}
    for collective in range(COLLECTIVES):
        mine = range(members.first[collective], members.first[collective + 1])
        duration = {each: int(members.end[each] - members.start[each]) for each in mine}
        transfer = min(duration.values())
        assert waits.transfer[collective] == transfer
        caused = sum(time - transfer for time in duration.values()) / (len(mine) - 1)
        assert waits.caused[collective] == pytest.approx(caused)
        last = min(duration, key=duration.__getitem__)
        assert waits.last[collective] == (
            last if caused >= WAITED_NS and not members.rooted[collective] else -1
        )
        for each in mine:
            span = (int(members.start[each]), duration[each] - transfer, each)
            passed[int(members.rank[each])].append(span)
    for spans in passed.values():
        until = min(spans)[0]
        for start, wait, each in sorted(spans):
            assert waits.alone[each] == max(start + wait - max(start, until), 0)
            until = max(until, start + wait)


@pytest.mark.parametrize("seed", range(20))
def test_clocks_are_apart_by_the_median_of_shared_ends(seed: int) -> None:
    members = drawn(seed)
    clocks = find_clocks(RANKS, members)
    ends: dict[int, dict[int, int]] = {rank: {} for rank in range(RANKS)}
    for rank, collective, end in zip(
        members.rank.tolist(), members.collective.tolist(), members.end.tolist(), strict=True
    ):
        if not members.rooted[collective]:
            ends[rank][collective] = end
    for rank in range(1, RANKS):
        if shared := ends[0].keys() & ends[rank].keys():
            apart = [ends[rank][collective] - ends[0][collective] for collective in shared]
            assert clocks.offset[rank] == pytest.approx(np.median(apart))
            ordered, most = sorted(apart), ceil(4 * len(apart) / 5)
            ranges = [b - a for a, b in zip(ordered, ordered[most - 1 :], strict=False)]
            assert clocks.spread[rank] == pytest.approx(min(ranges) / 2)
        assert clocks.offset[rank] == pytest.approx(rank * 10**8, abs=1000 * RANKS)


def test_ranks_without_a_shared_collective_have_no_offset() -> None:
    members = Members(
        np.array([0, 2, 4]),
        np.array([0, 1, 2, 3]),
        np.zeros(4, np.int64),
        np.zeros(4, np.int64),
        np.array([5, 7, 5, 9]),
        np.zeros(4, np.int64),
        np.zeros(2, bool),
        np.zeros(4, np.int64),
    )
    clocks = find_clocks(5, members)
    assert clocks.offset[:2].tolist() == [0.0, 2.0]
    assert np.isnan(clocks.offset[2:]).all()


def test_collectives_with_a_root_are_the_last_to_say_how_clocks_are_apart() -> None:
    columns = (np.array([5, 90, 9, 15, 17]), np.zeros(5, np.int64))
    first, rank = np.array([0, 3, 5]), np.array([0, 1, 2, 0, 1])
    rooted = np.array([True, False])
    members = Members(
        first, rank, *(np.zeros(5, np.int64),) * 2, *columns, rooted, np.zeros(5, np.int64)
    )
    assert find_clocks(3, members).offset.tolist() == [0.0, 2.0, 4.0]


def of_two(starts: tuple[int, int], ends: tuple[int, int], noise: int = 2_000) -> Members:
    """Eleven collectives that two ranks leave together, but for some noise, and one of these times.

    The second rank's clock is 1 ms ahead.
    """
    at = 10_000_000 * np.arange(12)
    start, end = np.stack([at, at]) - noise, np.stack([at, at]) + 50_000
    end[1] += noise * (np.arange(12) % 3 - 1)
    start[:, -1], end[:, -1] = at[-1] + starts, at[-1] + ends
    start[1], end[1] = start[1] + 1_000_000, end[1] + 1_000_000
    none, columns = np.zeros(24, np.int64), (start.T.ravel(), end.T.ravel())
    first, rank = np.arange(0, 25, 2), np.tile([0, 1], 12)
    members = Members(first, rank, none, *columns, columns[0], np.zeros(12, bool), none)
    return replace(members, ran_on=find_ran_on(members, find_clocks(2, members)))


def test_a_rank_waits_until_the_last_one_comes() -> None:
    members = of_two((2_400_000, 0), (2_450_000, 4_400_000))
    assert members.wait[-2:] == pytest.approx([0, 2_400_000], abs=2_000)
    waits = find_waits(members)
    assert (waits.last[-1], waits.transfer[-1]) == (22, 50_000)
    assert not members.ran_on[:-1].any()


def test_the_last_one_that_stays_waits_for_nobody() -> None:
    members = of_two((0, 2_400_000), (2_450_000, 6_450_000))
    assert members.wait[-2:].tolist() == [0, 0]
    assert find_waits(members).last[-1] == -1


@pytest.mark.parametrize(
    ("ends", "noise"),
    [
        pytest.param((2_450_000, 2_540_000), 2_000, id="less than 0.1 ms"),
        pytest.param((2_450_000, 4_400_000), 400_000, id="clocks that are not sure"),
        pytest.param((2_450_000, 40_000_000), 1_100_000, id="clocks that do not agree"),
    ],
)
def test_what_clocks_do_not_show_is_a_wait(ends: tuple[int, int], noise: int) -> None:
    members = of_two((2_400_000, 0), ends, noise)
    assert not members.ran_on.any()
    assert members.wait[-1] == ends[1] - 50_000


def test_ordered_collectives_keep_their_members() -> None:
    members = drawn(3)
    by = np.random.default_rng(1).permutation(COLLECTIVES)
    moved = members.ordered(by)
    for place, collective in enumerate(np.argsort(by).tolist()):
        now, before = moved.of(place), members.of(collective)
        for name in ("rank", "start", "end"):
            assert getattr(moved, name)[now].tolist() == getattr(members, name)[before].tolist()
        rank = int(moved.rank[now][-1])
        assert moved.at(place, rank) == now.stop - 1
