"""Records one variant, as many steps of it as fit into a small file."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import tb_hookview as hookview
import tb_hookview.recorder  # maps what is compiled from here on
from sample_traces.scenario import Recording, Training


class TooLargeError(Exception):
    """Not even one step fits."""


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


def record(training: Training, folder: Path, wanted: Recording, most_bytes: int) -> Recording:
    """Record a training into a folder, a file of at most `most_bytes`; return what was recorded.

    Raises:
        TooLargeError: one step without stacks and shapes takes more.
    """
    size = 0
    for recording in ways(wanted):
        with tempfile.TemporaryDirectory() as scratch:
            _record(training, Path(scratch), recording)
            size = _keep(Path(scratch), folder, most_bytes)
        if size <= most_bytes:
            return recording
    raise _too_large(size, most_bytes)


def collect(run: Callable[[Path], None], folder: Path, most_bytes: int) -> None:
    """Keep in a folder what a run records, a file of at most `most_bytes` for each process.

    Raises:
        TooLargeError: a file is larger.
    """
    with tempfile.TemporaryDirectory() as scratch:
        run(Path(scratch))
        size = _keep(Path(scratch), folder, most_bytes)
    if size > most_bytes:
        raise _too_large(size, most_bytes)


def traces(folder: Path) -> list[Path]:
    """Return the traces of one variant, or of all variants below a folder."""
    return sorted(folder.rglob("*.pt.trace.json.gz"))


def _keep(scratch: Path, folder: Path, most_bytes: int) -> int:
    """Pack the traces of all processes into a folder if they fit; return the largest size."""
    written = traces(scratch)
    if not written:
        raise RuntimeError("nothing was recorded")
    for path in written:
        path.write_bytes(_packed(path.read_bytes()))
    largest = max(path.stat().st_size for path in written)
    if largest <= most_bytes:
        folder.mkdir(parents=True, exist_ok=True)
        for path in written:
            rank = re.match(r"rank\d+", path.name)
            name = rank[0] if rank else "main"
            shutil.copyfile(path, folder / f"{name}.pt.trace.json.gz")
    return largest


def _too_large(size: int, most_bytes: int) -> TooLargeError:
    return TooLargeError(
        f"a trace takes {size / 1e6:.1f} MB, and there is room for {most_bytes / 1e6:.1f}"
    )


def _record(training: Training, folder: Path, recording: Recording) -> None:
    hookview.wrap(training.model)
    for name, part in training.parts.items():
        hookview.wrap(part, name=name)
    try:
        with hookview.profile(
            folder, schedule=recording.schedule(), **recording.options()
        ) as profiler:
            for _ in range(recording.total):
                training.step()
                profiler.step()
    finally:
        for part in (training.model, *training.parts.values()):
            hookview.unwrap(part)


def _packed(trace: bytes) -> bytes:
    """Pack a trace for a repository: tightly, and without names and folders of this machine."""
    content = gzip.decompress(trace)
    if compiled := os.environ.get("TORCHINDUCTOR_CACHE_DIR"):
        content = content.replace(f"{compiled}/".encode(), b"")
    for key in (b"host_name", b"traceName"):
        content = re.sub(rb'("%s": *)"[^"]*"' % key, rb'\1"sample"', content, count=1)
    return gzip.compress(content, 9, mtime=0)
