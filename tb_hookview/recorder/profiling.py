"""Records with torch's profiler, hooks attached meanwhile, and writes a file per recording."""

from __future__ import annotations

import atexit
import gzip
import logging
import os
import shutil
import socket
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerAction

from tb_hookview.errors import UsageError
from tb_hookview.recorder import faults, manifest, session, trace_file
from tb_hookview.recorder.backward_marks_from_trace import Mark, find_backward_marks
from tb_hookview.recorder.ranges import ThreadCalls

_log = logging.getLogger(__name__)

# Level 9, torch's own choice, takes several times as long for a few percent.
_COMPRESSION = 5


def profile(
    logdir: str | os.PathLike[str],
    *,
    ranks: Iterable[int] | None = None,
    rank0_only: bool = False,
    **kwargs: Any,
) -> torch.profiler.profile:
    """Return a torch profiler that records wrapped modules and writes its traces into a folder.

    Use it as a context manager. Each recording (each cycle of the schedule, or the whole block
    without one) becomes one file, `<worker>.<time>.pt.trace.json.gz`; worker is host and process,
    with the rank in front in a distributed run. A file that cannot be written is a warning.

    Which rank this process has is looked up when the first recording is about to be prepared, so
    the process group may be made inside the block; a run that is not distributed has rank 0. On a
    rank that is not chosen nothing is recorded, attached or written, `on_trace_ready` is not
    called, and the profiler's `step()` does nothing.

    Args:
        logdir: folder for the traces, made if missing.
        ranks: the ranks that record; all by default.
        rank0_only: short for `ranks=[0]`.
        **kwargs: every keyword of `torch.profiler.profile`; `on_trace_ready` is called after the
            file was written.

    Raises:
        UsageError: `ranks` are no ranks, or contradict `rank0_only`.
    """
    return Profile(Path(logdir), _parse_ranks(ranks, rank0_only=rank0_only), **kwargs)


class Profile(torch.profiler.profile):
    """torch's profiler that attaches our hooks and writes the files; `profile` returns it."""

    def __init__(
        self,
        logdir: Path,
        ranks: frozenset[int] | None,
        *,
        on_trace_ready: Callable[[torch.profiler.profile], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.written: list[Path] = []
        """The files written so far."""
        self._logdir = logdir
        self._ranks = ranks
        self._chosen: bool | None = None
        self._stands_by = False
        self._then = on_trace_ready
        self._finished: list[ThreadCalls] = []
        self._file: Path | None = None
        """The last recording, once it is written."""
        super().__init__(on_trace_ready=self._save, **kwargs)

    def prepare_trace(self) -> None:
        """Prepare a recording, where this rank is chosen and no other profiler records."""
        if self._chosen is None:
            self._chosen = records_here(self._ranks)
        if not self._chosen:
            self.stand_by()
        elif torch.autograd._profiler_enabled():  # type: ignore[attr-defined]
            # torch would end the other recording, and crash as that is written.
            faults.warn(
                "tb_hookview: a profiler is recording already, so this one records nothing; "
                "training is not affected"
            )
            self.stand_by()
        else:
            super().prepare_trace()
            _under_way.add(self)

    def stand_by(self) -> None:
        """Record nothing from now on, whatever the schedule says."""
        self._stands_by = True
        self.schedule = lambda _: ProfilerAction.NONE
        self.current_action = self._prev_schedule_action = ProfilerAction.NONE
        self.record_steps = False

    def start_trace(self) -> None:
        """Attach the hooks and start torch's recording."""
        if self._stands_by:
            return
        self._file = None
        # Before torch starts: attaching is not part of what is recorded.
        _quietly("attaching hooks", session.begin)
        try:
            super().start_trace()
        except BaseException:
            _quietly("removing hooks", session.end)
            raise

    def stop_trace(self) -> None:
        """Remove the hooks and stop torch's recording."""
        if self._stands_by:
            return
        _under_way.discard(self)
        try:
            # The profiler takes metadata only while it records.
            _quietly("describing the model", self._add_manifest)
            self._finished = session.finished_calls()
            _quietly("removing hooks", session.end)
        finally:  # also where an interrupt came in between
            try:
                super().stop_trace()
            finally:
                _quietly("removing hooks", session.end)

    def export_chrome_trace(self, path: str, *args: Any, **kwargs: Any) -> Any:
        """Copy the last recording's file, marks included; torch writes a recording only once."""
        if self._file is None or args or kwargs:
            return super().export_chrome_trace(path, *args, **kwargs)
        opened = gzip.open if str(path).endswith(".gz") else open
        with gzip.open(self._file) as source, opened(path, "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
        return None

    def backward_marks(self) -> list[Mark]:
        """Return the marks on the backward pass, which `profile` adds to torch's file."""
        marks: list[Mark] = []
        results = self.profiler and self.profiler.kineto_results
        if results and self._finished:

            def find() -> None:
                marks.extend(find_backward_marks(self._finished, results.events()))

            _quietly("marking the backward pass", find)
        return marks

    def _add_manifest(self) -> None:
        text = session.current_manifest()
        if text:
            self.add_metadata_json(manifest.KEY, text)

    def _save(self, profiler: torch.profiler.profile) -> None:
        _quietly(f"writing a trace into {self._logdir}", self._write, faults.LOST)
        if self._then is not None:
            self._then(profiler)

    def _write(self) -> None:
        self._file = _write(self, self._logdir)
        self.written.append(self._file)


def records_here(ranks: frozenset[int] | None) -> bool:
    """Return whether this process is one of the ranks that record; None is all.

    Where the whole run has none of them, the first process logs a warning.
    """
    if ranks is None:
        return True
    rank, world_size = manifest.place()
    rank, world_size = rank or 0, world_size or 1
    if rank == 0 and min(ranks) >= world_size:
        _log.warning(
            "tb_hookview: nothing is recorded: ranks=%s, and this run has %s",
            sorted(ranks),
            f"ranks 0 to {world_size - 1}" if world_size > 1 else "rank 0 only",
        )
    return rank in ranks


def _parse_ranks(ranks: Iterable[int] | None, *, rank0_only: bool) -> frozenset[int] | None:
    if ranks is None:
        return frozenset([0]) if rank0_only else None
    if not isinstance(ranks, Iterable):
        raise UsageError(f"ranks is {ranks!r}; several ranks are expected, such as [0]")
    chosen = list(ranks)
    wrong = [r for r in chosen if not isinstance(r, int) or isinstance(r, bool) or r < 0]
    if wrong or not chosen:
        culprit = repr(wrong[0]) if wrong else "nothing"
        raise UsageError(f"ranks holds {culprit}; whole numbers from 0 on are expected")
    if rank0_only and set(chosen) != {0}:
        raise UsageError(f"ranks={chosen} and rank0_only=True contradict each other; give one")
    return frozenset(chosen)


def _write(profiler: Profile, logdir: Path) -> Path:
    logdir.mkdir(parents=True, exist_ok=True)
    path, partial = _reserve(logdir)
    try:
        _require_recorded(profiler)
        with tempfile.TemporaryDirectory() as scratch:
            plain = Path(scratch, "trace.json")
            torch.profiler.profile.export_chrome_trace(profiler, str(plain))
            _require_whole(plain)
            with plain.open("rb") as source, gzip.open(partial, "wb", _COMPRESSION) as target:
                trace_file.copy(source, target, profiler.backward_marks())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    _log.info("wrote %s", path)
    return path


def _reserve(logdir: Path) -> tuple[Path, Path]:
    """Return a new path for a trace, and the partial file to write it to.

    Another container that writes into the same folder may have the same host name and process id.
    """
    while True:
        path = logdir / f"{_worker()}.{time.time_ns()}.pt.trace.json.gz"
        # Readers of the folder do not take this name for a trace.
        partial = path.with_name(f".{path.name}.partial")
        try:
            partial.touch(exist_ok=False)
        except FileExistsError:
            continue
        if not path.exists():
            return path, partial
        partial.unlink()


def _require_recorded(profiler: Profile) -> None:
    """Raise RuntimeError where torch has nothing to write: writing would crash the process."""
    results: Any = profiler.profiler and profiler.profiler.kineto_results
    if results is None or not results.trace_start_ns():
        raise RuntimeError("another profiler ended this recording")


def _require_whole(trace: Path) -> None:
    """Raise OSError for a file that torch could not finish; torch only logs that."""
    size = trace.stat().st_size if trace.exists() else 0
    if size:
        with trace.open("rb") as file:
            file.seek(-min(64, size), os.SEEK_END)
            if file.read().rstrip().endswith(b"}"):
                return
    raise OSError(f"torch could not write it into {trace.parents[1]} first (is that disk full?)")


def _worker() -> str:
    worker = f"{socket.gethostname()}_{os.getpid()}"
    rank, world_size = manifest.place()
    if rank is None or world_size is None:
        return worker
    return f"rank{rank:0{len(str(world_size - 1))}d}_{worker}"


def _quietly(doing: str, action: Callable[[], None], consequence: str = faults.MARKS) -> None:
    try:
        action()
    except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
        faults.report(doing, fault, consequence)


_under_way: weakref.WeakSet[Profile] = weakref.WeakSet()
"""Profilers whose recording is prepared or under way."""


def _end_at_exit() -> None:
    """Stop and write what still records at exit, where torch would crash."""
    for profiler in list(_under_way):
        _quietly("ending a recording at exit", profiler.stop, faults.LOST)


def _leave_to_parent() -> None:
    """Stop recording in a forked process: its parent ends and writes the recording."""
    for profiler in list(_under_way):
        profiler.stand_by()
    _under_way.clear()


atexit.register(_end_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
