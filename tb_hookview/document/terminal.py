"""Documents for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from tb_hookview.document.document import Cell, Document, Lines, Table
from tb_hookview.formats import printable

_STYLES = {"high": "bold red", "medium": "yellow"}
"""Of cells that say how severe something is."""
_TONES = {"plain": "", "dim": "dim", "warning": "yellow"}


def rendered(document: Document, *, wraps: bool = True) -> RenderableType:
    """Return a document as rich prints it, a blank line between its parts.

    Args:
        document: what to print.
        wraps: break lines at the width of the console; the cells of tables are fitted in any case.
    """
    parts: list[RenderableType] = []
    for part in document.filled():
        parts += [Text()] if parts else []
        parts += [_lines(part, wraps=wraps)] if isinstance(part, Lines) else _table(part)
    return Group(*parts)


def _lines(lines: Lines, *, wraps: bool) -> Text:
    shown = [Text(printable(line)) for line in lines.texts]
    if lines.bold is not None:
        shown[lines.bold].stylize("bold")
    text = Text("\n").join(shown)
    text.style = _TONES[lines.tone]
    if not wraps:
        text.no_wrap, text.overflow = True, "ignore"
    return text


def _table(table: Table) -> Iterator[RenderableType]:
    if table.title:
        yield Text(printable(table.title), "bold")
    made = RichTable(box=None, pad_edge=False, show_edge=False)
    for at, name in enumerate(table.columns):
        made.add_column(
            Text(printable(name)),
            justify="left" if at < table.names else "right",
            overflow="ellipsis" if table.cropped else "fold",
            no_wrap=at != table.wrapped,
            header_style="dim" if table.title or at else "bold",
        )
    for number, row in enumerate(table.rows):
        cells = (_cell(cell, cropped=table.cropped) for cell in row)
        made.add_row(*cells, style="red" if number in table.highlighted else "")
    yield made
    if table.hidden:
        yield Text(printable(table.hidden), "dim")


def _cell(cell: Cell, *, cropped: bool) -> RenderableType:
    if isinstance(cell, str):
        return Text(printable(cell), style=_STYLES.get(cell, ""))
    first, *rest = map(printable, cell)
    text = Text(first, style="bold")
    if not rest:
        return text
    *rest, last = rest
    for line in rest:
        text.append(f"\n{line}", style="not bold")
    end = Text(last, "cyan", no_wrap=cropped, overflow="ellipsis" if cropped else "fold")
    return Group(text, end)
