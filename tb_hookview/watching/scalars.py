"""Steps as TensorBoard's SCALARS: its own events and records, in a file that is appended to here.

torch's writer takes a second to import. On a full disk it leaves half an event, prints a traceback
and writes nothing more. Here a fault is a warning, and only whole events stay in the file.
"""

from __future__ import annotations

import os
import time
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Any

from tb_hookview.recorder import faults
from tb_hookview.step_log import DURATIONS
from tb_hookview.watching.step_file import LOST
from tb_hookview.watching.step_rows import Row

_GAP_NS = 1_000_000_000
"""From one point to the next: one costs 200 us of processor time, so 0.02% of it."""
_POINTS = 20_000
"""Points after which the gap doubles: the file grows by 6 MB, and TensorBoard shows 1,000."""
_SLOWEST = "hookview/slowest_ms"
_TAGS = [f"hookview/{name.removesuffix('_us')}_ms" for name in DURATIONS]


class Scalars:
    """Writes a point for each step that takes a second or longer; shorter ones share one.

    A point that several share is the median of each duration over them.
    """

    def __init__(self, folder: Path, worker: str) -> None:
        """Open nothing yet.

        Args:
            folder: exists, or is made with the first row.
            worker: a part of the file's name.
        """
        self._folder, self._worker = folder, worker
        self._path: Path | None = None
        self._file = -1
        self._size = 0
        self._rows: list[Row] = []
        self._ns = 0
        self._points = 0
        self._missing = False

    def add(self, rows: list[Row]) -> None:
        """Take rows; write those that make a point."""
        for row in () if self._missing else rows:
            self._rows.append(row)
            self._ns += row[1]
            if self._ns >= _GAP_NS << self._points // _POINTS:
                self._write()

    def _write(self) -> None:
        rows, self._rows, self._ns = self._rows, [], 0
        self._points += 1
        values = {_SLOWEST: max(row[1] for row in rows) / 1e6}
        for number, tag in enumerate(_TAGS, 1):
            known = [row[number] for row in rows if row[number] >= 0]
            if known:
                values[tag] = median(known) / 1e6
        try:
            if self._path is None or not self._path.exists():
                self._begin()
            self._append(rows[-1][0], values)
        except ImportError:  # tensorboard is not installed
            self._missing = True
        except OSError as fault:
            faults.report(f"writing scalars into {self._folder}", fault, LOST)

    def _begin(self) -> None:
        self._close()
        now = f"{time.time():.6f}"
        path = self._folder / f"events.out.tfevents.{now}.{self._worker}.hookview"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        self._path, self._size = path, 0

    def _append(self, step: int, values: dict[str, float]) -> None:
        """Append an event, after the first one if there is none yet, or no piece of it."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.record_writer import RecordWriter

        def write(**fields: Any) -> None:
            records.write(Event(wall_time=time.time(), **fields).SerializeToString())

        content = BytesIO()
        records = RecordWriter(content)
        if not self._size:
            write(file_version="brain.Event:2")
        each = [Summary.Value(tag=tag, simple_value=ms) for tag, ms in values.items()]
        write(step=step, summary=Summary(value=each))
        try:
            self._write_all(content.getvalue())
        except OSError:
            os.ftruncate(self._file, self._size)
            raise

    def _write_all(self, content: bytes) -> None:
        done = 0
        while done < len(content):
            done += os.write(self._file, content[done:])
        self._size += done

    def close(self) -> None:
        """Write what is left."""
        if self._rows and not self._missing:
            self._write()
        self._close()

    def _close(self) -> None:
        if self._path is not None:
            os.close(self._file)
            self._path = None
