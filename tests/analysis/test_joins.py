from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_hookview.analysis.joins import distinct, last_up_to, match, pair_key

rows = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 20)), max_size=25)


def split(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    array = np.array(pairs, np.int64).reshape(-1, 2)
    return array[:, 0], array[:, 1]


@given(rows, rows)
def test_last_up_to(table: list[tuple[int, int]], queries: list[tuple[int, int]]) -> None:
    found = last_up_to(*split(table), *split(queries))
    for (key, time), row in zip(queries, found.tolist(), strict=True):
        fitting = [(t, i) for i, (k, t) in enumerate(table) if k == key and t <= time]
        assert row == (max(fitting)[1] if fitting else -1)


@given(st.lists(st.integers(-3, 9)), st.lists(st.integers(-3, 9)))
def test_match_finds_the_first(keys: list[int], queries: list[int]) -> None:
    found = match(np.array(keys, np.int64), np.array(queries, np.int64))
    assert found.tolist() == [keys.index(q) if q in keys else -1 for q in queries]


def test_pair_key_is_equal_only_for_equal_pairs() -> None:
    first, second = np.meshgrid(np.array([0, 1, 2**20]), np.array([0, 1, 2**30]))
    assert len(np.unique(pair_key(first.ravel(), second.ravel()))) == 9


@given(st.lists(st.integers(-3, 9)))
def test_distinct(column: list[int]) -> None:
    assert distinct(np.array(column, np.int64)).tolist() == sorted(set(column))
