"""From the address of a run to its answer, on any executor; queries of its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, as_completed
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tb_hookview.addresses.text import shown
from tb_hookview.cache import opened, source_of
from tb_hookview.errors import HookviewError, TraceError, UsageError
from tb_hookview.formats import format_count
from tb_hookview.loading import CachedReader, open_trace
from tb_hookview.progress import Progress, silent
from tb_hookview.ranks.answer import answer
from tb_hookview.ranks.executors import executor_of
from tb_hookview.ranks.map import summary as stored
from tb_hookview.ranks.map.summary import (
    NEEDED,
    Mapped,
    RankSummary,
    RankTimes,
    Spool,
    packed,
    summarize,
)
from tb_hookview.ranks.matching import match
from tb_hookview.ranks.result import TABLES, RunReport
from tb_hookview.report.result import Report
from tb_hookview.rules.diagnosis import find_all
from tb_hookview.schema.findings import Finding
from tb_hookview.sql import Each, Limits, Result, Source, run, sources_of_several
from tb_hookview.tables.catalogue import CATALOGUE, empty_table
from tb_hookview.tables.outlets import arrow
from tb_hookview.tables.table import Table
from tb_hookview.trace import TraceEntry, TraceFile, find_runs

# The traces of a run: one for each rank, the newest.


class RunFiles(NamedTuple):
    """Traces of one run in natural order of their workers' names, and what was left out."""

    workers: tuple[str, ...]
    traces: tuple[TraceEntry, ...]
    warnings: tuple[str, ...]


def run_files(path: str | Path) -> RunFiles:
    """Choose the traces of a run: those of the newest run in a folder, the newest of each worker.

    Raises:
        TraceError: nothing there, or a folder without traces.
    """
    runs = find_runs(path)
    if not runs:
        raise TraceError(shown(path), "no traces in this folder", "name the folder of a run")
    run = max(runs, key=lambda run: max(worker.traces[0].modified for worker in run.workers))
    warnings = []
    if len(runs) > 1:
        warnings.append(f"{len(runs) - 1} other runs in {shown(path)}, not read; name one of them")
    older = sum(len(worker.traces) - 1 for worker in run.workers)
    if older:
        warnings.append(f"{older} older traces of the same workers, not read")
    names = tuple(worker.name for worker in run.workers)
    traces = tuple(worker.traces[0] for worker in run.workers)
    return RunFiles(names, traces, tuple(warnings))


# Which of the traces in a folder are one run, where they are of several.


_NAMED = 5
"""Traces that a warning names."""


class Choice(NamedTuple):
    """One trace for each rank, in their order, and what was left out: a line for each reason."""

    files: list[TraceFile]
    warnings: list[str]


def choose(found: Mapping[TraceFile, RankSummary], modified: Mapping[TraceFile, float]) -> Choice:
    """Choose the newest trace of each rank, of one world size and one recording.

    Args:
        found: summaries of the traces.
        modified: when each was written, seconds.
    """
    by_age = sorted(found, key=lambda file: modified[file])
    size = _world_size([found[file] for file in by_age])
    fitting = {file for file in by_age if found[file].world_size in (None, size)}
    newest = _newest_choice(found, [file for file in by_age if file in fitting])
    before = [file for file in by_age if file in fitting and file not in newest]
    earlier = _earlier(found, newest, before)
    by_rank = {f: (s.rank is None, s.rank or 0, s.path) for f, s in found.items()}
    chosen = sorted(newest - set(earlier), key=by_rank.__getitem__)
    other = [file for file in by_age if file not in fitting]
    warnings = []
    if other:
        warnings.append(f"of another world size than {size}, {_not_used(other)}")
    if before:
        warnings.append(f"of earlier recordings, {_not_used([*before, *earlier])}")
    return Choice(chosen, warnings)


def _world_size(by_age: Sequence[RankSummary]) -> int | None:
    """The newest trace's among the sizes of which most ranks are there, if there are any."""
    ranks: dict[int, set[int | None]] = {}
    for summary in by_age:
        if summary.world_size is not None:
            known = ranks.pop(summary.world_size, set())
            known.add(summary.rank)
            ranks[summary.world_size] = known  # the newest last
    sizes = list(ranks)
    return max(sizes, key=lambda s: (2 * len(ranks[s]) > s, sizes.index(s)), default=None)


def _newest_choice(
    found: Mapping[TraceFile, RankSummary], by_age: Sequence[TraceFile]
) -> set[TraceFile]:
    """The newest trace of each rank; all of those that do not name theirs."""
    ranks: dict[object, TraceFile] = {}
    for file in by_age:
        rank = found[file].rank
        ranks[file if rank is None else rank] = file
    return set(ranks.values())


def _earlier(
    found: Mapping[TraceFile, RankSummary], newest: Set[TraceFile], before: Sequence[TraceFile]
) -> list[TraceFile]:
    """A rank's only trace that ran while older ones of others did, and with none of the newest.

    Clocks of machines may be hours apart: that alone parts nothing.
    """
    recorded_again = {found[file].rank for file in before}
    once = [file for file in newest if found[file].rank not in recorded_again] if before else []
    return [
        file
        for file in once
        if not any(_overlap(found[file], found[other]) for other in newest if other != file)
        and any(_overlap(found[file], found[other]) for other in before)
    ]


def _overlap(one: RankSummary, other: RankSummary) -> bool:
    """Whether two recordings ran at the same time, by their own clocks."""
    return one.start < _end(other) and other.start < _end(one)


def _end(summary: RankSummary) -> int:
    return int(summary.edges[-1]) if len(summary.edges) else summary.start


def _not_used(files: Sequence[TraceFile]) -> str:
    names = ", ".join(file.name for file in files[:_NAMED])
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return f"{format_count(len(files), 'trace')} not used: {names}{more}"


def analyze_run(
    path: str | Path, executor: Executor | str | None = None, *, progress: Progress | None = None
) -> RunReport:
    """Read the traces of all ranks of a run, and say who was late, and why.

    Args:
        path: a folder with one trace of each rank, or its address (`s3://...`).
        executor: where the traces are read: any of `concurrent.futures`, or the name of one
            (`processes:N`, `dask`, `dask:ADDRESS`, `mpi`); processes of this machine by default.
        progress: called with the stage of the work and the fraction of it done.

    Raises:
        TraceError: nothing there, or none of the traces can be read.
        UsageError: an empty path; an executor that cannot be reached, or was lost.
    """
    if not str(path):
        raise UsageError("the path is empty; name the folder of a run")
    return analyze_traces(shown(path), run_files(path), executor, progress=progress)


def analyze_traces(
    name: str,
    files: RunFiles,
    executor: Executor | str | None = None,
    *,
    progress: Progress | None = None,
) -> RunReport:
    """Do the same with the traces of a run that were found already.

    Args:
        name: of the run, in its answer and in errors.
        files: one trace of each rank.
        executor, progress: as of `analyze_run`.

    Raises:
        TraceError, UsageError: as `analyze_run`.
    """
    modified = {trace.file: trace.modified for trace in files.traces}
    with Spool() as spool:
        found, failed = _summaries(list(modified), spool, executor, progress or silent)
        unreadable = {file.address: reason for file, reason in failed.items()}
        if not found:
            first, reason = next(iter(unreadable.items()))
            raise TraceError(
                name, f"none of {len(unreadable)} traces can be read, as {first}: {reason}"
            )
        chosen, left_out = choose({f: read.summary for f, read in found.items()}, modified)
        summaries = [found[file].summary for file in chosen]
        matched = match(summaries)

        @cache
        def findings_of(place: int) -> list[Finding]:
            return [each.finding for each in find_all(open_trace(chosen[place]).steps())]

        def times_of(place: int) -> RankTimes:
            return spool.times(found[chosen[place]].times)

        run = answer(name, summaries, matched, times_of, unreadable, findings_of)
    said = [*files.warnings, *left_out, *run.warnings]
    return RunReport(msgspec.structs.replace(run, warnings=said), matched.members)


class _Read(NamedTuple):
    """A summary, and the number of its times in the spool."""

    summary: RankSummary
    times: int


def map_file(file: TraceFile) -> tuple[RankSummary, bytes] | str:
    """Summarize a trace, its times packed; a text says why it cannot be read."""
    mapped = summarize_file(file)
    return mapped if isinstance(mapped, str) else (mapped.summary, packed(mapped.times))


def summarize_file(file: TraceFile) -> Mapped | str:
    """Summarize a trace; a text says why it cannot be read."""
    try:
        source = source_of(file, opened())
        if source and (cached := stored.load(source, file.address)):
            return cached
        summary = summarize(CachedReader.from_environment().analysis(file, wanted=NEEDED))
        if source:
            with suppress(OSError):  # a full disk is no reason to fail
                stored.store(source, summary)
        return summary
    except HookviewError as error:
        return str(error).removeprefix(f"{file.address}: ")


def _summaries(
    files: Sequence[TraceFile], spool: Spool, executor: Executor | str | None, say: Progress
) -> tuple[dict[TraceFile, _Read], dict[TraceFile, str]]:
    """Summaries by file in the order of the files, and why others have none."""
    say("ranks", 0.0)
    results: dict[TraceFile, _Read | str] = {}
    with executor_of(executor, files) as chosen:
        futures = {chosen.submit(map_file, file): file for file in files}
        for future in as_completed(futures):
            done = f"{len(results)} of {len(files)} traces"
            got = _result(future, done)
            if isinstance(got, Exception):
                got = _result(chosen.submit(map_file, futures[future]), done)
            if isinstance(got, Exception):
                got = f"{type(got).__name__}: {got}"
            read = got if isinstance(got, str) else _Read(got[0], spool.put(got[1]))
            results[futures.pop(future)] = read
            say("ranks", len(results) / len(files))
    in_order = {file: results[file] for file in files}
    found = {f: r for f, r in in_order.items() if isinstance(r, _Read)}
    return found, {f: r for f, r in in_order.items() if isinstance(r, str)}


def _result(
    future: Future[tuple[RankSummary, bytes] | str], done: str
) -> tuple[RankSummary, bytes] | str | Exception:
    """A summary and packed times, why there is none, or an executor's own failure.

    Raises:
        UsageError: the executor is gone.
    """
    try:
        return future.result()
    except (BrokenExecutor, CancelledError) as error:
        reason = str(error) or type(error).__name__
        raise UsageError(f"the executor was lost after {done}: {reason}") from error
    except Exception as error:  # noqa: BLE001  # such as Dask's, when a result's worker dies
        return error


# SQL over all traces of a run, and over what the run says as a whole.


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
