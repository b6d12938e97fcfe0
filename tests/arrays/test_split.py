"""Splits against plain arithmetic on whole numbers of any size."""

from __future__ import annotations

import numpy as np
import pytest

from tb_hookview.arrays.sums import MOST_WEIGHT, ranges, split


def slowly(total: int, weights: list[int]) -> list[int]:
    """Rounded down, then one more for each of the largest remainders."""
    whole = sum(weights)
    shares = [total * weight // whole for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
    for place in by_remainder[: total - sum(shares)]:
        shares[place] += 1
    return shares


@pytest.mark.parametrize("seed", range(20))
def test_as_plain_arithmetic(seed: int) -> None:
    random = np.random.default_rng(seed)
    size = random.integers(0, 30)
    total = random.integers(0, 1 << int(random.integers(1, 40)), size)
    lengths = random.integers(1, 6, size)
    weights = [random.integers(0, MOST_WEIGHT // 6, n).tolist() for n in lengths]
    weights = [each if sum(each) else [1] * len(each) for each in weights]
    group = np.repeat(np.arange(size), lengths)
    flat = np.array([weight for each in weights for weight in each], np.int64)
    expected = [slowly(int(t), each) for t, each in zip(total, weights, strict=True)]
    assert split(total, group, flat).tolist() == [share for each in expected for share in each]


def test_a_share_is_no_more_than_a_nanosecond_off() -> None:
    total, weight = np.array([1_000_003]), np.array([3, 5, 11, 0])
    shares = split(total, np.zeros(4, np.int64), weight)
    assert shares.sum() == 1_000_003
    assert np.abs(shares - 1_000_003 * weight / 19).max() < 1


def test_equal_remainders_go_to_the_first() -> None:
    assert split(np.array([2]), np.zeros(3, np.int64), np.ones(3, np.int64)).tolist() == [1, 1, 0]


def test_ranges_that_are_empty() -> None:
    numbers, place = ranges(np.array([5, 7, 2]), np.array([7, 7, 5]))
    assert numbers.tolist() == [5, 6, 2, 3, 4]
    assert place.tolist() == [0, 0, 2, 2, 2]
