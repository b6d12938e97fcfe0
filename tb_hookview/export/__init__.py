"""A trace and its report as files for other tools: Perfetto, Parquet, CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from tb_hookview.analysis.selection import Selection, select
from tb_hookview.errors import UsageError
from tb_hookview.export import csv_files, parquet_files
from tb_hookview.export.counting import Counter
from tb_hookview.export.destination import check, new_file, new_folder
from tb_hookview.export.event_rows import event_rows
from tb_hookview.export.tables import Batch, Table, events_table, report_tables
from tb_hookview.loading import load
from tb_hookview.loading.choose import choose_trace
from tb_hookview.progress import Progress, silent
from tb_hookview.report.build import build_report
from tb_hookview.report.result import Report

FORMATS = ("perfetto", "parquet", "csv")
_SUFFIXES = {
    ".pftrace": "perfetto",
    ".perfetto-trace": "perfetto",
    ".parquet": "parquet",
    ".csv": "csv",
}

__all__ = ["FORMATS", "export", "format_of"]


class _TableWriter(Protocol):
    def __enter__(self) -> _TableWriter: ...
    def __exit__(self, *_: object) -> None: ...
    def write(self, batch: Batch) -> None: ...


def format_of(out: Path) -> str:
    """The format that the end of a name asks for.

    Raises:
        UsageError: it asks for none.
    """
    try:
        return _SUFFIXES[out.suffix.lower()]
    except KeyError:
        known = ", ".join(FORMATS)
        raise UsageError(f"{out}: no format in its name; add --format ({known})") from None


def export(
    path: str | Path,
    out: Path,
    *,
    form: str | None = None,
    worker: str | None = None,
    steps: Sequence[str] | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write a trace with its attribution for another tool.

    Args:
        path: a trace file, or a folder of them, as `analyze` takes it.
        out: the Perfetto trace, or the folder of tables, to make.
        form: one of `FORMATS`; by default what the name of `out` ends in.
        worker: as for `analyze`.
        steps: as for `analyze`; rows of other steps are left out.
        force: replace what is there.
        progress: called with the stage of the work and the fraction of it done.

    Returns:
        The trace that was read.

    Raises:
        TraceError: the trace cannot be read.
        NotFoundError: no such worker or step.
        UsageError: no such format, `out` is there already or cannot be written, or a package that
            the format needs is not installed.
    """
    if not str(path):
        raise UsageError("the path is empty; name a trace file, or a folder of them")
    wanted = form or format_of(out)
    if wanted not in FORMATS:
        raise UsageError(f"no format {wanted!r}; there are {', '.join(FORMATS)}")
    if wanted == "parquet":
        parquet_files.require_pyarrow()
    check(out, folder=wanted != "perfetto", force=force)
    chosen = choose_trace(Path(path), worker)
    if out.exists() and chosen.path.exists() and out.samefile(chosen.path):
        raise UsageError(f"{out}: is the trace itself; name another file")
    say = progress or silent
    analysis = load(chosen.path, say)
    report = build_report(analysis, steps).with_warnings(chosen.warnings)
    selection = select(analysis, steps)
    if wanted == "perfetto":
        from tb_hookview.export.trace_file import write_perfetto

        with new_file(out) as partial:
            write_perfetto(partial, selection, report, say)
    else:
        with new_folder(out) as partial:
            _write_tables(partial, wanted, selection, report, say)
    return chosen.path


def _write_tables(
    folder: Path, wanted: str, selection: Selection, report: Report, progress: Progress
) -> None:
    (folder / "report.json").write_bytes(report.to_bytes())
    suffix, writer = _WRITERS[wanted]
    tables = [
        *report_tables(report),
        events_table(selection.analysis, event_rows(selection)),
    ]
    counter = Counter("writing", sum(table.rows for table in tables), progress)
    for table in tables:
        with writer(folder / f"{table.name}{suffix}", table) as file:
            for batch in table.batches():
                file.write(batch)
                counter.add(len(next(iter(batch.values()))))


_WRITERS: dict[str, tuple[str, Callable[[Path, Table], _TableWriter]]] = {
    "parquet": (parquet_files.SUFFIX, parquet_files.ParquetWriter),
    "csv": (csv_files.SUFFIX, csv_files.CsvWriter),
}
