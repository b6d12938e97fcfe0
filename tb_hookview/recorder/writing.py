"""Writes a recording into a folder: one whole file, or none."""

from __future__ import annotations

import gzip
import json
import logging
import os
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import torch

from tb_hookview.addresses.store import put
from tb_hookview.addresses.text import shown
from tb_hookview.recorder import faults, manifest
from tb_hookview.recorder.backward_marks_from_trace import Mark

# Adding marks to a trace file that torch wrote.


# Within a JSON string a quote has a backslash before it, so neither matches there.
_EVENTS = re.compile(rb'"traceEvents"\s{0,20}:\s{0,20}\[(?=\s{0,20}(\S))')
_BASE = re.compile(rb'"baseTimeNanoseconds"\s{0,20}:\s{0,20}(\d{1,19})(?!\d)')
_LONGEST = 128
"""Bytes; no match is longer."""
_CHUNK = 1 << 20


def copy(source: Any, target: Any, marks: Sequence[Mark]) -> bool:
    """Copy a trace file, with marks in front of the events in it.

    Of torch's writers one puts each event into a line of its own, another the whole file into one
    line. Only a part of the file is in memory at a time.

    Args:
        source: open binary file that can seek.
        target: open binary file.
        marks: what to add.

    Returns:
        False if the file has no list of events, and the copy therefore no marks.
    """
    events = _find(source, _EVENTS) if marks else None
    if events is not None:
        begin, first = events
        base = _find(source, _BASE)
        base_ns = 0 if base is None else int(base[1])
        rows = b",\n".join(_row(mark, base_ns) for mark in marks)
        source.seek(0)
        _copy_bytes(source, target, begin)
        target.write(b"\n" + rows + (b"\n" if first == b"]" else b",\n"))
    else:
        source.seek(0)
    shutil.copyfileobj(source, target, _CHUNK)
    return events is not None or not marks


def _find(source: Any, pattern: re.Pattern[bytes]) -> tuple[int, bytes] | None:
    """Return where the first match ends, and its group 1."""
    source.seek(0)
    offset, text = 0, b""
    while chunk := source.read(_CHUNK):
        text += chunk
        # What reaches the end of the text may be cut.
        if (match := pattern.search(text)) and match.end(1) < len(text):
            return offset + match.end(), match[1]
        offset += max(len(text) - _LONGEST, 0)
        text = text[-_LONGEST:]
    return None


def _copy_bytes(source: Any, target: Any, count: int) -> None:
    while count:
        chunk = source.read(min(count, _CHUNK))
        target.write(chunk)
        count -= len(chunk)


def _row(mark: Mark, base_ns: int) -> bytes:
    microseconds, rest = divmod(mark.time - base_ns, 1000)
    return (
        f'  {{"ph": "X", "cat": "cpu_op", "name": {json.dumps(mark.name)}, "pid": {mark.process},'
        f' "tid": {mark.thread}, "ts": {microseconds}.{rest:03d}, "dur": 0, "args": {{}}}}'
    ).encode()


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
                if not copy(source, target, list(marks())):
                    faults.advise("layout", _UNKNOWN_LAYOUT)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    _log.info("wrote %s", path)
    return path


class Upload:
    """A recording on its way to an address, in a thread: waiting for a network needs no core."""

    def __init__(self, file: Path, address: str, then: Callable[[Path | str], None]) -> None:
        """Begin.

        Args:
            file: alone in a folder, which is removed with it once it is uploaded.
            address: of the file.
            then: called by the thread with the address, or the path where that failed.
        """
        self._file, self._address, self._then = file, address, then
        self._thread = Thread(target=self._run, name="tb_hookview upload")
        try:
            self._thread.start()
        except RuntimeError:  # at the end of the process no thread can be started
            self._run()

    def wait(self) -> None:
        """Return when it is over."""
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            put(self._file, self._address)
        except Exception as error:  # noqa: BLE001 - nobody else hears of it
            faults.warn(
                f"tb_hookview: a trace could not be uploaded ({error}); training is not affected, "
                f"the trace is kept in {self._file}",
                "not uploaded",
            )
            self._then(self._file)
            return
        shutil.rmtree(self._file.parent, ignore_errors=True)
        _log.info("wrote %s", shown(self._address))
        self._then(self._address)


def write_to_upload(profiler: torch.profiler.profile, marks: Callable[[], Iterable[Mark]]) -> Path:
    """Write the last recording of a profiler, as `write`, into a folder of its own.

    Raises:
        OSError: the file cannot be written.
        RuntimeError: torch has nothing to write.
    """
    scratch = Path(tempfile.mkdtemp(prefix="hookview-"))
    try:
        return write(profiler, scratch, marks)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


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
