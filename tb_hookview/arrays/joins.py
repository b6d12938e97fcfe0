"""Joins of columns, and sets of their values.

Every link in a trace is an as-of join: of the rows with a key, the last one up to a moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tb_hookview.arrays.types import Bool, Int, Nanoseconds

Number = TypeVar("Number", bound=np.integer[Any])

_FEW = 64
"""Bytes of a column's values up to which these are compared one by one."""
_TINY = 32
"""Rows that are taken one by one: the calls of numpy take longer."""
_DENSE = 4
"""Possible values per row up to which a table of them beats sorting the rows."""


def asof(key: Int, time: Nanoseconds, query_key: Int, query_time: Nanoseconds) -> Int:
    """Last row of equal key that starts no later, for each query; -1 for none.

    Args:
        key, time: rows to choose from, shape (n,). Of rows with equal key and time the later wins.
        query_key, query_time: shape (q,).

    Returns:
        Index of the row for each query, shape (q,).
    """
    count = len(key)
    keys = np.concatenate([key, query_key]).astype(np.int64, copy=False)
    # Sorting is stable: of equal key and time, rows come before queries, as they do here.
    order = np.lexsort((np.concatenate([time, query_time]), _narrow(keys)))
    is_query = order >= count
    latest = np.maximum.accumulate(np.where(is_query, -1, np.arange(len(order))))
    query, place = order[is_query], latest[is_query]
    row = order[place]
    same = (place >= 0) & (keys[row] == keys[query])
    found = np.empty(len(query_key), np.int64)
    found[query - count] = np.where(same, row, -1)
    return found


def unique(column: NDArray[Number]) -> NDArray[Number]:
    """Each value of a column once, in ascending order.

    `np.unique` does so too, but hashes first, which takes several times as long, and imports
    `numpy.ma`, which takes longer still.
    """
    if column.size <= _TINY:
        return np.array(sorted(set(column.ravel().tolist())), column.dtype)
    if (table := _occurring(column, len(column))) is not None:
        low, held = table
        return (np.flatnonzero(held) + low).astype(column.dtype)
    ordered = np.sort(column, axis=None)
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)]
    return np.compress(first, ordered)


def unique_inverse(column: NDArray[Number]) -> tuple[NDArray[Number], Int]:
    """Each value of a column once, ascending, and the index of each row's."""
    if len(column) <= _TINY:
        rows = column.tolist()
        number = {value: place for place, value in enumerate(sorted(set(rows)))}
        few = np.array(list(number), column.dtype)
        return few, np.array([number[value] for value in rows], np.int64)
    if (table := _occurring(column, len(column))) is None:
        order = np.argsort(column, kind="stable")
        values, place = column[order], np.empty(len(column), np.int64)
        begins = np.append(True, values[1:] != values[:-1])[: len(values)]
        place[order] = np.cumsum(begins) - 1
        return values[begins], place
    low, held = table
    values = (np.flatnonzero(held) + low).astype(column.dtype)
    return values, (np.cumsum(held) - 1)[_above(column, low)]


def isin(column: NDArray[Any], values: Sequence[int] | NDArray[Any]) -> Bool:
    """Whether each number of a column is among some values, in the column's shape.

    `np.isin` does so too, and is several times slower for few values.
    """
    if len(values) * column.itemsize <= _FEW:
        found = np.zeros(column.shape, bool)
        for value in np.asarray(values, np.int64).tolist():
            found |= column == value
        return found
    wanted = np.asarray(values, np.int64)
    if (table := _occurring(wanted, len(wanted) + column.size)) is not None:
        low, held = table
        place = _above(column, low)
        inside = (place >= 0) & (place < len(held))
        return np.asarray(inside & held[np.where(inside, place, 0)])
    wanted, (present, row) = unique(wanted), unique_inverse(column.ravel())
    place = np.minimum(np.searchsorted(wanted, present), len(wanted) - 1)
    return np.asarray((wanted[place] == present)[row].reshape(column.shape))


def median(values: Int | NDArray[np.float64]) -> float:
    """Median of one or more values. `np.median` imports `numpy.ma`."""
    ordered, half = np.sort(values), len(values) // 2
    return (float(ordered[half]) + float(ordered[-1 - half])) / 2


def lower_quartile(values: Int) -> int:
    """Value at index (n - 1) // 4 of n values in ascending order, n above 0."""
    return int(np.sort(values)[(len(values) - 1) // 4])


def union(first: Int, second: Int) -> Int:
    """Each value of either column once, in ascending order."""
    return unique(np.concatenate([first, second]))


def setdiff(first: Int, second: Int) -> Int:
    """Each value of the first column not in the second, once, ascending."""
    values = unique(first)
    return values[~isin(values, second)]


def _occurring(column: NDArray[Any], rows: int) -> tuple[int, Bool] | None:
    """Least value of a column, and whether each value from there on occurs.

    None where these are more than `_DENSE` times the rows, so that sorting is faster.
    """
    if column.ndim != 1 or not len(column):
        return None
    low, high = int(column.min()), int(column.max())
    if high - low >= _DENSE * rows:
        return None
    held = np.zeros(high - low + 1, bool)
    held[_above(column, low)] = True
    return low, held


def _narrow(keys: Int) -> NDArray[Any]:
    """Keys of the same order, in 16 bits if these hold them."""
    # Those are sorted in a third of the time.
    low = int(keys.min(initial=0))
    return _above(keys, low).astype(np.uint16) if keys.max(initial=0) - low < 1 << 16 else keys


def _above(column: NDArray[Any], low: int) -> Int:
    """Each value less a number; in 64 bits, as 8 do not hold every difference."""
    above: Int = np.subtract(column, low, dtype=np.int64)
    return above


def dense_rank(*columns: Int) -> Int:
    """Rank of each row by the last column, then the one before; equal where rows are in each."""
    last, *others = reversed(columns)
    rank = unique_inverse(last)[1]
    for column in others:
        values, place = unique_inverse(column)
        rank = unique_inverse(rank * len(values) + place)[1]
    return rank


def unique_counts(column: NDArray[Number]) -> tuple[NDArray[Number], Int]:
    """Each value of a column once, ascending, and how many rows have it."""
    values, place = unique_inverse(column)
    return values, np.bincount(place, minlength=len(values))


def grouped(column: NDArray[Number]) -> tuple[NDArray[Number], Int, Int]:
    """Each value of a column once, ascending; index of its first row; index of each row's value."""
    values, place = unique_inverse(column)
    first = np.empty(len(values), np.int64)
    first[place[::-1]] = np.arange(len(column))[::-1]  # the last one written stays
    return values, first, place


def first_of_each(column: Int) -> Int:
    """Index of the first row of each value, in ascending order of values."""
    return grouped(column)[1]


def ordinal(key: Int) -> Int:
    """Number of rows of the same key before each."""
    order = np.argsort(key, kind="stable")
    found = np.empty(len(key), np.int64)
    found[order] = np.arange(len(key)) - np.searchsorted(key[order], key[order])
    return found


def before(key: Int, order: Int) -> Int:
    """Row before each in an order where both have the same key, -1 for none."""
    found = np.full(len(key), -1, np.int64)
    same = np.flatnonzero(np.diff(key[order]) == 0)
    found[order[same + 1]] = order[same]
    return found


def first_index(key: Int, query: Int) -> Int:
    """Index of the first row whose key equals each query; -1 for none."""
    if not len(key):
        return np.full(len(query), -1, np.int64)
    order = np.argsort(key, kind="stable")
    place = np.minimum(np.searchsorted(key[order], query), len(key) - 1)
    row = order[place]
    return np.where(key[row] == query, row, -1)


def scatter(rows: Int | Bool, values: Int | int, size: int) -> Int:
    """Column of `size` numbers with values at some rows, and -1 at the others."""
    column = np.full(size, -1, np.int64)
    column[rows] = values
    return column


def mask_of(rows: Int | NDArray[np.int32] | int | Sequence[int], size: int) -> Bool:
    """Whether each of `size` numbers is in `rows`."""
    mask = np.zeros(size, bool)
    mask[rows] = True
    return mask


def index_of(rows: Int | Sequence[int], size: int) -> Int:
    """Place of each of `size` numbers in `rows`, -1 for those that are not in it."""
    index = np.full(size, -1, np.int64)
    index[np.asarray(rows, np.int64)] = np.arange(len(rows))
    return index


def running_max(key: Int, value: Int) -> Int:
    """Largest value so far among the rows of each one's key; rows are in ascending order of key."""
    keys, number = unique_inverse(key)
    low = int(value.min(initial=0))
    width = int(value.max(initial=0)) - low + 1
    if width * len(keys) < 1 << 63:  # each can be lifted above those of the keys before
        lifted = number * width
        return np.asarray(np.maximum.accumulate(value - low + lifted) - lifted + low)
    values, rank = unique_inverse(value)
    lifted = number * len(values)
    return np.asarray(values[np.maximum.accumulate(rank + lifted) - lifted])


def last_greatest(values: Int) -> Int:
    """Place of the greatest value up to each one, of equal ones the last."""
    reached = np.maximum.accumulate(values)
    return np.maximum.accumulate(np.where(values == reached, np.arange(len(values)), 0))


def pair_key(first: Int, second: Int) -> Int:
    """One int64 for two non-negative numbers; equal only where both are equal."""
    return np.asarray((first << 32) | second)
