"""Lines and tables in order, whatever form they are written in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

Cell = str | tuple[str, ...]
"""A cell's text, or its lines."""
Row = tuple[Cell, ...]


class Lines(Struct, frozen=True):
    """Lines of text, which may hold names of a trace."""

    texts: Sequence[str]
    title: str = ""
    """Heading where the form has headings for lines."""
    bold: int | None = None
    """Which of them matters most."""
    tone: Literal["plain", "dim", "warning"] = "plain"


class Table(Struct, frozen=True):
    """A table of text and numbers."""

    title: str
    """Empty where the name of the first column says what it lists."""
    columns: tuple[str, ...]
    rows: Sequence[Row]
    names: int = 1
    """Columns that hold text, which may be of a trace: the first ones; the rest are numbers."""
    hidden: str = ""
    """What is left out, and what holds of several rows; empty for neither."""
    highlighted: frozenset[int] = frozenset()
    """Rows worth a look."""
    wrapped: int = 0
    """Number of the column whose text may be broken."""
    cropped: bool = False
    """Whether names, and the last of a cell's lines, are cut at the terminal's width."""

    def cut(self, rows: int | None) -> Table:
        """The first rows alone, and how many more there are; all of them where it is None."""
        left = 0 if rows is None else len(self.rows) - rows
        if left <= 0:
            return self
        hidden = f"... and {left:,} {'row' if left == 1 else 'rows'} more"
        shown = frozenset(row for row in self.highlighted if row < len(self.rows) - left)
        return Table(
            self.title, self.columns, self.rows[:rows], self.names, hidden, shown, self.wrapped
        )


class Document(Struct, frozen=True):
    """A title and parts in order; those without content are left out."""

    title: str
    """Heading where the form has headings for a whole."""
    parts: Sequence[Lines | Table]
    listed: Table | None = None
    """Of the parts the one that is read page by page where answers are bounded."""

    def filled(self) -> list[Lines | Table]:
        """The parts that have content."""
        return [part for part in self.parts if _content(part)]


def _content(part: Lines | Table) -> bool:
    return bool(part.texts) if isinstance(part, Lines) else bool(part.rows or part.hidden)
