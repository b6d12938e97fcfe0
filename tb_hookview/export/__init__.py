"""A trace and its report as files for other tools: Perfetto, Parquet, CSV, JSON, Arrow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tb_hookview.errors import UsageError
from tb_hookview.export.destination import Counter, check, new_file, new_folder, write_perfetto
from tb_hookview.loading import open_trace
from tb_hookview.loading.choose import choose_trace
from tb_hookview.progress import Progress, silent
from tb_hookview.report.result import Report
from tb_hookview.tables.catalogue import CATALOGUE, entry
from tb_hookview.tables.outlets.arrow import require
from tb_hookview.tables.outlets.files import FORMS
from tb_hookview.trace import LocalFile

PERFETTO = "perfetto"
FORMATS = (PERFETTO, *FORMS)
_SUFFIXES = {
    ".pftrace": PERFETTO,
    ".perfetto-trace": PERFETTO,
    **{f".{form}": form for form in FORMS},
}
_WITH_PYARROW = ("parquet", "arrow")

__all__ = ["FORMATS", "export", "format_of"]


def format_of(out: Path) -> str:
    """The format of a file name's suffix.

    Raises:
        UsageError: it names none.
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
    tables: Sequence[str] | None = None,
    worker: str | None = None,
    steps: Sequence[str] | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> str:
    """Write a trace with its attribution for another tool.

    Args:
        path: a trace file, or a folder of them, as `analyze` takes it.
        out: what to make: a Perfetto trace, one table's file, or a folder of tables.
        form: one of `FORMATS`; by default what the name of `out` ends in, for one file.
        tables: names of tables; one makes `out` a file, several or none (all) make it a folder.
        worker: as for `analyze`.
        steps: as for `analyze`; rows of other steps are left out.
        force: replace what is there.
        progress: called with the stage and the fraction of it done.

    Returns:
        Path or address of the trace that was read.

    Raises:
        TraceError: the trace cannot be read.
        NotFoundError: no such worker or step.
        UsageError: no such format, several tables for one file, `out` is there already or cannot be
            written, or a package that the format needs is not installed.
    """
    if not str(path):
        raise UsageError("the path is empty; name a trace file, or a folder of them")
    wanted, names = form or format_of(out), list(dict.fromkeys(tables or ()))
    _check_wanted(wanted, names)
    one_file = wanted == PERFETTO or len(names) == 1
    if form is None and not one_file:
        raise UsageError(
            f"{out}: names the file of one table; add --table NAME, or make a folder of tables with"
            f" -o FOLDER --format {wanted}"
        )
    check(out, folder=not one_file, force=force)
    chosen = choose_trace(path, worker)
    if isinstance(chosen.file, LocalFile) and _is_same(out, chosen.file.path):
        raise UsageError(f"{out}: is the trace itself; name another file")
    say = progress or silent
    opened = open_trace(chosen.file, say)
    report = opened.report(steps).with_warnings(chosen.warnings)
    if wanted == PERFETTO:
        with new_file(out) as partial:
            write_perfetto(partial, opened, steps, say)
    elif one_file:
        with new_file(out) as partial:
            _write_tables({names[0]: partial}, wanted, report, say)
    else:
        with new_folder(out) as partial:
            (partial / "report.json").write_bytes(report.to_bytes())
            files = {name: partial / f"{name}.{wanted}" for name in names or CATALOGUE}
            _write_tables(files, wanted, report, say)
    return chosen.file.address


def _is_same(out: Path, path: Path) -> bool:
    return out.exists() and path.exists() and out.samefile(path)


def _check_wanted(form: str, names: Sequence[str]) -> None:
    """Reject what cannot be made."""
    if form not in FORMATS:
        raise UsageError(f"no format {form!r}; there are {', '.join(FORMATS)}")
    if form == PERFETTO and names:
        raise UsageError("a Perfetto trace holds no tables; leave --table out")
    for name in names:
        entry(name)
    if form in _WITH_PYARROW:
        require()


def _write_tables(files: Mapping[str, Path], form: str, report: Report, progress: Progress) -> None:
    found = report.tables()
    counter = Counter("writing", sum(len(found[name]) for name in files), progress)
    for name, path in files.items():
        found[name].write(path, form, counter.add)
