"""A summary as tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tb_hookview.formats import MISSING, format_number, printable
from tb_hookview.report.summary.brief import brief_lines, brief_notes, brief_tables
from tb_hookview.report.summary.whole import whole_summary
from tb_hookview.schema import module_label, severe_warnings

if TYPE_CHECKING:
    from tb_hookview.report.result import Report
    from tb_hookview.report.summary.table import Cell, SummaryTable
    from tb_hookview.schema import TraceWarning

_STYLES = {"high": "bold red", "medium": "yellow"}


def summarize(report: Report, *, rows: int) -> RenderableType:
    """Return the whole summary of a report, with at most `rows` rows a table."""
    made = whole_summary(report.data, report.counted.data, rows)
    severe = severe_warnings(report.data.trace)  # in the head
    warnings = [_warning(row) for row in report.data.trace.warnings if row not in severe]
    return Group(
        _head(made.head),
        *map(_rendered, made.first),
        Text("\n".join([*map(printable, made.details), ""])),
        *map(_rendered, made.rest),
        *warnings,
    )


def summarize_briefly(report: Report) -> RenderableType:
    """Return what decides a step, the first findings and the top classes of modules."""
    data = report.data
    tables = brief_tables(data, report.counted.data)
    printed = "\n".join(map(printable, brief_notes(data, "--verbose shows everything")))
    return Group(_head(brief_lines(data)), *map(_rendered, tables), Text(printed, style="dim"))


def module_name(path: str | None) -> str:
    """Return the name of a module in a table."""
    return MISSING if path is None else printable(module_label(path))


def table(title: str, *columns: str, text_columns: int = 1, wrapped: int = 0) -> Table:
    """Return an empty table: the first columns hold text, the rest numbers.

    Args:
        title: its title.
        columns: headings.
        text_columns: how many hold text.
        wrapped: number of the column whose text may be broken.
    """
    made = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    made.show_edge = False
    for index, name in enumerate(columns):
        made.add_column(
            name,
            justify="left" if index < text_columns else "right",
            overflow="fold",
            no_wrap=index != wrapped,
            header_style="dim",
        )
    return made


def _head(lines: Sequence[str]) -> Text:
    shown = [printable(line) for line in lines]
    text = Text("\n".join(shown) + "\n")
    verdict = len(shown[0]) + 1
    text.stylize("bold", verdict, verdict + len(shown[1]))
    return text


def _rendered(shown: SummaryTable) -> RenderableType:
    wrapped = next(
        (at for row in shown.rows for at, cell in enumerate(row) if not isinstance(cell, str)), 0
    )
    made = table(printable(shown.title), *shown.columns, text_columns=shown.names, wrapped=wrapped)
    for number, row in enumerate(shown.rows):
        style = "red" if number in shown.highlighted else ""
        made.add_row(*map(_cell, row), style=style)
    return Group(made, Text(f"{shown.hidden}\n" if shown.hidden else "", style="dim"))


def _cell(cell: Cell) -> Text:
    if isinstance(cell, str):
        return Text(printable(cell), style=_STYLES.get(cell, ""))
    first, *rest, last = map(printable, cell)
    text = Text(first, style="bold")
    for line in rest:
        text.append(f"\n{line}", style="not bold")
    text.append(f"\n{last}", style="not bold cyan")
    return text


def _warning(warning: TraceWarning) -> Text:
    times = f" ({format_number(warning.count)})" if warning.count > 1 else ""
    return Text(f"warning: {printable(warning.message)}{times}", style="yellow")
