"""Notes which modules the kernels of a compiled graph serve, while torch.compile compiles it."""

from __future__ import annotations

from tb_hookview.recorder.compiled.inlined import hide, may_be_inlined, was_inlined
from tb_hookview.recorder.compiled.installation import install
from tb_hookview.recorder.compiled.registry import describe

__all__ = ["describe", "hide", "install", "may_be_inlined", "was_inlined"]
