"""Documents and tables as self-contained HTML for notebooks.

Every name comes out of a trace, so all text is escaped, cut to a length, and keeps its writing
direction to itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import msgspec

from tb_hookview.document.document import Cell, Document, Lines, Table

TABLE_ROWS = 20
"""Rows of a table by itself."""
LONGEST = 120
"""Characters of a text in a table of columns."""
LONGEST_LINE = 600
"""Characters of a line of a summary."""
NOTHING = "\N{EN DASH}"

_CELL = "padding:2px 8px;text-align:{};white-space:{};font-variant-numeric:tabular-nums"


def columns_html(columns: Mapping[str, Sequence[Any]], of: str, total: int) -> str:
    """Show the first rows of a table's columns; `total` counts all rows."""
    rows = list(zip(*columns.values(), strict=True))[:TABLE_ROWS]
    left_out = total - len(rows)
    title = f"{total:,} {of}" + (f" · {left_out:,} more" if left_out else "")
    first = rows[0] if rows else [None] * len(columns)
    numbers = [_is_number(value) for value in first]
    written = [[_text(_written(value), LONGEST) for value in row] for row in rows]
    return _table(title, list(columns), written, numbers)


def document_html(document: Document) -> str:
    """Show a document: lines with the one that matters most in bold, and tables."""
    parts = (
        _lines(part) if isinstance(part, Lines) else _summary_table(part)
        for part in document.filled()
    )
    return f"<div>{''.join(parts)}</div>"


def _lines(lines: Lines) -> str:
    texts = [_text(line, LONGEST_LINE) for line in lines.texts]
    if lines.bold is not None:
        texts[lines.bold] = f"<strong>{texts[lines.bold]}</strong>"
    return f"<div>{'<br>'.join(texts)}</div>"


def _summary_table(table: Table) -> str:
    numbers = [at >= table.names for at in range(len(table.columns))]
    written = [[_cell(cell) for cell in row] for row in table.rows]
    return _table(f"{table.title} {table.hidden}".strip(), table.columns, written, numbers)


def _table(
    title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[bool]
) -> str:
    names = [_text(name, LONGEST) for name in columns]
    head = _row("th", names, numbers)
    body = "".join(_row("td", row, numbers) for row in rows)
    shown = _text(title, LONGEST_LINE)
    caption = f'<caption style="text-align:left;font-weight:bold">{shown}</caption>'
    return f"<table>{caption}<thead>{head}</thead><tbody>{body}</tbody></table>"


def _row(tag: str, cells: Sequence[str], numbers: Sequence[bool]) -> str:
    made = (
        f'<{tag} style="{_style(cell, number)}">{cell}</{tag}>'
        for cell, number in zip(cells, numbers, strict=True)
    )
    return f"<tr>{''.join(made)}</tr>"


def _style(cell: str, number: bool) -> str:
    space = "normal" if "<br>" in cell else "nowrap"
    return _CELL.format("right" if number else "left", space)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _written(value: Any) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else msgspec.json.encode(value).decode()


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return _text(cell, LONGEST)
    return "<br>".join(_text(line, LONGEST_LINE) for line in cell)


def _text(text: str, longest: int) -> str:
    cut = text if len(text) <= longest else f"{text[:longest]}… ({len(text):,} characters)"
    return f"<bdi>{escape(cut)}</bdi>"
