"""SQL over all traces of a run, and over what the run says as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from tb_hookview.loading import open_trace
from tb_hookview.ranks.files import run_files
from tb_hookview.ranks.result import TABLES, RunReport
from tb_hookview.ranks.run import analyze_run
from tb_hookview.report.result import Report
from tb_hookview.sql import Each, Limits, Result, Source, run, sources_of_several
from tb_hookview.tables.catalogue import CATALOGUE, empty_table
from tb_hookview.tables.outlets import arrow
from tb_hookview.tables.table import Table


def query_run(path: str, query: str, limits: Limits | None = None) -> Result:
    """Answer a query on the run in a folder.

    Its tables are those of `run_sources`. Traces are read once the query reads a table of theirs.

    Raises:
        TraceError: nothing there, or a trace that is needed cannot be read.
        UsageError: as `sql.run`.
    """
    files = run_files(path)
    traces = dict(zip(files.workers, files.traces, strict=True))

    @cache
    def report(worker: str) -> Report:
        return open_trace(traces[worker].file).report()

    def each(name: str) -> Iterator[tuple[str, Table[Any]]]:
        return ((worker, report(worker).table(name)) for worker in traces)

    return run(query, run_sources(lambda: analyze_run(path), each), limits)


def run_sources(
    report: Callable[[], RunReport], each: Each, megabytes: int | None = None
) -> dict[str, Source]:
    """Tables of a run for SQL.

    They are those of `RunReport`, and those of a trace, of all traces one below the other with a
    column `worker`.

    Args:
        report: what the run says as a whole.
        each: a table of every trace.
        megabytes: the most that the rows of one table of all traces may take; None for any.
    """
    tables = {name: empty_table(name) for name in CATALOGUE}
    return {**_of_run(report), **sources_of_several(tables, each, megabytes)}


def _of_run(report: Callable[[], RunReport]) -> dict[str, Source]:
    made = cache(report)

    def source(name: str) -> Source:
        columns = Table(TABLES[name], ()).columns
        return Source(lambda: arrow.schema(columns, {}), lambda: made().tables()[name].to_arrow())

    return {name: source(name) for name in TABLES}
