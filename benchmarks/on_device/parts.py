"""The measurements in their order: what a later one needs, an earlier one has recorded."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Part(NamedTuple):
    """A measurement, in a process of its own."""

    name: str
    title: str
    seconds: float
    """Time limit."""

    def command(self, out: Path, *, quick: bool, seconds: float) -> list[str]:
        """The command that writes its results into a folder."""
        if self.name in _RECORD:
            return _record(out, _RECORD[self.name], quick=quick, seconds=seconds)
        module = f"{__package__}.{self.name}"
        return [sys.executable, "-m", module, str(out), *(["--quick"] if quick else [])]


PARTS = (
    Part("smoke", "gradients bit for bit, attribution and waits of a transformer", 120),
    Part("samples", "the sample traces, each before and after its remedy", 600),
    Part("compiled", "modules inside torch.compile, and of replayed CUDA graphs", 420),
    Part("checks", "what recording costs, attribution by a truth, gradients of all models", 320),
    Part("waits", "edges of syncs against cuda_sync rows, and the depth of the launch queue", 120),
    Part("halves", "predictions of half the work against half the work", 150),
    Part("memory", "peaks against the allocator's own", 90),
    Part("syncs", "each feature of the dry run: expected, warned and recorded syncs", 240),
)

_RECORD = {"samples": [], "checks": ["--overhead"]}
"""Parts that sample_traces/record.py measures, with further arguments."""
_LAST_S = 15
"""Seconds that it needs to end by itself."""


def _record(out: Path, more: list[str], *, quick: bool, seconds: float) -> list[str]:
    limit = str(max(seconds - _LAST_S, 1))
    command = [sys.executable, str(ROOT / "sample_traces/record.py"), "--out", str(out / "traces")]
    return [*command, "--seconds", limit, *more, *(["--quick"] if quick else [])]
