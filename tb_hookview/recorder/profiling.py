"""Records with torch's profiler, hooks attached meanwhile, and writes a file per recording."""

from __future__ import annotations

import atexit
import gzip
import logging
import os
import shutil
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch.profiler import ProfilerAction

from tb_hookview.addresses.store import open_address
from tb_hookview.addresses.text import child, place, shown
from tb_hookview.errors import UsageError
from tb_hookview.markers import COMPILED_KEY
from tb_hookview.recorder import faults, manifest, progress, session, termination
from tb_hookview.recorder.backward_marks_from_trace import Mark, find_backward_marks
from tb_hookview.recorder.ranges import ThreadCalls
from tb_hookview.recorder.step_times import Schedule, StepTimes
from tb_hookview.recorder.writing import Upload, write, write_to_upload

_log = logging.getLogger(__name__)


def profile(
    logdir: str | os.PathLike[str],
    *,
    ranks: Iterable[int] | None = None,
    rank0_only: bool = False,
    sync_events: bool = True,
    activities: Iterable[Any] | None = None,
    schedule: Schedule | None = None,
    on_trace_ready: Callable[[torch.profiler.profile], Any] | None = None,
    record_shapes: bool = False,
    profile_memory: bool = False,
    with_stack: bool = False,
    with_flops: bool = False,
    with_modules: bool = False,
    experimental_config: Any = None,
    execution_trace_observer: Any = None,
    acc_events: bool = False,
    custom_trace_id_callback: Callable[[], str] | None = None,
    post_processing_timeout_s: float | None = None,
    **others: Any,
) -> Profile:
    """Return a torch profiler that records wrapped modules and writes its traces into a folder.

    Use it as a context manager. Each recording (each cycle of the schedule, or the whole block
    without one) becomes one file, `<worker>.<time>.pt.trace.json.gz`; worker is host and process,
    with the rank in front in a distributed run. A file that cannot be written is a warning, and so
    is a profiler that ends without a recording.

    Which rank this process has is looked up when the first recording is about to be prepared, so
    the process group may be made inside the block; a run that is not distributed has rank 0. On a
    rank that is not chosen nothing is recorded, attached or written, `on_trace_ready` is not
    called, and the profiler's `step()` does nothing.

    Args:
        logdir: folder for the traces, made if missing; an address (`s3://bucket/run`) needs
            fsspec and the store's package. Training continues during the upload, until the next
            recording begins or the profiler stops. If the upload fails, the file is kept on this
            machine.
        ranks: the ranks that record; all by default.
        rank0_only: short for `ranks=[0]`.
        sync_events: record CUDA's synchronization events too, which say what a stream or the host
            waited for. `experimental_config` decides where it is given.
        activities: what to record: `torch.profiler.ProfilerActivity`; all that torch supports by
            default.
        schedule: which steps to record, such as `torch.profiler.schedule(wait=3, warmup=1,
            active=3)`; everything by default.
        on_trace_ready: called with the profiler after a file was written.
        record_shapes: record the shapes of operators' inputs.
        profile_memory: record allocations.
        with_stack: record Python stacks.
        with_flops: estimate the FLOPs of matrix products and convolutions.
        with_modules: record TorchScript's modules.
        experimental_config: torch's `_ExperimentalConfig`.
        execution_trace_observer: torch's `ExecutionTraceObserver`.
        acc_events: accumulate `events()` over recordings.
        custom_trace_id_callback: called for each recording's id.
        post_processing_timeout_s: seconds after which torch gives up on its own event lists.
        **others: keywords of `torch.profiler.profile` in other versions than this was written for.

    Raises:
        UsageError: `ranks` is invalid, or contradicts `rank0_only`.
        TypeError: the installed torch has no such keyword.
    """
    named = {
        "activities": activities,
        "schedule": schedule,
        "record_shapes": record_shapes,
        "profile_memory": profile_memory,
        "with_stack": with_stack,
        "with_flops": with_flops,
        "with_modules": with_modules,
        "experimental_config": experimental_config,
        "execution_trace_observer": execution_trace_observer,
        "acc_events": acc_events,
        "custom_trace_id_callback": custom_trace_id_callback,
        "post_processing_timeout_s": post_processing_timeout_s,
    }
    # An earlier torch lacks some of them.
    given = {
        name: value for name, value in named.items() if value is not None and value is not False
    }
    profiler = Profile(
        place(logdir),
        _parse_ranks(ranks, rank0_only=rank0_only),
        sync_events=sync_events,
        on_trace_ready=on_trace_ready,
        **given,
        **others,
    )
    profiler.warn_unrecorded(schedule)
    return profiler


_NO_EVENTS = (
    "torch's profiler has no events (trace_only=True?), so the file lacks the marks before and "
    "after each module's backward; the analyzer does without them"
)


class Profile(torch.profiler.profile):
    """torch's profiler that attaches our hooks and writes the files; `profile` returns it."""

    def __init__(
        self,
        logdir: Path | str,
        ranks: frozenset[int] | None,
        *,
        sync_events: bool = True,
        on_trace_ready: Callable[[torch.profiler.profile], Any] | None = None,
        say: progress.Say = progress.on_standard_error,
        **kwargs: Any,
    ) -> None:
        """Prepare as torch does; `profile` documents the keywords, `say` gets a line for users."""
        self._say = say
        self.written: list[Path | str] = []
        """The files written so far: paths, or addresses where `logdir` is one."""
        self.about: dict[str, Any] = {}
        """Members to add to the manifest."""
        self._logdir = logdir
        self._ranks = ranks
        self._chosen: bool | None = None
        self._stands_by = False
        self._then = on_trace_ready
        self._times = StepTimes()
        self._unrecorded: weakref.finalize[..., Any] | None = None
        self._finished: list[ThreadCalls] = []
        self._file: Path | str | None = None
        """The last recording, once it is written."""
        self._upload: Upload | None = None
        if sync_events and kwargs.get("experimental_config") is None:
            kwargs["experimental_config"] = _config_with_sync_events()
        super().__init__(on_trace_ready=self._save, **kwargs)

    def warn_unrecorded(self, schedule: Schedule | None) -> None:
        """Warn when this profiler ends, or is dropped, and has recorded nothing until then."""
        # Its end may be the process's, when no line of the user's is under way.
        given = (self._times, schedule, self._ranks, os.getpid(), faults.place_of_user())
        self._unrecorded = weakref.finalize(self, _warn_unrecorded, *given)

    def start(self) -> None:
        """Start as torch does."""
        self._times.started = True
        _started.add(self)
        watch = partial(termination.watch, _end_for_signal)
        faults.guarded("watching for SIGTERM", watch, consequence="SIGTERM loses what is recorded")
        with termination.held():
            super().start()
        self._times.begin()

    def step(self) -> None:
        """Begin the next step as torch does, and note how long this one was."""
        self._times.end(self.current_action)
        with termination.held():
            super().step()
        self._times.begin()

    def leave_out(self, duration_ns: int) -> None:
        """Leave a part of the running step, which recording itself took, out of its duration."""
        self._times.leave_out(duration_ns)

    def stop(self) -> None:
        """Stop as torch does; warn if nothing was recorded."""
        try:
            with termination.held():
                try:
                    super().stop()
                    self._wait_for_upload()
                except BaseException:
                    # A finalizer would swallow a further exception of the script.
                    self._ends_as_meant()
                    raise
                finally:
                    _forget(self)
        finally:  # also where an interrupt came in between
            _forget(self)
        if self._unrecorded is not None:
            self._unrecorded()

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is not None:  # the training failed before it came to the recording
            self._ends_as_meant()
        super().__exit__(kind, value, traceback)  # type: ignore[no-untyped-call]

    def _ends_as_meant(self) -> None:
        if self._unrecorded is not None:
            self._unrecorded.detach()

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
                "training is not affected",
                "not recorded",
            )
            self.stand_by()
        else:
            super().prepare_trace()
            _under_way.add(self)

    def stand_by(self) -> None:
        """Record nothing from now on, whatever the schedule says."""
        self._stands_by = True
        self._ends_as_meant()
        self.schedule = lambda _: ProfilerAction.NONE
        self.current_action = self._prev_schedule_action = ProfilerAction.NONE
        self.record_steps = False

    def start_trace(self) -> None:
        """Attach the hooks and start torch's recording."""
        if self._stands_by:
            return
        self._wait_for_upload()
        self._file = None
        self._times.recorded_ns.clear()
        # Before torch starts: attaching is not part of what is recorded.
        faults.guarded("attaching hooks", session.begin)
        try:
            super().start_trace()
        except BaseException:
            self._ends_as_meant()
            faults.guarded("removing hooks", session.end)
            raise

    def stop_trace(self) -> None:
        """Remove the hooks and stop torch's recording."""
        if self._stands_by:
            return
        _under_way.discard(self)
        try:
            # The profiler takes metadata only while it records.
            faults.guarded("describing the model", self._add_manifest)
            faults.guarded("describing compiled graphs", self._add_compiled)
            self._finished = session.finished_calls()
            faults.guarded("removing hooks", session.end)
        finally:  # also where an interrupt came in between
            try:
                self._stop_recording()
            finally:
                faults.guarded("removing hooks", session.end)

    def _stop_recording(self) -> None:
        try:
            super().stop_trace()
        except RuntimeError as fault:
            # Torch 2.6 raises where another profiler ended the recording; `write` warns of that.
            if "not running" not in str(fault):
                raise

    def export_chrome_trace(self, path: str, *args: Any, **kwargs: Any) -> Any:
        """Copy the last recording's file, marks included; torch writes a recording only once."""
        self._wait_for_upload()
        if self._file is not None and ".pftrace" in Path(path).name:
            faults.advise(
                "pftrace", f"{path} is not written: this recording is {shown(self._file)}"
            )
            return None
        if self._file is None or args or kwargs:
            return super().export_chrome_trace(path, *args, **kwargs)
        opened = gzip.open if str(path).endswith(".gz") else open
        file = self._file
        recorded = file.open("rb") if isinstance(file, Path) else open_address(file)
        with recorded, gzip.open(recorded) as source, opened(path, "wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
        return None

    def backward_marks(self) -> list[Mark]:
        """Return the marks on the backward pass, which `profile` adds to torch's file."""
        marks: list[Mark] = []
        results = self.profiler and self.profiler.kineto_results
        if results and any(thread.calls for thread in self._finished):

            def find() -> None:
                events = results.events()
                if self._reports():
                    progress.announce(self._say, len(events))
                if not events:
                    faults.advise("events", _NO_EVENTS)
                marks.extend(find_backward_marks(self._finished, events))

            faults.guarded("marking the backward pass", find)
        return marks

    def _add_manifest(self) -> None:
        text = session.current_manifest(steps=self._times.as_manifest(), **self.about)
        if text:
            self.add_metadata_json(manifest.KEY, text)

    def _add_compiled(self) -> None:
        text = session.current_compiled()
        if text:
            self.add_metadata_json(COMPILED_KEY, text)

    def _save(self, profiler: torch.profiler.profile) -> None:
        self._ends_as_meant()
        try:
            faults.guarded(
                f"writing a trace into {shown(self._logdir)}", self._write, consequence=faults.LOST
            )
            if self._then is not None:
                self._wait_for_upload()
                self._then(profiler)
        finally:
            self._note()

    def _note(self) -> None:
        file = self._file
        termination.note("nothing could be written" if file is None else f"wrote {shown(file)}")

    def _write(self) -> None:
        since = perf_counter()
        if isinstance(self._logdir, Path):
            self._over(since, write(self, self._logdir, self.backward_marks))
        else:
            file = write_to_upload(self, self.backward_marks)
            address = child(self._logdir, file.name)
            self._upload = Upload(file, address, partial(self._over, since))

    def _over(self, since: float, file: Path | str) -> None:
        self._file = file
        self.written.append(file)
        if self._reports():
            progress.report(self._say, file, perf_counter() - since)

    def _wait_for_upload(self) -> None:
        upload, self._upload = self._upload, None
        if upload is not None:
            upload.wait()
            self._note()

    def _reports(self) -> bool:
        """Return whether this process is the first of those that record."""
        return (manifest.place()[0] or 0) == min(self._ranks or {0})


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


def _warn_unrecorded(
    times: StepTimes,
    schedule: Schedule | None,
    ranks: frozenset[int] | None,
    process: int,
    place: faults.SourceLine,
) -> None:
    def warn() -> None:
        if os.getpid() == process and records_here(ranks):
            faults.advise("unrecorded", times.why_unrecorded(schedule), place)

    faults.guarded("looking for a recording", warn)


def _config_with_sync_events() -> Any:
    """Return torch's configuration with CUDA's synchronization events; None where it has none."""
    if torch.version.cuda is None:
        return None
    try:
        return torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True)
    except (AttributeError, TypeError):
        return None


def _parse_ranks(ranks: Iterable[int] | None, *, rank0_only: bool) -> frozenset[int] | None:
    if ranks is None:
        return frozenset([0]) if rank0_only else None
    if not isinstance(ranks, Iterable):
        raise UsageError(f"ranks is {ranks!r}; several ranks are expected, such as [0]")
    chosen = list(ranks)
    wrong = [r for r in chosen if not isinstance(r, int) or isinstance(r, bool) or r < 0]
    if wrong or not chosen:
        culprit = repr(wrong[0]) if wrong else "nothing"
        raise UsageError(f"ranks holds {culprit}; non-negative integers are expected")
    if rank0_only and set(chosen) != {0}:
        raise UsageError(f"ranks={chosen} and rank0_only=True contradict each other; give one")
    return frozenset(chosen)


_under_way: weakref.WeakSet[Profile] = weakref.WeakSet()
"""Profilers whose recording is prepared or under way."""


_started: weakref.WeakSet[Profile] = weakref.WeakSet()
"""Profilers that were started and not stopped."""


def _forget(profiler: Profile) -> None:
    """Leave SIGTERM alone, unless another profiler records."""
    _started.discard(profiler)
    if not _started:
        termination.unwatch()


def _end_at_exit() -> None:
    """Stop and write what still records at exit, where torch would crash."""
    for profiler in list(_under_way):
        faults.guarded("ending a recording at exit", profiler.stop, consequence=faults.LOST)


def _end_for_signal() -> str:
    """Stop and write what is recorded; return why there is nothing, "" on ranks left out."""
    records = [profiler for profiler in list(_started) if not profiler._stands_by]
    for profiler in records:
        profiler._ends_as_meant()
        profiler.stop()
    return "no step was being recorded, so nothing is written" if records else ""


def _leave_to_parent() -> None:
    """Stop recording in a forked process: its parent ends and writes the recording."""
    _started.clear()
    termination.unwatch()
    for profiler in list(_under_way):
        profiler.stand_by()
    _under_way.clear()


atexit.register(_end_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
