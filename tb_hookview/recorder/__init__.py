"""Records training with hooks that name the module of each part of a trace."""

from __future__ import annotations

from tb_hookview.recorder import compiled, faults
from tb_hookview.recorder.profiling import profile
from tb_hookview.recorder.wrapping import unwrap, wrap

compiled.install(faults.report)

__all__ = ["profile", "unwrap", "wrap"]
