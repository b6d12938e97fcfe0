"""Units of time: whole nanoseconds inside, microseconds in answers."""

from __future__ import annotations

from typing import Any, SupportsInt

from tb_hookview.arrays.types import Nanoseconds


def to_us(nanoseconds: SupportsInt) -> float:
    """One time in nanoseconds as microseconds."""
    return int(nanoseconds) / 1000


def microseconds(nanoseconds: Nanoseconds) -> list[Any]:
    """Times in nanoseconds as microseconds, in lists as deep as the array."""
    times: list[Any] = (nanoseconds / 1000).tolist()
    return times
