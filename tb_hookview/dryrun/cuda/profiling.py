"""torch's profiler, which would look for events of a device that is not there."""

from __future__ import annotations

from functools import wraps
from typing import Any

import torch

from tb_hookview.dryrun.cuda.patches import Patches
from tb_hookview.dryrun.cuda.streams import explicit
from tb_hookview.dryrun.recording.recorder import WATCH

_NOTE = "a profiler that the program starts records the CPU alone, without its own wait at the end"


def install(patches: Patches) -> None:
    """Let profilers record the CPU only, and NVTX nothing."""
    profile = torch.autograd.profiler.profile
    original = profile.__init__

    @wraps(original)
    def init(self: Any, *args: Any, **options: Any) -> None:
        if options.get("use_device") == "cuda" or options.get("use_cuda"):
            WATCH.note(_NOTE)
            options.pop("use_cuda", None)
            options.update(use_device=None, use_cpu=True)
        original(self, *args, **options)

    def enter(self: Any) -> Any:
        leave(self)
        return self

    def leave(self: Any, *_error: object) -> None:
        if self.enabled:
            explicit("cudaDeviceSynchronize", "emit_nvtx waits at both of its ends")

    patches.set(profile, "__init__", init)
    patches.set_all(torch.autograd.profiler.emit_nvtx, {"__enter__": enter, "__exit__": leave})
