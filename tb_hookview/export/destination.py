"""The destination of an export, which appears only when it is whole, and the progress to it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tb_hookview.errors import UsageError
from tb_hookview.export.lanes import write_lanes
from tb_hookview.export.packets import PacketWriter
from tb_hookview.export.threads import write_threads
from tb_hookview.progress import Progress
from tb_hookview.report.open_trace import OpenTrace
from tb_hookview.tables.events.rows import events


def check(out: Path, *, folder: bool, force: bool) -> None:
    """Reject a destination before anything is read.

    Raises:
        UsageError: `out` is there already and `force` is not set (an empty folder is no obstacle),
            is a folder where a file is to be made or the other way round, or has no folder around.
    """
    there = os.path.lexists(out)
    if there and folder != out.is_dir():
        raise UsageError(f"{out}: is a file; name a folder" if folder else f"{out}: is a folder")
    if not out.parent.is_dir():
        raise UsageError(f"{out.parent}: no such folder; make it first")
    try:
        taken = there and not (folder and not any(out.iterdir()))
    except OSError as error:
        raise _unwritable(out, error) from error
    if taken and not force:
        raise UsageError(f"{out}: already exists; name another, or replace it with --force")


@contextmanager
def new_file(out: Path) -> Iterator[Path]:
    """Give the path of a file that becomes `out` when the block succeeds.

    Raises:
        UsageError: it cannot be written.
    """
    with _partial(out) as partial:
        yield partial
        partial.replace(out)


@contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """Give the path of a folder whose files move to `out` when the block succeeds.

    Other files that `out` holds stay as they are.

    Raises:
        UsageError: it cannot be written.
    """
    with _partial(out) as partial:
        partial.mkdir()
        yield partial
        out.mkdir(exist_ok=True)
        for file in sorted(partial.iterdir()):
            file.replace(out / file.name)


@contextmanager
def _partial(out: Path) -> Iterator[Path]:
    """A path next to `out` that is gone at the end, whatever happened."""
    partial = out.parent / f".{out.name}.{os.getpid()}.part"
    try:
        yield partial
    except OSError as error:
        raise _unwritable(out, error) from error
    finally:
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)


def _unwritable(out: Path, error: OSError) -> UsageError:
    return UsageError(f"{out}: cannot be written ({error.strerror or error})")


class Counter:
    """Reports progress as a share of the rows expected, at most 1."""

    def __init__(self, stage: str, expected: int, progress: Progress) -> None:
        self._stage, self._expected, self._progress = stage, max(expected, 1), progress
        self._done = 0

    def add(self, rows: int) -> None:
        """Count rows that were written."""
        self._done += rows
        self._progress(self._stage, min(self._done / self._expected, 1.0))


# An analysis as a Perfetto trace: the trace's rows and the analysis' lanes.


def write_perfetto(
    path: Path, trace: OpenTrace, steps: Sequence[str] | None, progress: Progress
) -> None:
    """Write a Perfetto trace (protobuf) of some steps, or of all of a trace.

    Raises:
        OSError: the file cannot be written.
    """
    selection = trace.steps(steps)
    rows, start = events(selection), selection.analysis.trace.events.start
    origin = int(start.min()) if len(start) else 0
    counter = Counter("writing", len(rows), progress)
    with path.open("xb") as file:
        writer = PacketWriter(file, origin, counter.add)
        write_lanes(writer, selection, trace.report(steps))
        write_threads(writer, trace.simulator(), rows)
        writer.finish()
