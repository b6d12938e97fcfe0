"""Records one variant, as many steps of it as fit into a small file."""

from __future__ import annotations

import gzip
import re
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

import tb_hookview as hookview
from sample_traces.scenario import Training


class TooLargeError(Exception):
    """Not even one step fits."""


@dataclass(frozen=True)
class Recording:
    """One way to record a variant."""

    steps: int
    """The first of them counts as warming up where there are more."""
    stacks: bool
    shapes: bool = True
    memory: bool = False


def ways(wanted: Recording) -> list[Recording]:
    """Return the recordings to try until one is small enough, the one wanted first.

    Half as many steps, down to two; then without stacks and shapes; then a single step.
    """
    tries = [wanted]
    while tries[-1].steps > 2:
        tries.append(replace(tries[-1], steps=max(2, tries[-1].steps // 2)))
    if wanted.stacks:
        tries.append(replace(tries[-1], stacks=False))
    tries.append(replace(tries[-1], stacks=False, shapes=False))
    tries.append(replace(tries[-1], steps=1))
    return tries


def record(training: Training, path: Path, wanted: Recording, most_bytes: int) -> Recording:
    """Record a training into one file of at most `most_bytes`; return what was recorded.

    Raises:
        TooLargeError: one step without stacks and shapes takes more.
    """
    size = 0
    for recording in ways(wanted):
        with tempfile.TemporaryDirectory() as folder:
            _record(training, Path(folder), recording)
            (written,) = Path(folder).glob("*.pt.trace.json.gz")
            small = Path(folder, "small.gz")
            _compress(written, small)
            size = small.stat().st_size
            if size <= most_bytes:
                path.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(small, path)
                return recording
    raise TooLargeError(
        f"one step takes {size / 1e6:.1f} MB, and there is room for {most_bytes / 1e6:.1f}"
    )


def _record(training: Training, folder: Path, recording: Recording) -> None:
    warm_up = 2
    schedule = torch.profiler.schedule(wait=1, warmup=warm_up, active=recording.steps, repeat=1)
    options: dict[str, Any] = {
        "record_shapes": recording.shapes,
        "with_stack": recording.stacks,
        "profile_memory": recording.memory,
    }
    hookview.wrap(training.model)
    for name, part in training.parts.items():
        hookview.wrap(part, name=name)
    try:
        with hookview.profile(folder, schedule=schedule, **options) as profiler:
            for _ in range(1 + warm_up + recording.steps):
                training.step()
                profiler.step()
    finally:
        for part in (training.model, *training.parts.values()):
            hookview.unwrap(part)


def _compress(source: Path, target: Path) -> None:
    """Pack a trace for a repository: tightly, and without the names of this machine."""
    content = gzip.decompress(source.read_bytes())
    for key in (b"host_name", b"traceName"):
        content = re.sub(rb'("%s": *)"[^"]*"' % key, rb'\1"sample"', content, count=1)
    target.write_bytes(gzip.compress(content, 9, mtime=0))
