"""Records or watches one training run, for the callbacks of all libraries."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
from torch import nn

from tb_hookview.recorder import profile, roots, unwrap, wrap
from tb_hookview.recorder.module_filter import Patterns
from tb_hookview.watching.watch import watch

TWO_PROFILERS = "two profilers cannot record at once (torch loses a recording, or crashes)"


class TrainingRecording:
    """Wraps a model and records its training from `start` to `stop`, any number of times."""

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        wrap_options: dict[str, Any],
        profiler_options: dict[str, Any],
    ) -> None:
        """Check the options; nothing is wrapped or recorded yet.

        Args:
            logdir: folder for the traces.
            wrap_options: keywords of `wrap`.
            profiler_options: keywords of `profile`; see `RecordingCallback` for its schedule.

        Raises:
            TypeError: `profile` has no such keyword.
            UsageError: `profile` refuses one.
        """
        # A wrong keyword shows here, not when training begins.
        profile(logdir, **profiler_options).stand_by()
        self._logdir = logdir
        self._wrap_options = wrap_options
        self._profiler_options = profiler_options
        self._profiler: torch.profiler.profile | None = None
        self._undo = ExitStack()

    def start(self, model: nn.Module) -> None:
        """Wrap the model, unless its user did, and start the profiler.

        Where another profiler is recording, warn and do nothing.

        Raises:
            UsageError: an option of `wrap` has a wrong value.
        """
        global _running
        if _running is not None:
            _running.stop()
            _warn(
                "an earlier recording was still running and was ended; "
                "did its training end with an exception?"
            )
        if torch.autograd._profiler_enabled():  # type: ignore[attr-defined]
            _warn(f"this training is not recorded, as a profiler runs already; {TWO_PROFILERS}")
            return
        with ExitStack() as undo:
            if roots.find(model) is None:
                undo.callback(unwrap, wrap(model, **self._wrap_options))
            options = {"schedule": _fifth_to_seventh(), **self._profiler_options}
            self._profiler = undo.enter_context(profile(self._logdir, **options))
            self._undo = undo.pop_all()
        _running = self

    def step(self) -> None:
        """Advance the profiler by one step."""
        if self._profiler is not None:
            self._profiler.step()

    def stop(self) -> None:
        """Write what was recorded and unwrap the model, once."""
        global _running
        if _running is self:
            _running = None
        self._profiler = None
        self._undo.close()


class RecordingCallback:
    """Base of the callbacks that record; takes the options of `wrap` and `profile`."""

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        *,
        include: Patterns | None = None,
        exclude: Patterns | None = None,
        depth: int | None = None,
        markers: str = "auto",
        **profiler_options: Any,
    ) -> None:
        """Check the options, for every training that follows.

        Args:
            logdir: folder for the traces, made if missing.
            include: as in `wrap`.
            exclude: as in `wrap`.
            depth: as in `wrap`.
            markers: as in `wrap`.
            **profiler_options: every keyword of `profile`. Without `schedule` the fifth, sixth
                and seventh step are recorded; with None, everything.

        Raises:
            TypeError: `profile` has no such keyword.
            UsageError: `profile` refuses one.
        """
        super().__init__()
        wrap_options = {"include": include, "exclude": exclude, "depth": depth, "markers": markers}
        self._recording = TrainingRecording(logdir, wrap_options, profiler_options)

    def _begin(self, model: nn.Module) -> None:
        self._recording.start(model)

    def _step(self) -> None:
        self._recording.step()

    def stop(self) -> None:
        """Write what was recorded and unwrap the model, once."""
        self._recording.stop()


class WatchingCallback:
    """Base of the callbacks that watch; takes the options of `watch`."""

    def __init__(self, logdir: str | os.PathLike[str], **options: Any) -> None:
        """Check the options, for every training that follows.

        Args:
            logdir: folder for steps and recordings.
            **options: keywords of `watch`, without `model`.

        Raises:
            TypeError: `watch` has no such keyword.
            UsageError: `watch` refuses one.
        """
        super().__init__()
        watch(logdir, **options)  # a wrong option shows here, not when training begins
        self._logdir, self._options = logdir, options
        self._watch: Any = None

    def _begin(self, model: nn.Module) -> None:
        self.stop()
        self._watch = watch(self._logdir, model=model, **self._options)
        self._watch.start()

    def _step(self) -> None:
        if self._watch is not None:
            self._watch.step()

    def stop(self) -> None:
        """Write what was seen, and leave the model as it was, once."""
        watching, self._watch = self._watch, None
        if watching is not None:
            watching.stop()


def _warn(text: str) -> None:
    warnings.warn(f"tb_hookview: {text}", RuntimeWarning, stacklevel=4)


def _fifth_to_seventh() -> Callable[[int], torch.profiler.ProfilerAction]:
    # The first step to wait warms up; two more show how long a step is that is not recorded.
    return torch.profiler.schedule(wait=3, warmup=1, active=3, repeat=1)


_running: TrainingRecording | None = None
"""The recording that was started and not stopped.

Not every library calls its callbacks after an exception, so one may be left from a training that
failed, and torch's profiler with it.
"""
