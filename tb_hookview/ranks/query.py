"""SQL over all traces of a run, and over what the run says as a whole."""

from __future__ import annotations

from functools import cache
from typing import Any

from tb_hookview.loading.loader import Loader
from tb_hookview.ranks.files import run_files
from tb_hookview.ranks.result import TABLES
from tb_hookview.ranks.run import analyze_run
from tb_hookview.report.result import Report
from tb_hookview.sql import Limits, Result, Source, run, sources_of_several
from tb_hookview.tables.catalogue import CATALOGUE, empty_table
from tb_hookview.tables.outlets import arrow
from tb_hookview.tables.table import Table


def query_run(path: str, query: str, limits: Limits | None = None) -> Result:
    """Answer a query on the run in a folder.

    Its tables are those of a trace, of all traces one below the other with a column `worker`, and
    those of `RunReport`. Traces are read once the query reads a table of theirs.

    Raises:
        TraceError: nothing there, or a trace that is needed cannot be read.
        UsageError: as `sql.run`.
    """
    files = run_files(path)
    traces = dict(zip(files.workers, files.traces, strict=True))

    @cache
    def report(worker: str) -> Report:
        return Loader.from_environment().report(traces[worker].file)

    def each(name: str) -> dict[str, Table[Any]]:
        return {worker: report(worker).table(name) for worker in traces}

    tables = {name: empty_table(name) for name in CATALOGUE}
    return run(query, {**_of_run(path), **sources_of_several(tables, each)}, limits)


def _of_run(path: str) -> dict[str, Source]:
    made = cache(lambda: analyze_run(path))

    def source(name: str) -> Source:
        row_type = TABLES[name]
        columns = Table(row_type, ()).columns
        return Source(lambda: arrow.schema(columns, {}), lambda: made().tables()[name].to_arrow())

    return {name: source(name) for name in TABLES}
