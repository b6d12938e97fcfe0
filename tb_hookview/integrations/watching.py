"""Watches one training run, for the callbacks of all libraries."""

from __future__ import annotations

import os
from typing import Any

from torch import nn

from tb_hookview.watching.watch import watch


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
