"""Sums and extremes of groups of rows, and divisions of whole numbers without a remainder."""

from __future__ import annotations

import numpy as np

from tb_hookview.arrays.joins import scatter, unique_inverse
from tb_hookview.arrays.types import Bool, Float, Int


def sum_by(group: Int, values: Int | Bool, size: int) -> Int:
    """Sum of the values of each of `size` groups: exact, as no value is ever a double.

    Args:
        group: group of each row, below 0 for none.
        values: whole numbers, or truths to count, one per row.
        size: number of groups.
    """
    total = np.zeros(size, np.int64)
    if group.min(initial=0) < 0:
        known = group >= 0
        group, values = group[known], values[known]
    np.add.at(total, group, values.astype(np.int64, copy=False))  # truths take 40 times as long
    return total


def least_by(group: Int, values: Int, size: int, none: int = np.iinfo(np.int64).max) -> Int:
    """Least value of each of `size` groups; `none`, nothing above it, where there is none."""
    least = np.full(size, none, np.int64)
    np.minimum.at(least, group, values)
    return least


def greatest_by(group: Int, values: Int, size: int, none: int = np.iinfo(np.int64).min) -> Int:
    """Greatest value of each of `size` groups; `none`, nothing below it, where there is none."""
    greatest = np.full(size, none, np.int64)
    np.maximum.at(greatest, group, values)
    return greatest


def weighted_mean(group: Int, size: int, weight: Int, values: Float) -> Float:
    """Mean of each group's known values by weight, NaN without any, and where these have less than
    half of the group's weight.

    Where no known value of a group has any weight, all count alike.
    """
    known = ~np.isnan(values)
    most = np.bincount(group, weight, minlength=size) / 2
    few = np.bincount(group[known], weight[known], minlength=size) < most
    group, values = group[known], values[known]
    weights = weight[known].astype(np.float64)
    weightless = np.bincount(group, weights, minlength=size) == 0
    weights[weightless[group]] = 1.0
    whole = np.bincount(group, weights, minlength=size)
    part = np.bincount(group, weights * values, minlength=size)
    return np.asarray(np.where((whole > 0) & ~few, part / np.maximum(whole, 1.0), np.nan))


def heaviest(group: Int, size: int, of: Int, weight: Int) -> tuple[Int, Int]:
    """Value of each group with the most weight, and the number of distinct values.

    Args:
        group: group of each row.
        size: number of groups.
        of: value of each row, below 0 for none.
        weight: weight of each row; among equal ones the least value counts.

    Returns:
        The value, -1 for a group without any; how many distinct ones there are.
    """
    held = of >= 0
    width = int(of.max(initial=0)) + 1
    pairs, place = unique_inverse(group[held] * width + of[held])
    total = np.bincount(place, weight[held], minlength=len(pairs))
    order = np.lexsort((pairs, -total, pairs // width))
    owner = (pairs // width)[order]
    first = np.ones(len(order), bool)
    first[1:] = owner[1:] != owner[:-1]
    most = scatter(owner[first], (pairs % width)[order][first], size)
    return most, np.bincount(owner, minlength=size)


# Whole numbers split by weight, without remainder.


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
