"""Whole numbers split by weight, without remainder."""

from __future__ import annotations

import numpy as np

from tb_hookview.arrays.types import Int

MOST_WEIGHT = 1 << 23
"""Largest sum of weights for totals below 2^40: products then stay within 64 bits."""


def split(total: Int, group: Int, weight: Int) -> Int:
    """Share of each part in the total of its group, by weight; a group's shares sum to its total.

    Each share is rounded down. What is left goes to the largest remainders, of equal ones to the
    earlier part (Hamilton's method).

    Args:
        total: of each group, shape (g,), not negative.
        group: group of each part, ascending, shape (p,).
        weight: of each part, not negative and above 0 in sum for each group.
    """
    whole = np.zeros(len(total), np.int64)
    np.add.at(whole, group, weight)
    product = total[group] * weight
    share, remainder = product // whole[group], product % whole[group]
    left = total.copy()
    np.subtract.at(left, group, share)
    order = np.lexsort((-remainder, group))
    first = np.searchsorted(group, group)  # groups are consecutive in either order
    rank = np.empty(len(group), np.int64)
    rank[order] = np.arange(len(group)) - first
    return np.asarray(share + (rank < left[group]))


def ranges(first: Int, end: Int) -> tuple[Int, Int]:
    """Every number of each range, and the index of its range."""
    length = end - first
    place = np.repeat(np.arange(len(first)), length)
    offset = np.cumsum(length) - length
    return np.arange(int(length.sum())) - (offset - first)[place], place
