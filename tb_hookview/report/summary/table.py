"""The type of a summary's tables."""

from __future__ import annotations

from msgspec import Struct

Cell = str | tuple[str, ...]
"""A cell's text, or its lines."""
Row = tuple[Cell, ...]


class SummaryTable(Struct, frozen=True):
    """One table of a summary."""

    title: str
    columns: tuple[str, ...]
    rows: list[Row]
    names: int = 1
    """Columns that hold text, the first ones; the rest are numbers."""
    hidden: str = ""
    """What is left out, and what holds of several rows; empty for neither."""
    highlighted: frozenset[int] = frozenset()
    """Rows worth a look."""
