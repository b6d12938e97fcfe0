"""Writes a recording into a folder: one whole file, or none."""

from __future__ import annotations

import gzip
import logging
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

from tb_hookview.addresses.store import put
from tb_hookview.addresses.text import child, shown
from tb_hookview.errors import TraceError
from tb_hookview.recorder import faults, manifest, trace_file
from tb_hookview.recorder.backward_marks_from_trace import Mark

_log = logging.getLogger(__name__)

# Level 9, torch's own choice, takes several times as long; from level 4 on, zlib takes twice the
# time of level 3 and saves a tenth.
_COMPRESSION = 3

_ROOM = 1 << 20
"""Bytes; a disk with more than that is not full."""


def write(
    profiler: torch.profiler.profile, logdir: Path, marks: Callable[[], Iterable[Mark]]
) -> Path:
    """Write the last recording of a profiler, and return the file.

    Args:
        profiler: one that has stopped.
        logdir: folder for the file, made if missing.
        marks: called for the marks to add.

    Raises:
        OSError: the file cannot be written.
        RuntimeError: torch has nothing to write.
    """
    logdir.mkdir(parents=True, exist_ok=True)
    path, partial = _reserve(logdir)
    try:
        _require_recorded(profiler)
        with tempfile.TemporaryDirectory() as scratch:
            plain = Path(scratch, "trace.json")
            _export(profiler, plain)
            _require_whole(plain)
            with plain.open("rb") as source, gzip.open(partial, "wb", _COMPRESSION) as target:
                if not trace_file.copy(source, target, list(marks())):
                    faults.advise("layout", _UNKNOWN_LAYOUT)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    _log.info("wrote %s", path)
    return path


def write_to_address(
    profiler: torch.profiler.profile, folder: str, marks: Callable[[], Iterable[Mark]]
) -> Path | str:
    """Write the last recording of a profiler to an address, as `write`, and return the file's.

    Where it cannot be uploaded it is kept on this machine, and its path is returned.

    Raises:
        OSError: the file cannot be written.
        RuntimeError: torch has nothing to write.
    """
    scratch = Path(tempfile.mkdtemp(prefix="hookview-"))
    try:
        path = write(profiler, scratch, marks)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    address = child(folder, path.name)
    try:
        put(path, address)
    except TraceError as error:
        faults.warn(
            f"tb_hookview: a trace could not be uploaded ({error}); training is not affected, "
            f"the trace is kept in {path}",
            "not uploaded",
        )
        return path
    shutil.rmtree(scratch, ignore_errors=True)
    _log.info("wrote %s", shown(address))
    return address


_UNKNOWN_LAYOUT = (
    "a trace file has no list of events where one is expected, so it lacks the marks before and "
    "after each module's backward; the analyzer does without them"
)


def _export(profiler: torch.profiler.profile, path: Path) -> None:
    torch.profiler.profile.export_chrome_trace(profiler, str(path))
    # An exporter of torch 2.15 may write in another thread; elsewhere there is no such method.
    wait = getattr(profiler, "wait_for_exports", None)
    if wait is not None and not path.exists():
        wait()


def _reserve(logdir: Path) -> tuple[Path, Path]:
    """Return a new path for a trace, and the partial file to write it to.

    Another container that writes into the same folder may have the same host name and process id.
    """
    while True:
        path = logdir / f"{_worker()}.{time.time_ns()}.pt.trace.json.gz"
        # Readers of the folder do not take this name for a trace.
        partial = path.with_name(f".{path.name}.partial")
        try:
            partial.touch(exist_ok=False)
        except FileExistsError:
            continue
        if not path.exists():
            return path, partial
        partial.unlink()


def _require_recorded(profiler: torch.profiler.profile) -> None:
    """Raise RuntimeError where torch has nothing to write: writing would crash the process."""
    results: Any = profiler.profiler and profiler.profiler.kineto_results
    if results is None or not results.trace_start_ns():
        raise RuntimeError("another profiler ended this recording")


def _require_whole(trace: Path) -> None:
    """Raise OSError for a file that torch could not finish; torch only logs that."""
    size = trace.stat().st_size if trace.exists() else 0
    if size:
        with trace.open("rb") as file:
            file.seek(-min(64, size), os.SEEK_END)
            if file.read().rstrip().endswith(b"}"):
                return
    folder = trace.parents[1]
    if not trace.exists() and shutil.disk_usage(folder).free > _ROOM:
        raise OSError("torch wrote no file; its own warning, if there is one, says why")
    raise OSError(f"torch could not write it into {folder} first (is that disk full?)")


def _worker() -> str:
    worker = f"{socket.gethostname()}_{os.getpid()}"
    rank, world_size = manifest.place()
    if rank is None or world_size is None:
        return worker
    return f"rank{rank:0{len(str(world_size - 1))}d}_{worker}"
