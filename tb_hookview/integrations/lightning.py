"""Records a training of Lightning's Trainer.

from tb_hookview.integrations.lightning import HookviewCallback

trainer = Trainer(callbacks=[HookviewCallback("runs/vit", schedule=...)])
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from types import ModuleType
from typing import Any

from torch import nn

from tb_hookview.errors import UsageError
from tb_hookview.integrations.recording import TWO_PROFILERS, RecordingCallback, WatchingCallback


def _installed() -> list[ModuleType]:
    """Return the packages under which Lightning is installed: one, or both.

    Raises:
        ImportError: it is not installed.
    """
    found = []
    for name in ("lightning.pytorch", "pytorch_lightning"):
        with suppress(ImportError):
            found.append(import_module(name))
    if not found:
        raise ImportError("Lightning is not installed: pip install lightning")
    return found


_PACKAGES = _installed()


# Each package's Trainer takes only its own Callback; a class that derives from both fits either.
# The second package takes a tenth of a second to load.
class _DuringFit(*(package.Callback for package in _PACKAGES)):  # type: ignore[misc]
    """Begins with the first batch of `fit`, and stops in whatever way it ends."""

    def on_train_start(self, trainer: Any, pl_module: nn.Module) -> None:
        """Begin with the first batch.

        Raises:
            UsageError: an option of `wrap` has a wrong value.
        """
        self._begin(pl_module)

    def on_train_batch_end(self, *_: Any) -> None:
        """End a step."""
        self._step()

    def on_train_end(self, trainer: Any, pl_module: nn.Module) -> None:
        """Stop with the training."""
        self.stop()

    def on_exception(self, trainer: Any, pl_module: nn.Module, exception: BaseException) -> None:
        """Stop with an exception in it."""
        self.stop()

    def teardown(self, trainer: Any, pl_module: nn.Module, stage: str) -> None:
        """Stop where Lightning ended the training in another way."""
        self.stop()


class HookviewCallback(RecordingCallback, _DuringFit):
    """Wraps the LightningModule, records its `fit` and unwraps it: one trace file per recording.

    A step of the schedule is a batch of training. Recording begins with the first of them, after
    the sanity check of the validation, and ends with the training or with an exception in it. A
    module that is wrapped already stays wrapped, under its own options.
    """

    def setup(self, trainer: Any, pl_module: nn.Module, stage: str) -> None:
        """Refuse a Trainer that records with torch's profiler itself.

        Raises:
            UsageError: the Trainer has Lightning's `PyTorchProfiler`.
        """
        of_torch = tuple(package.profilers.PyTorchProfiler for package in _PACKAGES)
        if stage == "fit" and isinstance(trainer.profiler, of_torch):
            raise UsageError(
                "the Trainer has HookviewCallback and Lightning's PyTorchProfiler; "
                f"{TWO_PROFILERS}: leave out one of them"
            )


class HookviewWatchCallback(WatchingCallback, _DuringFit):
    """Watches `fit`: times of every batch, and recordings when they are worth it.

    A step is a batch of training. Takes the options of `hookview.watch`.
    """
