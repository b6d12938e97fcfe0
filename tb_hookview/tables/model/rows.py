"""Rows of a report as a source of columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from tb_hookview.tables.model.columns import Column

if TYPE_CHECKING:
    from tb_hookview.arrays.types import Int
    from tb_hookview.tables.model.values import Values

Row = TypeVar("Row", bound=msgspec.Struct)


class Rows(Generic[Row]):
    """Rows whose columns are laid out when they are asked for."""

    def __init__(self, rows: Sequence[Row], columns: Sequence[Column]) -> None:
        self.rows = rows
        self._columns = {column.name: column for column in columns}

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, names: Sequence[str], places: Sequence[int] | Int) -> dict[str, Values]:
        """Some columns of the rows at some places."""
        rows = [self.rows[place] for place in places]
        return {name: list(map(self._columns[name].value, rows)) for name in names}
