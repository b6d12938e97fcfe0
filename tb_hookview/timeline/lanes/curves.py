"""A number over time, thinned out to what a pixel can show.

A pixel shows the first, the least, the greatest and the last value in it.
"""

from __future__ import annotations

from threading import Lock

import numpy as np

from tb_hookview.arrays.types import Int, Nanoseconds

_WORTH = 0.75
"""Share of a level's points above which the next coarser level is not worth caching."""


class Curve:
    """Steps of a number: at each moment the value that holds until the next.

    Args:
        time: nanoseconds, ascending, shape (n,).
        value: shape (n,).
        origin: where cells are counted from.
    """

    def __init__(self, time: Nanoseconds, value: Int, origin: int) -> None:
        last = np.append(time[1:] != time[:-1], True) if len(time) else np.zeros(0, bool)
        self._levels: dict[int, tuple[Nanoseconds, Int]] = {0: (time[last], value[last])}
        self._origin = origin
        self._lock = Lock()

    @property
    def points(self) -> int:
        """Moments at which the number changes."""
        return len(self._levels[0][0])

    def within(self, start: int, end: int, resolution: int) -> tuple[Nanoseconds, Int]:
        """Moments and values that draw the curve in [start, end).

        The value that holds at the start comes first. Of the points in a cell of `resolution` (a
        power of two of nanoseconds) the first, the least, the greatest and the last remain.
        """
        level = resolution.bit_length() - 1
        with self._lock:
            time, value = self._level(level)
        low = max(int(np.searchsorted(time, start, side="right")) - 1, 0)
        high = int(np.searchsorted(time, end, side="left"))
        # The points of a level may be as fine as those of the one before.
        return _thinned(time[low:high], value[low:high], self._origin, level)

    def _level(self, level: int) -> tuple[Nanoseconds, Int]:
        for finer in range(max(known for known in self._levels if known <= level), level):
            points = self._levels[finer]
            coarse = _thinned(*points, self._origin, finer + 1)
            small = len(coarse[0]) <= _WORTH * len(points[0])
            self._levels[finer + 1] = coarse if small else points
        return self._levels[level]


def _thinned(time: Nanoseconds, value: Int, origin: int, level: int) -> tuple[Nanoseconds, Int]:
    """First, least, greatest and last point of each cell of 2**level nanoseconds."""
    if not len(time):
        return time, value
    cell = (time - origin) >> level
    opens = np.concatenate([[True], cell[1:] != cell[:-1]])
    first = np.flatnonzero(opens)
    group = np.cumsum(opens) - 1
    chosen = opens | np.append(opens[1:], True)
    for extreme in (np.minimum.reduceat(value, first), np.maximum.reduceat(value, first)):
        reaches = np.flatnonzero(value == extreme[group])
        chosen[reaches[np.unique(group[reaches], return_index=True)[1]]] = True
    return time[chosen], value[chosen]
