"""Values of a column as arrays, and tables made of them: no object per row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tb_hookview.arrays.joins import unique_inverse
from tb_hookview.arrays.types import Bool, Int, Nanoseconds
from tb_hookview.tables.model.columns import columns_of


class Numbers(NamedTuple):
    """Numbers or truth values, shape (n,)."""

    values: NDArray[Any]
    known: Bool | None = None
    """True where the trace holds one; None: everywhere."""

    def tolist(self) -> list[Any]:
        """As Python's values, None where the trace holds none."""
        values: list[Any] = self.values.tolist()
        if self.known is None:
            return values
        return [v if known else None for v, known in zip(values, self.known.tolist(), strict=True)]


class Texts(NamedTuple):
    """Texts by their index in a list, shape (n,); -1 for none."""

    texts: Sequence[str | None]
    codes: Int

    def tolist(self) -> list[str | None]:
        """As Python's values, None where the trace holds none."""
        texts = self.texts
        return [texts[code] if code >= 0 else None for code in self.codes.tolist()]

    def compact(self) -> tuple[list[str], Int]:
        """The distinct texts used, and each row's index in them, -1 for none."""
        used, inverse = unique_inverse(self.codes)
        texts = [self.texts[code] if code >= 0 else None for code in used.tolist()]
        there = np.array([text is not None for text in texts], bool)
        place = np.where(there, np.cumsum(there) - 1, -1)
        return [text for text in texts if text is not None], place[inverse]


Values = list[Any] | Numbers | Texts


class Arrays(NamedTuple):
    """A table of computed columns."""

    places: Int
    """Entries of the analysis that are its rows, shape (n,)."""
    columns: Mapping[str, Callable[[Int], Values]]
    """Values of some entries."""

    def __len__(self) -> int:
        return len(self.places)

    def take(self, names: Sequence[str], rows: Sequence[int] | Int) -> dict[str, Values]:
        """Some columns of some rows."""
        asked = (
            np.arange(rows.start, rows.stop, rows.step)
            if isinstance(rows, range)
            else np.asarray(rows, np.int64)
        )
        chosen = self.places[asked]
        return {name: self.columns[name](chosen) for name in names}


def listed(values: Values) -> list[Any]:
    """Values of a column as Python's."""
    return values if isinstance(values, list) else values.tolist()


def no_rows(row_type: type[msgspec.Struct]) -> Arrays:
    """An empty table of such rows."""
    names = (column.name for column in columns_of(row_type))
    return Arrays(np.zeros(0, np.int64), dict.fromkeys(names, lambda _: []))


def known(values: NDArray[Any], least: int = 0) -> Numbers:
    """Numbers of which those below `least` stand for none."""
    return Numbers(values, np.asarray(values >= least))


def microseconds(nanoseconds: Nanoseconds) -> Numbers:
    """Times in nanoseconds as microseconds."""
    return Numbers(nanoseconds / 1000)
