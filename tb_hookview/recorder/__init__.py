"""The recorder: hooks that make a trace tell which module each part of it belongs to."""

from __future__ import annotations

from tb_hookview.recorder.profiling import profile
from tb_hookview.recorder.wrapping import unwrap, wrap

__all__ = ["profile", "unwrap", "wrap"]
