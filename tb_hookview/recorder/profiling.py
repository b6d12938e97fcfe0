"""`profile`: torch's profiler with the hooks attached while it records and a file per recording."""

from __future__ import annotations

import gzip
import logging
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tb_hookview.recorder import faults, manifest, session

_log = logging.getLogger(__name__)

# Level 9, torch's own choice, takes several times as long for a few percent.
_COMPRESSION = 5


def profile(logdir: str | os.PathLike[str], **kwargs: Any) -> torch.profiler.profile:
    """Return a torch profiler that records wrapped modules and writes its traces into a folder.

    Use it as a context manager. Each recording (each cycle of the schedule, or the whole block
    where there is none) becomes one file, `<worker>.<time>.pt.trace.json.gz`; worker is host and
    process, with the rank in front in a distributed run. A file that cannot be written is a
    warning.

    Args:
        logdir: folder for the traces, made if missing.
        **kwargs: every keyword of `torch.profiler.profile`; `on_trace_ready` is called after the
            file was written.
    """
    return _Profile(Path(logdir), **kwargs)


class _Profile(torch.profiler.profile):
    def __init__(
        self,
        logdir: Path,
        *,
        on_trace_ready: Callable[[torch.profiler.profile], Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self._logdir = logdir
        self._then = on_trace_ready
        super().__init__(on_trace_ready=self._save, **kwargs)

    def start_trace(self) -> None:
        # Before torch starts: attaching is not part of what is recorded.
        _quietly("attaching hooks", session.begin)
        try:
            super().start_trace()
        except BaseException:
            _quietly("removing hooks", session.end)
            raise

    def stop_trace(self) -> None:
        # The profiler takes metadata only while it records.
        _quietly("describing the model", self._add_manifest)
        _quietly("removing hooks", session.end)
        super().stop_trace()

    def _add_manifest(self) -> None:
        text = session.current_manifest()
        if text:
            self.add_metadata_json(manifest.KEY, text)

    def _save(self, profiler: torch.profiler.profile) -> None:
        _quietly("writing the trace", lambda: _write(profiler, self._logdir))
        if self._then is not None:
            self._then(profiler)


def _write(profiler: torch.profiler.profile, logdir: Path) -> None:
    logdir.mkdir(parents=True, exist_ok=True)
    path = logdir / f"{_worker()}.{time.time_ns()}.pt.trace.json.gz"
    # A name that no reader of the folder takes for a trace, until the file is whole.
    partial = path.with_name(f".{path.name}.partial")
    try:
        with tempfile.TemporaryDirectory() as scratch:
            plain = Path(scratch, "trace.json")
            profiler.export_chrome_trace(str(plain))
            _require_whole(plain)
            with plain.open("rb") as source, gzip.open(partial, "wb", _COMPRESSION) as target:
                shutil.copyfileobj(source, target, 1 << 20)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    _log.info("wrote %s", path)


def _require_whole(trace: Path) -> None:
    """Raise OSError for a file that torch could not finish; it only logs that itself."""
    with trace.open("rb") as file:
        file.seek(-min(64, trace.stat().st_size), os.SEEK_END)
        if not file.read().rstrip().endswith(b"}"):
            raise OSError("torch could not write all of it (is the disk full?)")


def _worker() -> str:
    worker = f"{socket.gethostname()}_{os.getpid()}"
    rank, world_size = manifest.place()
    if rank is None or world_size is None:
        return worker
    return f"rank{rank:0{len(str(world_size - 1))}d}_{worker}"


def _quietly(doing: str, action: Callable[[], None]) -> None:
    try:
        action()
    except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
        faults.report(doing, fault)
