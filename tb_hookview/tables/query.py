"""Query the rows of a table: filtered, sorted, cut to a page."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from tb_hookview.arrays.types import Bool, Int
from tb_hookview.errors import UsageError
from tb_hookview.tables.model.columns import Column, Texts, Values
from tb_hookview.tables.table import Table

OPERATORS = ("eq", "ne", "ge", "le", "contains")
DEFAULT, MOST = 1000, 10_000
"""Rows of a page."""
_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "ge": operator.ge,
    "le": operator.le,
}


class Question(NamedTuple):
    """A query of a table; errors name these as parameters."""

    sort: Sequence[str] = ()
    """Columns, the most important first; `-` before one for descending. None comes last."""
    filter: Sequence[str] = ()
    """`column:op:value`; all must hold. No value at all fits `ne` alone."""
    offset: int = 0
    limit: int = DEFAULT
    columns: Sequence[str] = ()
    """All of them if empty."""


class Page(NamedTuple):
    """An answer."""

    columns: tuple[Column, ...]
    rows: Int
    """Places in the table."""
    total: int
    """Rows that the filters leave."""


def ask(table: Table[Any], question: Question) -> Page:
    """Find the rows asked for.

    Raises:
        UsageError: a parameter names no column, no operator, or a value of another type.
    """
    known = {column.name: column for column in table.columns}
    chosen = [_column(known, name, "columns") for name in question.columns or known]
    rows = np.arange(len(table))
    for text in question.filter:
        column, test = _parsed(known, text)
        rows = rows[test(table.take([column.name], rows)[column.name])]
    for name in reversed(question.sort):
        column = _column(known, name.removeprefix("-"), "sort")
        if column.type_name == "json":
            raise UsageError(f"sort={name}: lists have no order; name another column")
        values = table.take([column.name], rows)[column.name]
        rows = rows[_order(values, descending=name.startswith("-"))]
    page = rows[question.offset : question.offset + question.limit]
    return Page(tuple(dict.fromkeys(chosen)), page, len(rows))


def _column(known: Mapping[str, Column], name: str, parameter: str) -> Column:
    if name not in known:
        raise UsageError(f"{parameter}: no column {name[:100]!r}; there are {', '.join(known)}")
    return known[name]


def _parsed(known: Mapping[str, Column], text: str) -> tuple[Column, Callable[[Values], Bool]]:
    """The column of a filter, and which of its values fit."""
    name, _, rest = text.partition(":")
    op, separator, value = rest.partition(":")
    if not separator or op not in OPERATORS:
        raise UsageError(f"filter={text[:100]}: not column:op:value, op {', '.join(OPERATORS)}")
    column = _column(known, name, "filter")
    if op == "contains":
        if column.type is not str:
            raise UsageError(f"filter={text[:100]}: {name} holds no text")
        wanted = value.lower()
        return column, lambda values: _where(values, lambda text: wanted in text.lower(), False)
    if column.type_name == "json":
        raise UsageError(f"filter={text[:100]}: {name} holds lists")
    constant, compare = _constant(column, value, text), _COMPARE[op]
    return column, lambda values: _where(values, lambda each: compare(each, constant), op == "ne")


def _constant(column: Column, value: str, text: str) -> Any:
    try:
        return value if column.type is str else msgspec.convert(value, column.type, strict=False)
    except msgspec.ValidationError:
        raise UsageError(f"filter={text[:100]}: {column.name} is {column.type_name}") from None


def _where(values: Values, test: Callable[[Any], Any], without: bool) -> Bool:
    """Whether each value passes a test; `without` holds for missing ones."""
    if isinstance(values, list):
        return np.array([without if v is None else bool(test(v)) for v in values], bool)
    if isinstance(values, Texts):
        texts, codes = values.compact()
        # The last is for -1, which stands for none.
        return np.array([*map(test, texts), without], bool)[codes]
    passed = np.asarray(test(values.values), bool)
    return passed if values.known is None else np.where(values.known, passed, without)


def _order(values: Values, *, descending: bool) -> Int:
    """Places of values in order: stable, with missing ones last."""
    rank, missing = _ranked(values)
    return np.lexsort((-rank if descending else rank, missing))


def _ranked(values: Values) -> tuple[Any, Bool]:
    """A number for each value, ascending as the values do; and where there is none."""
    if isinstance(values, Texts):
        texts, codes = values.compact()
        place = np.empty(len(texts) + 1, np.int64)
        place[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
        place[-1] = 0
        return place[codes], codes < 0
    if isinstance(values, list):
        missing = np.array([value is None for value in values], bool)
        number = {v: n for n, v in enumerate(sorted({v for v in values if v is not None}))}
        return np.array([number.get(value, 0) for value in values], np.int64), missing
    numbers = values.values.astype(np.int64) if values.values.dtype == bool else values.values
    missing = np.zeros(len(numbers), bool) if values.known is None else ~values.known
    return np.where(missing, 0, numbers), missing
