"""From the address of a run to its answer, on any executor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, as_completed
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from tb_hookview.addresses.text import shown
from tb_hookview.cache import opened, source_of
from tb_hookview.errors import HookviewError, TraceError, UsageError
from tb_hookview.loading import CachedReader, open_trace
from tb_hookview.progress import Progress, silent
from tb_hookview.ranks.answer import answer
from tb_hookview.ranks.choice import choose
from tb_hookview.ranks.executors import executor_of
from tb_hookview.ranks.files import RunFiles, run_files
from tb_hookview.ranks.map import spool as stored
from tb_hookview.ranks.map.spool import Spool, packed
from tb_hookview.ranks.map.summary import NEEDED, Mapped, RankSummary, summarize
from tb_hookview.ranks.matching import match
from tb_hookview.ranks.result import RunReport
from tb_hookview.rules.catalogue import RULES
from tb_hookview.schema.findings import Family, Finding
from tb_hookview.schema.ranks import StragglerReason
from tb_hookview.schema.terms import module_label
from tb_hookview.trace import TraceFile

_FAMILIES: Mapping[str, Family] = {
    "data": "data-loading",
    "optimizer": "optimizer",
    "sync": "sync",
    "host": "host",
}
"""Rules about what a rank is late for, where that is no module."""


def analyze_run(
    path: str | Path,
    executor: Executor | str | None = None,
    *,
    progress: Progress | None = None,
) -> RunReport:
    """Read the traces of all ranks of a run, and say who was late, and why.

    Args:
        path: a folder with one trace of each rank, or its address (`s3://...`).
        executor: where the traces are read: any of `concurrent.futures`, or the name of one
            (`processes:N`, `dask`, `dask:ADDRESS`, `mpi`); processes of this machine by default.
        progress: called with the stage of the work and the fraction of it done.

    Raises:
        TraceError: nothing there, or none of the traces can be read.
        UsageError: an empty path; an executor that cannot be reached, or is gone.
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
        return _analyzed(name, files.warnings, modified, spool, executor, progress or silent)


def _analyzed(
    name: str,
    warnings: Sequence[str],
    modified: Mapping[TraceFile, float],
    spool: Spool,
    executor: Executor | str | None,
    say: Progress,
) -> RunReport:
    found, failed = _summaries(list(modified), spool, executor, say)
    unreadable = {file.address: reason for file, reason in failed.items()}
    if not found:
        first, reason = next(iter(unreadable.items()))
        raise TraceError(
            name, f"none of {len(unreadable)} traces can be read, as {first}: {reason}"
        )
    chosen, left_out = choose({f: read.summary for f, read in found.items()}, modified)
    summaries = [found[file].summary for file in chosen]
    matched = match(summaries)
    run = answer(
        name,
        summaries,
        matched,
        lambda place: spool.times(found[chosen[place]].times),
        unreadable,
        partial(_finding, {file.address: file for file in chosen}),
    )
    said = [*warnings, *left_out, *run.warnings]
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
        raise UsageError(f"the executor is gone after {done}: {reason}") from error
    except Exception as error:  # noqa: BLE001  # such as Dask's, when a result's worker dies
        return error


def _finding(
    files: Mapping[str, TraceFile], rank: RankSummary, reason: StragglerReason
) -> str | None:
    """Rule of the most expensive finding of a rank about what it is late for; None without one."""
    report = open_trace(files[rank.path]).report()
    family = {rule.id for rule in RULES if rule.family == _FAMILIES.get(reason.reason)}
    module = reason.module
    about = (
        finding.rule
        for finding in report.data.findings
        if (finding.rule in family if module is None else _is_of(finding, module))
    )
    return next(about, None)


def _is_of(finding: Finding, module: str) -> bool:
    """Whether a finding is about a module: its device work, or what its code does on the host."""
    inside = f"{finding.where},".startswith(f"{module_label(module)},")
    return finding.module == module or (finding.rule == "host-work" and inside)
