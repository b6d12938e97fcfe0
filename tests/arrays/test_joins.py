from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tb_hookview.arrays.joins import (
    asof,
    dense_rank,
    first_index,
    first_of_each,
    grouped,
    index_of,
    isin,
    lower_quartile,
    median,
    pair_key,
    running_max,
    setdiff,
    union,
    unique,
    unique_counts,
    unique_inverse,
)

far_apart = st.sampled_from([-(2**62), -129, -3, 0, 1, 5, 6, 7, 200, 2**40, 2**62])
small_columns = st.one_of(
    st.lists(st.integers(-3, 9), max_size=30).map(lambda column: np.array(column, np.int64)),
    st.lists(st.integers(-128, 127), max_size=60).map(lambda column: np.array(column, np.int8)),
    st.lists(far_apart, max_size=30).map(lambda column: np.array(column, np.int64)),
)
columns = st.builds(np.tile, small_columns, st.sampled_from([1, 40]))
"""Of few rows and of many, which are not taken one by one."""
rows = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 20)), max_size=25)


def split(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    array = np.array(pairs, np.int64).reshape(-1, 2)
    return array[:, 0], array[:, 1]


@given(rows, rows)
def test_last_up_to(table: list[tuple[int, int]], queries: list[tuple[int, int]]) -> None:
    found = asof(*split(table), *split(queries))
    for (key, time), row in zip(queries, found.tolist(), strict=True):
        fitting = [(t, i) for i, (k, t) in enumerate(table) if k == key and t <= time]
        assert row == (max(fitting)[1] if fitting else -1)


@given(st.lists(st.integers(-3, 9)), st.lists(st.integers(-3, 9)))
def test_match_finds_the_first(keys: list[int], queries: list[int]) -> None:
    found = first_index(np.array(keys, np.int64), np.array(queries, np.int64))
    assert found.tolist() == [keys.index(q) if q in keys else -1 for q in queries]


def test_pair_key_is_equal_only_for_equal_pairs() -> None:
    first, second = np.meshgrid(np.array([0, 1, 2**20]), np.array([0, 1, 2**30]))
    assert len(np.unique(pair_key(first.ravel(), second.ravel()))) == 9


@given(st.lists(st.integers(-9, 9), min_size=1))
def test_a_quarter_is_no_larger_than_the_lower_quartile(values: list[int]) -> None:
    found = lower_quartile(np.array(values, np.int64))
    assert 4 * sum(value <= found for value in values) >= len(values)
    assert 4 * sum(value < found for value in values) < len(values)


@given(columns)
def test_distinct(column: np.ndarray) -> None:
    found = unique(column)
    assert found.tolist() == sorted(set(column.tolist()))
    assert found.dtype == column.dtype


@given(columns)
def test_unique_inverse_gives_each_row_its_value(column: np.ndarray) -> None:
    values, group = unique_inverse(column)
    assert values.tolist() == sorted(set(column.tolist()))
    assert values[group].tolist() == column.tolist()


@given(columns, columns)
def test_among(column: np.ndarray, values: np.ndarray) -> None:
    held = set(values.tolist())
    assert isin(column, values).tolist() == [value in held for value in column.tolist()]


def test_among_keeps_the_shape() -> None:
    table = np.arange(30).reshape(5, 6)
    assert np.array_equal(isin(table, list(range(20))), table < 20)


@given(st.lists(st.integers(-9, 2**40), min_size=1))
def test_median(values: list[int]) -> None:
    assert median(np.array(values, np.int64)) == statistics.median(values)


@given(columns, columns)
def test_sets_of_values(first: np.ndarray, second: np.ndarray) -> None:
    left, right = set(first.tolist()), set(second.tolist())
    assert union(first, second).tolist() == sorted(left | right)
    assert setdiff(first, second).tolist() == sorted(left - right)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 2), far_apart), max_size=30))
def test_numbered_is_equal_where_all_columns_are(table: list[tuple[int, int, int]]) -> None:
    number = dense_rank(*np.array(table, np.int64).reshape(-1, 3).T).tolist()
    assert len(set(zip(number, table, strict=True))) == len(set(number)) == len(set(table))
    assert set(number) == set(range(len(set(table))))


def test_first_of_each_value() -> None:
    assert first_of_each(np.array([7, 3, 7, 3, 10**12], np.int64)).tolist() == [1, 0, 4]
    assert first_of_each(np.zeros(0, np.int64)).tolist() == []


@given(columns)
def test_groups_are_those_of_numpy(column: NDArray[Any]) -> None:
    expected = np.unique(column, return_index=True, return_inverse=True, return_counts=True)
    values, first, place = grouped(column)
    found = (values, first, place, unique_counts(column)[1])
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.tolist() == theirs.tolist()


@pytest.mark.parametrize("scale", [1, 2**62])
def test_running_max_of_each_key(scale: int) -> None:
    value = np.array([1, -1, 0, -1, 0, 0], np.int64) * scale
    found = running_max(np.array([0, 0, 1, 1, 1, 2]), value)
    assert (found // scale).tolist() == [1, 1, 0, 0, 0, 0]


def test_index_of_is_the_place_of_each_row() -> None:
    assert index_of(np.array([3, 1]), 5).tolist() == [-1, 1, -1, 0, -1]
    assert index_of((), 2).tolist() == [-1, -1]
