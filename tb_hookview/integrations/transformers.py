"""Records a training of the Trainer of transformers.

from tb_hookview.integrations.transformers import HookviewCallback

with HookviewCallback("runs/bert", schedule=...) as callback:
    Trainer(model, args, train_dataset=data, callbacks=[callback]).train()
"""

from __future__ import annotations

from typing import Any, TypeVar

from transformers import TrainerCallback

from tb_hookview.integrations.recording import RecordingCallback, WatchingCallback

_Own = TypeVar("_Own")


class _DuringTrain(TrainerCallback):
    """Begins with the first step of `train()`, and stops with it or with its own block."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Begin with the first step.

        Raises:
            UsageError: an option of `wrap` has a wrong value.
        """
        self._begin(given["model"])

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """End a step."""
        self._step()

    def on_train_end(self, *_: Any, **__: Any) -> None:
        """Stop with the training."""
        self.stop()

    def __enter__(self: _Own) -> _Own:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class HookviewCallback(RecordingCallback, _DuringTrain):
    """Wraps the model, records `train()` and unwraps it: one trace file per recording.

    A step of the schedule is a step of the optimizer, all the batches whose gradients it
    accumulates included. A model that is wrapped already stays wrapped, under its own options.

    The Trainer does not call its callbacks after an exception. Use the callback as a context
    manager, or call `stop`; otherwise the recording ends when the next one begins.
    """


class HookviewWatchCallback(WatchingCallback, _DuringTrain):
    """Watches `train()`: times of every step, and recordings when they are worth it.

    A step is a step of the optimizer. Takes the options of `hookview.watch`. The Trainer does not
    call its callbacks after an exception: use the callback as a context manager, or call `stop`.
    """
