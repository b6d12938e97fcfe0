"""The join behind every link in a trace: of the rows with this key, the last one up to a moment."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from tb_hookview.trace.columns import Index, Int

Column = TypeVar("Column", Int, Index)


def last_up_to(key: Int, time: Int, query_key: Int, query_time: Int) -> Int:
    """For each query the last row of equal key that starts no later; -1 where there is none.

    Args:
        key, time: rows to choose from, shape (n,). Of rows with equal key and time the later wins.
        query_key, query_time: shape (q,).

    Returns:
        Index of the row for each query, shape (q,).
    """
    count, queries = len(key), len(query_key)
    keys = np.concatenate([key, query_key]).astype(np.int64)
    times = np.concatenate([time, query_time])
    is_query = np.repeat([False, True], [count, queries])
    order = np.lexsort((is_query, times, keys))
    latest = np.maximum.accumulate(np.where(is_query[order], -1, np.arange(count + queries)))
    found = np.full(queries, -1, np.int64)
    asked = np.flatnonzero(is_query[order])
    row = np.where(latest[asked] >= 0, order[latest[asked]], -1)
    same = (row >= 0) & (keys[row] == keys[order[asked]])
    found[order[asked] - count] = np.where(same, row, -1)
    return found


def distinct(column: Column) -> Column:
    """Each value of a column once, in ascending order.

    `np.unique` does so too, but hashes first, which takes several times as long.
    """
    ordered: Column = np.sort(column, axis=None)
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)]
    return np.compress(first, ordered)


def match(key: Int, query: Int) -> Int:
    """Index of the first row whose key equals each query; -1 where there is none."""
    if not len(key):
        return np.full(len(query), -1, np.int64)
    order = np.argsort(key, kind="stable")
    place = np.minimum(np.searchsorted(key[order], query), len(key) - 1)
    row = order[place]
    return np.where(key[row] == query, row, -1)


def pair_key(first: Int, second: Int) -> Int:
    """One int64 for two non-negative numbers; equal only where both are equal."""
    return np.asarray((first << 32) | second)
