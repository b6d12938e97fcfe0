"""Steps as TensorBoard's SCALARS: its own events and records, in a file that is appended to here.

torch's writer takes a second to import. On a full disk it leaves half an event, prints a traceback
and writes nothing more. Here a fault is a warning, and only whole events stay in the file.
"""

from __future__ import annotations

import contextlib
import time
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Any

from tb_hookview.recorder import faults
from tb_hookview.step_log import DURATIONS
from tb_hookview.watching.step_file import LOST, AppendedFile
from tb_hookview.watching.step_rows import Row

_GAP_NS = 2_000_000_000
"""From one point to the next: one costs 200 us of processor time, so 0.01% of it."""
_POINTS = 20_000
"""Points after which the gap doubles: the file grows by 6 MB, and TensorBoard shows 1,000."""
_SLOWEST = "hookview/slowest_ms"
_TAGS = [f"hookview/{name.removesuffix('_us')}_ms" for name in DURATIONS]


class Scalars:
    """Writes a point for each step that takes two seconds or longer; shorter ones share one.

    A point that several share is the median of each duration over them.
    """

    def __init__(self, folder: Path, worker: str) -> None:
        """Import what writes, before the first step; open nothing yet.

        Args:
            folder: exists, or is made with the first row.
            worker: a part of the file's name.
        """
        # While short steps end, more of them would in the meantime than can wait to be written.
        with contextlib.suppress(Exception):  # it fails again, and is reported, with a point
            _tensorboard()
        self._folder, self._worker = folder, worker
        self._file: AppendedFile | None = None
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
            self._append(rows[-1][0], values)
        except ImportError:  # tensorboard is not installed
            self._missing = True
        except OSError as fault:
            faults.report(f"writing scalars into {self._folder}", fault, LOST)

    def _opened(self) -> AppendedFile:
        if self._file is not None and not self._file.path.exists():
            self._close()
        if self._file is None:
            name = f"events.out.tfevents.{time.time():.6f}.{self._worker}.hookview"
            self._file = AppendedFile(self._folder / name)
        return self._file

    def _append(self, step: int, values: dict[str, float]) -> None:
        """Append an event, after the first one if there is none yet, or no piece of it."""
        event_of, summary_of, writer_to = _tensorboard()

        def write(**fields: Any) -> None:
            records.write(event_of(wall_time=time.time(), **fields).SerializeToString())

        file, content = self._opened(), BytesIO()
        records = writer_to(content)
        if not file.size:
            write(file_version="brain.Event:2")
        each = [summary_of.Value(tag=tag, simple_value=ms) for tag, ms in values.items()]
        write(step=step, summary=summary_of(value=each))
        file.append(content.getvalue())

    def close(self) -> None:
        """Write what is left."""
        if self._rows and not self._missing:
            self._write()
        self._close()

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


def _tensorboard() -> tuple[Any, Any, Any]:
    """Import TensorBoard's own events and records."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.record_writer import RecordWriter

    return Event, Summary, RecordWriter
