"""Microseconds as trace files write them, to exact integer nanoseconds.

torch writes decimal microseconds with up to three decimals. Up to 2**53 ns a double holds every
nanosecond, so reading such numbers as doubles and rounding is exact. Absolute times since 1970 with
decimals are not: at 1.7e15 us a double has steps of 0.25 us, enough to let a child outlast its
parent. Those are parsed from their text.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray

from tb_hookview.arrays.types import Bool, Float, Nanoseconds

LATEST_NS, EARLIEST_NS, LONGEST_NS = 2**62, -(2**61), 2**61
"""Bounds of valid starts (up to the year 2116, absolute) and durations (73 years).

So 64 bits hold what lies between the first start and the last end."""

_LARGEST_EXACT_US = 2.0**53 / 1000
_WIDEST_NUMBER = 32
_MOST_DIGITS = 16
"""Digits before the point of a time below `LATEST_NS`.

The first of 16 is at most 4."""


def are_starts(microseconds: Float) -> Bool:
    """Whether each double is a time at which an event may start."""
    return (microseconds > EARLIEST_NS / 1000) & (microseconds < LATEST_NS / 1000)


def are_whole(microseconds: Float) -> bool:
    """Whether times read as doubles are whole microseconds, whatever their text was."""
    return not bool(np.any(microseconds != np.trunc(microseconds)))


def doubles_are_exact(microseconds: Float) -> bool:
    """Whether times read as doubles hold every nanosecond, whatever their text was.

    Larger ones still hold every whole microsecond, which is all that files before torch 2.3 have.
    """
    return not bool(np.any(np.abs(microseconds) > _LARGEST_EXACT_US))


def from_doubles(microseconds: Float) -> Nanoseconds:
    """Convert microseconds (float64) to nanoseconds (int64), rounding to nearest.

    Whole and fractional parts are scaled apart, so that whole microseconds stay exact however
    large. A value that is not finite, or beyond `LATEST_NS`, becomes 0.
    """
    possible = np.abs(microseconds) < LATEST_NS / 1000
    finite = np.where(possible, microseconds, 0.0)
    whole = np.trunc(finite)
    return np.asarray(
        whole.astype(np.int64) * 1000 + np.rint((finite - whole) * 1000).astype(np.int64)
    )


def from_texts(texts: Sequence[bytes]) -> Nanoseconds:
    """Convert decimal microseconds as text (quoted or not) to nanoseconds; unreadable ones to 0."""
    if not texts:
        return np.zeros(0, np.int64)
    stripped = [text.strip(b' "') for text in texts]
    if max(map(len, stripped)) > _WIDEST_NUMBER:
        return np.array([_from_text(text) for text in stripped], np.int64)
    matrix = (
        np.array(stripped, dtype=f"S{_WIDEST_NUMBER}").view(np.uint8).reshape(-1, _WIDEST_NUMBER)
    )
    plain = np.all(((matrix >= 48) & (matrix <= 57)) | (matrix == 46) | (matrix == 0), axis=1)
    nanoseconds = _from_digits(matrix)
    large = np.all(matrix[:, :_MOST_DIGITS] >= 48, axis=1) & (matrix[:, 0] >= 52)
    lengthy = np.all(matrix[:, : _MOST_DIGITS + 1] >= 48, axis=1)
    for row in np.flatnonzero(~plain | lengthy | large):
        nanoseconds[row] = _from_text(stripped[row])
    return nanoseconds


def _from_digits(matrix: NDArray[np.uint8]) -> Nanoseconds:
    """Parse rows of ASCII digits with at most one point, column by column.

    The matrix is of shape (n, width).
    """
    value = np.zeros(len(matrix), np.int64)
    decimals = np.full(len(matrix), -1, np.int64)
    round_up = np.zeros(len(matrix), np.int64)
    for column in matrix.T:
        digit = (column >= 48) & (column <= 57)
        used, following = digit & (decimals < 3), digit & (decimals == 3)
        value[used] = value[used] * 10 + (column[used] - 48)
        round_up[following] = column[following] >= 53
        decimals[digit & (decimals >= 0)] += 1
        decimals[column == 46] = 0
    return np.asarray(value * 10 ** (3 - np.clip(decimals, 0, 3)) + round_up)


def _from_text(text: bytes) -> int:
    try:
        number = Decimal(text.decode("ascii", "replace"))
        possible = number.is_finite() and abs(number) < LATEST_NS // 1000
        return int((number * 1000).to_integral_value(ROUND_HALF_UP)) if possible else 0
    except (InvalidOperation, OverflowError):
        return 0
