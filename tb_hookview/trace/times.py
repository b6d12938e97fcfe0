"""Microseconds as trace files write them, to exact integer nanoseconds.

torch writes decimal microseconds with up to three decimals. Up to 2**53 ns a double holds every
nanosecond, so reading such numbers as doubles and rounding is exact. Absolute times since 1970 with
decimals are not: at 1.7e15 us a double has steps of 0.25 us, enough to let a child outlast its
parent. Those are parsed from their text.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray

from tb_hookview.trace.columns import Int

_LARGEST_EXACT_US = 2.0**53 / 1000
_WIDEST_NUMBER = 32


def doubles_are_exact(microseconds: NDArray[np.float64]) -> bool:
    """Tell whether times read as doubles still hold every nanosecond their text had.

    Beyond 2**53 ns whole microseconds are exact up to 2**53 us, fractions are not; a file written
    with fractions cannot show none among its times.
    """
    large = np.abs(microseconds) > _LARGEST_EXACT_US
    return not bool(np.any(large & (microseconds != np.trunc(microseconds))))


def from_doubles(microseconds: NDArray[np.float64]) -> Int:
    """Convert microseconds (float64) to nanoseconds (int64), rounding to nearest.

    Whole and fractional parts are scaled apart, so that whole microseconds stay exact however
    large; values that are not finite become 0.
    """
    finite = np.where(np.isfinite(microseconds), microseconds, 0.0)
    whole = np.trunc(finite)
    return np.asarray(
        whole.astype(np.int64) * 1000 + np.rint((finite - whole) * 1000).astype(np.int64)
    )


def from_texts(texts: Sequence[bytes]) -> Int:
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
    for row in np.flatnonzero(~plain | (matrix[:, 0] == 0)):
        nanoseconds[row] = _from_text(stripped[row])
    return nanoseconds


def _from_digits(matrix: NDArray[np.uint8]) -> Int:
    """Parse rows of ASCII digits with at most one point, column by column; shape (n, width)."""
    value = np.zeros(len(matrix), np.int64)
    decimals = np.full(len(matrix), -1, np.int64)
    for column in matrix.T:
        digit = (column >= 48) & (column <= 57) & (decimals < 3)
        value[digit] = value[digit] * 10 + (column[digit] - 48)
        decimals[digit & (decimals >= 0)] += 1
        decimals[column == 46] = 0
    return np.asarray(value * 10 ** (3 - np.maximum(decimals, 0)))


def _from_text(text: bytes) -> int:
    try:
        number = Decimal(text.decode("ascii", "replace"))
        return int((number * 1000).to_integral_value()) if number.is_finite() else 0
    except (InvalidOperation, OverflowError):
        return 0
