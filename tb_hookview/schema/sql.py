"""What can be asked in SQL, and its answer."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from tb_hookview.schema.tables import TableColumn
from tb_hookview.schema.terms import Count


class SqlTable(Struct, frozen=True):
    """A table that a query can read."""

    name: str
    description: str
    columns: list[TableColumn]


class SqlTables(Struct, frozen=True):
    """The tables that a query can read."""

    missing: str | None
    """How to get what answers queries; null where it is installed."""
    tables: list[SqlTable]


class SqlColumn(Struct, frozen=True):
    """A column of an answer."""

    name: str
    type: str
    """As Arrow writes it: "string", "int64", "double", ..."""


class SqlAnswer(Struct, frozen=True):
    """The rows that answer a query."""

    columns: list[SqlColumn]
    rows: list[list[Any]]
    """One list of values for each row; a decimal number is a number here."""
    total: Count | None
    """Rows of the query; null where it has more than were counted."""
