"""Records a training of the Trainer of transformers.

from tb_hookview.integrations.transformers import HookviewCallback

with HookviewCallback("runs/bert", schedule=...) as callback:
    Trainer(model, args, train_dataset=data, callbacks=[callback]).train()
"""

from __future__ import annotations

from typing import Any

from torch import nn
from transformers import TrainerCallback

from tb_hookview.integrations.recording import RecordingCallback
from tb_hookview.integrations.watching import WatchingCallback


class HookviewCallback(RecordingCallback, TrainerCallback):
    """Wraps the model, records `train()` and unwraps it: one trace file per recording.

    A step of the schedule is a step of the optimizer, all the batches whose gradients it
    accumulates included. A model that is wrapped already stays wrapped, under its own options.

    The Trainer does not call its callbacks after an exception. Use the callback as a context
    manager, or call `stop`; otherwise the recording ends when the next one begins.
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Wrap the model and start recording.

        Raises:
            UsageError: an option of `wrap` has a wrong value.
        """
        model: nn.Module = given["model"]
        self._recording.start(model)

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """Advance the profiler by one step."""
        self._recording.step()

    def on_train_end(self, *_: Any, **__: Any) -> None:
        """Write the recording and unwrap the model."""
        self.stop()

    def stop(self) -> None:
        """Write what was recorded and unwrap the model, once."""
        self._recording.stop()

    def __enter__(self) -> HookviewCallback:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class HookviewWatchCallback(WatchingCallback, TrainerCallback):
    """Watches `train()`: times of every step, and recordings when they are worth it.

    A step is a step of the optimizer. Takes the options of `hookview.watch`. The Trainer does not
    call its callbacks after an exception: use the callback as a context manager, or call `stop`.
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Begin with the first step."""
        model: nn.Module = given["model"]
        self._begin(model)

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """End a step."""
        self._step()

    def on_train_end(self, *_: Any, **__: Any) -> None:
        """Write what was seen."""
        self.stop()

    def __enter__(self) -> HookviewWatchCallback:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
