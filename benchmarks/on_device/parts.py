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
    timed: bool = True
    """Whether its result is a time, so that nothing else may run meanwhile."""

    def command(self, out: Path, *, quick: bool, seconds: float) -> list[str]:
        """The command that writes its results into a folder."""
        if self.name in _RECORD:
            return _record(out, _RECORD[self.name], quick=quick, seconds=seconds)
        module, _, model = self.name.partition(".")
        command = [sys.executable, "-m", f"{__package__}.{module}", str(out)]
        return [*command, *(["--only", model] if model else []), *(["--quick"] if quick else [])]


PARTS = (
    Part(
        "smoke", "gradients bit for bit, attribution and waits of a transformer", 120, timed=False
    ),
    Part("compiled.vit", "modules inside torch.compile, and of CUDA graphs", 400, timed=False),
    Part("compiled.gpt2", "the same of another model", 400, timed=False),
    Part("memory", "peaks against the allocator's own", 90, timed=False),
    *(
        Part(f"syncs.{share}", "features of the dry run: expected, warned, recorded", 220, False)
        for share in range(4)
    ),
    Part("gallery", "syncs of public models: predicted, warned, recorded", 220, timed=False),
    Part("samples", "the sample traces, each before and after its remedy", 600),
    Part("checks", "what recording costs, attribution by a truth, gradients of all models", 320),
    Part("halves", "predictions of half the work against half the work", 150),
    Part("watch", "blocks of a watched training, by events of the device", 60),
    Part("waits", "edges of syncs against cuda_sync rows, and the depth of the launch queue", 120),
)

_RECORD = {"samples": ["--round-seconds", "0.5"], "checks": ["--overhead"]}
"""Parts that sample_traces/record.py measures, with further arguments."""
_LAST_S = 15
"""Seconds that it needs to end by itself."""


def _record(out: Path, more: list[str], *, quick: bool, seconds: float) -> list[str]:
    limit = str(max(seconds - _LAST_S, 1))
    command = [sys.executable, str(ROOT / "sample_traces/record.py"), "--out", str(out / "traces")]
    return [*command, "--seconds", limit, *more, *(["--quick"] if quick else [])]
