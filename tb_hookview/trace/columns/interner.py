"""Equal values to equal numbers."""

from __future__ import annotations

from collections import defaultdict
from itertools import count, islice
from typing import Any

import numpy as np

from tb_hookview.arrays.types import Index, Int


class Interner:
    """Gives equal values equal numbers, in order of first appearance."""

    def __init__(self) -> None:
        self._numbers: defaultdict[Any, int] = defaultdict(count().__next__)

    def column(self, values: list[Any]) -> Index:
        """Number of each value."""
        return np.fromiter(map(self._numbers.__getitem__, values), np.int32, len(values))

    def number(self, value: Any) -> int:
        """Number of one value."""
        return self._numbers[value]

    def find(self, value: Any) -> int:
        """Number of one value; -1 where it has none."""
        return self._numbers.get(value, -1)

    def values(self) -> list[Any]:
        """Every distinct value, at the place of its number."""
        return list(self._numbers)

    def since(self, number: int) -> list[tuple[int, Any]]:
        """Number and value of each, from a number on."""
        return list(enumerate(islice(self._numbers, number, None), number))

    def absorbed(self, other: Interner) -> Index:
        """Number here of each value of another one, by its number there."""
        return self.column(other.values())

    def __getstate__(self) -> list[Any]:
        return self.values()

    def __setstate__(self, values: list[Any]) -> None:
        self.__init__()  # type: ignore[misc]
        self.column(values)


def by_appearance(place: Int, size: int) -> Int:
    """The numbers below `size` in order of first occurrence in `place`.

    Each occurs.
    """
    first = np.empty(size, np.int64)
    first[place[::-1]] = np.arange(len(place))[::-1]
    return np.argsort(first)
