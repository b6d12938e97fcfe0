from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_hookview.arrays import intervals

pair = st.tuples(st.integers(0, 60), st.integers(-3, 12))
pairs = st.one_of(st.lists(pair, max_size=12), st.lists(pair, min_size=13, max_size=30))
"""Few, and many, which are not joined one by one."""


def made(raw: list[tuple[int, int]]) -> np.ndarray:
    return np.array([(start, start + length) for start, length in raw], np.int64).reshape(-1, 2)


def moments(array: np.ndarray) -> set[int]:
    return {moment for start, end in array.tolist() for moment in range(start, end)}


@given(pairs)
def test_normal_keeps_the_moments_and_is_sorted_and_disjoint(raw: list[tuple[int, int]]) -> None:
    result = intervals.normal(made(raw))
    assert moments(result) == moments(made(raw))
    assert intervals.length(result) == len(moments(made(raw)))
    flat = result.reshape(-1).tolist()
    assert all(before < after for before, after in itertools.pairwise(flat))


@given(pairs, pairs)
def test_set_algebra(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> None:
    one, two = intervals.normal(made(left)), intervals.normal(made(right))
    assert moments(intervals.intersect(one, two)) == moments(one) & moments(two)
    assert moments(intervals.subtract(one, two)) == moments(one) - moments(two)


@given(pairs, pairs)
def test_lengths_within_windows(raw: list[tuple[int, int]], windows: list[tuple[int, int]]) -> None:
    held = intervals.normal(made(raw))
    wanted = made([(start, abs(length)) for start, length in windows])
    expected = [len(moments(held) & set(range(start, end))) for start, end in wanted.tolist()]
    assert intervals.lengths_within(held, wanted).tolist() == expected


@given(pairs, st.lists(st.integers(-5, 60), max_size=8))
def test_moments_within(raw: list[tuple[int, int]], times: list[int]) -> None:
    found = intervals.contains(intervals.normal(made(raw)), np.array(times, np.int64))
    assert found.tolist() == [time in moments(made(raw)) for time in times]


def test_cut():
    times = np.array([[0, 10], [20, 30]])
    moments = np.array([0, 4, 15, 20, 25, 30])
    assert intervals.cut(times, moments).tolist() == [[0, 4], [4, 10], [20, 25], [25, 30]]
    assert intervals.cut(intervals.EMPTY, moments).tolist() == []
