"""Rows that answer a query in SQL, and the runs of a folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tb_hookview.document.markdown import Page, name, paged, quoted, table
from tb_hookview.formats import MISSING, format_bytes


def rows(trace: str, columns: Sequence[str], values: Sequence[Sequence[object]], page: Page) -> str:
    """The rows of an answer.

    Args:
        trace: path of the trace or run that was asked.
        columns: their names.
        values: their values.
        page: which of them.
    """
    head, lines = table([quoted(column) for column in columns], map(_cells, values))
    return paged(["# Answer to a query", "", f"Asked: {name(trace)}."], head, lines, page)


def _cells(row: Sequence[object]) -> list[str]:
    return [_cell(value) for value in row]


def _cell(value: object) -> str:
    if value is None:
        return MISSING
    if isinstance(value, bool | int):
        return str(value)
    return f"{value:.10g}" if isinstance(value, float) else quoted(str(value))


class TracePath(NamedTuple):
    """A trace of a folder."""

    path: str
    """Relative to the folder."""
    run: str
    worker: str
    size: int
    """Bytes."""


def runs(found: Sequence[TracePath], contains: str, page: Page) -> str:
    """The traces of a folder by run and worker, of each worker the newest first.

    Args:
        found: the traces.
        contains: text that the name of run, worker or file has, in any case.
        page: which traces.
    """
    traces = [
        trace
        for trace in found
        if contains.casefold() in f"{trace.run} {trace.worker} {trace.path}".casefold()
    ]
    cells = (
        (quoted(trace.path, 400), quoted(trace.run), quoted(trace.worker), format_bytes(trace.size))
        for trace in traces
    )
    number = len({trace.run for trace in traces})
    lines = ["# Runs", "", f"{number:,} runs. `path` is a trace's, or the folder of a run."]
    return paged(lines, *table(("path", "run", "worker", "size"), cells), page)
