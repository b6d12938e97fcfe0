"""Many traces cached at once, each by a process of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, as_completed
from pathlib import Path
from typing import NamedTuple

from tb_hookview.cache import VARIABLE
from tb_hookview.errors import HookviewError
from tb_hookview.loading import CachedReader
from tb_hookview.trace import TraceFile
from tb_hookview.workers.limits import VARIABLE as PROCESSES
from tb_hookview.workers.limits import WorkerDiedError, WorkerError
from tb_hookview.workers.pool import Workers


class Outcome(NamedTuple):
    """Result of caching a trace."""

    added: bool
    problem: str | None = None
    """One line that names the file, where there was one."""


def fill(files: Sequence[TraceFile], folder: Path, workers: int) -> Iterator[Outcome]:
    """Cache columns and report of traces, several at once; yield as they are done.

    Args:
        files: the traces, by absolute paths; the first are begun first.
        folder: the folder of the cache.
        workers: most processes at once.
    """
    count = min(workers, len(files))
    environment = {**os.environ, VARIABLE: str(folder)}
    if count > 1:
        environment[PROCESSES] = "1"  # each keeps to one core
    pool = Workers(count, environment=environment)
    try:
        futures = {pool.submit(fill_one, file): file for file in files}
        for future in as_completed(futures):
            yield _outcome(future, futures[future])
    finally:
        # Nothing half written is ever seen.
        pool.shutdown(cancel_futures=True)


def fill_one(file: TraceFile) -> Outcome:
    """Cache columns and report of a trace, and return what became of it."""
    try:
        return Outcome(CachedReader.from_environment().fill(file))
    except HookviewError as error:
        return Outcome(False, str(error))
    except OSError as error:
        return Outcome(False, f"{file.address}: cannot be cached ({error.strerror})")


def _outcome(future: Future[Outcome], file: TraceFile) -> Outcome:
    try:
        return future.result()
    except WorkerDiedError as error:
        problem = f"not read (its process {error}; is there enough memory?)"
    except WorkerError as error:
        problem = f"cannot be cached ({error})"
    return Outcome(False, f"{file.address}: {problem}")
