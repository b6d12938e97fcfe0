"""The choice of one trace in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from tb_hookview.addresses.text import is_address, shown
from tb_hookview.errors import NotFoundError, TraceError
from tb_hookview.schema import TraceWarning
from tb_hookview.trace import Worker, find_runs
from tb_hookview.trace.source.file import TraceFile, trace_file
from tb_hookview.trace.source.perfetto import SUFFIX, perfetto_error


class Choice(Struct, frozen=True):
    """The trace to read, and what to say about those next to it."""

    file: TraceFile
    warnings: tuple[TraceWarning, ...] = ()


def choose_trace(path: str | Path, worker: str | None = None) -> Choice:
    """Choose the trace a user means by a file or a folder, which may be addresses.

    Raises:
        TraceError: nothing there, or a folder without traces.
        NotFoundError: the folder has traces, but none of that worker.
    """
    if not is_address(path) and not Path(path).exists():
        return Choice(trace_file(path))  # whoever opens it says so
    workers = [listed for run in find_runs(path) for listed in run.workers]
    traces = [trace.file for listed in workers for trace in listed.traces]
    if traces == [trace_file(path)]:
        own = workers[0].name
        if worker not in (None, own):
            raise NotFoundError(f"{shown(path)}: no worker {worker!r}; the file is {own!r}'s")
        return Choice(traces[0])
    return _newest(path, workers, worker)


def _newest(path: str | Path, workers: Sequence[Worker], worker: str | None) -> Choice:
    if not workers:
        raise _no_traces(path)
    wanted = [listed for listed in workers if worker in (None, listed.name)]
    if not wanted:
        names = ", ".join(dict.fromkeys(listed.name for listed in workers))
        raise NotFoundError(f"{shown(path)}: no worker {worker!r}; there are {names}")
    left = sum(len(listed.traces) for listed in workers) - 1
    message = f"other traces in {shown(path)}, not read; name a file or a worker to see them"
    warning = TraceWarning("other-traces", "other-traces", message, left)
    newest = max((listed.traces[0] for listed in wanted), key=lambda trace: trace.modified)
    return Choice(newest.file, (warning,) if left else ())


def _no_traces(path: str | Path) -> TraceError:
    if not is_address(path) and (perfetto := next(Path(path).glob(f"*{SUFFIX}"), None)):
        return perfetto_error(str(perfetto))
    remedy = "record one with hookview.profile, or name another folder"
    reason = "no traces (*.pt.trace.json, *.json.gz) in this folder"
    return TraceError(shown(path), reason, remedy)
