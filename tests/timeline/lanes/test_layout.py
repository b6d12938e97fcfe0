"""Rows of a lane: what holds an item is above it, and nothing is drawn over another."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_hookview.arrays.nesting import ROUNDING_NS
from tb_hookview.timeline.lanes.lane import MOST_ROWS, depths

spans = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=40)


def ordered(raw: list[tuple[int, int]], scale: int) -> list[tuple[int, int]]:
    made = [(start * scale, (start + length) * scale) for start, length in raw]
    return sorted(made, key=lambda span: (span[0], -span[1]))


def laid_out(shown: list[tuple[int, int]]) -> list[int]:
    array = np.array(shown, np.int64).reshape(-1, 2)
    found: list[int] = depths(array[:, 0], array[:, 1]).tolist()
    return found


@given(spans, st.sampled_from([1, 300, 2000]))
def test_rows_nest_and_do_not_overlap(raw: list[tuple[int, int]], scale: int) -> None:
    shown = ordered(raw, scale)
    depth = laid_out(shown)
    for row in set(depth):
        mine = [span for span, level in zip(shown, depth, strict=True) if level == row]
        for (_, before), (start, end) in pairwise(mine):
            assert start >= before - ROUNDING_NS
            assert end >= before
    for inner, (start, end) in enumerate(shown):
        for outer in range(inner):
            if shown[outer][1] >= end and shown[outer][1] > start + ROUNDING_NS:
                assert depth[outer] < depth[inner]


@given(st.lists(st.integers(1, 30), min_size=1, max_size=30))
def test_what_nests_has_as_many_rows_as_lie_around_it(lengths: list[int]) -> None:
    shown = ordered([(0, length) for length in lengths], 2000)
    assert laid_out(shown) == list(range(len(lengths)))


@pytest.mark.parametrize("count", [3, 40])
def test_what_overlaps_in_a_chain_takes_two_rows(count: int) -> None:
    shown = [(10_000 * i, 10_000 * i + 15_000) for i in range(count)]
    assert laid_out(shown) == [i % 2 for i in range(count)]


def test_neighbours_that_rounding_made_overlap_stay_on_one_row() -> None:
    assert laid_out([(0, 5000), (4500, 9000), (4600, 4900), (9000, 9000)]) == [0, 0, 1, 0]


def test_nothing_has_no_rows() -> None:
    assert laid_out([]) == []


@pytest.mark.parametrize("step", [10_000, 1])
def test_rows_are_bounded_whatever_a_trace_holds(step: int) -> None:
    """Each item crosses, or holds, all that begin after it."""
    many = 4000
    crossing = [(step * i, step * i + many * 20_000) for i in range(many)]
    nesting = [(step * i, step * (2 * many - i)) for i in range(many)]
    for spans in (crossing, nesting):
        rows = laid_out(spans)
        assert max(rows) < MOST_ROWS
        assert rows[:10] == sorted(rows[:10])
