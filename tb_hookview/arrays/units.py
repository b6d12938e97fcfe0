"""Units of time: whole nanoseconds inside, microseconds in answers."""

from __future__ import annotations

from tb_hookview.arrays.types import Int


def microseconds(nanoseconds: Int) -> list[float]:
    """Nanoseconds as microseconds."""
    times: list[float] = (nanoseconds / 1000).tolist()
    return times
