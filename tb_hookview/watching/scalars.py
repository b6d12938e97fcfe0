"""Steps as TensorBoard's SCALARS, by torch's own writer."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

from tb_hookview.step_log import DURATIONS
from tb_hookview.watching.step_rows import Row

_GAP_NS = 100_000_000
"""From one point to the next: one costs 50 us of processor time, so 0.05% of it."""
_POINTS = 20_000
"""Points after which the gap doubles: the file grows by 6 MB, and TensorBoard shows 1,000."""


class Scalars:
    """Writes a point for each step that takes 100 ms or longer; shorter ones share one.

    A point that several share is the median of each duration over them.
    """

    def __init__(self, folder: Path) -> None:
        """Open nothing yet."""
        self._folder = folder
        self._writer: Any = None
        self._summary: Any = None
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
        if not rows or not self._open():
            return
        self._points += 1
        values = {"hookview/slowest_ms": max(row[1] for row in rows) / 1e6}
        for number, name in enumerate(DURATIONS, 1):
            known = [row[number] for row in rows if row[number] >= 0]
            if known:
                values[f"hookview/{name.removesuffix('_us')}_ms"] = median(known) / 1e6
        value = self._summary.Value
        content = [value(tag=tag, simple_value=ms) for tag, ms in values.items()]
        self._writer.add_summary(self._summary(value=content), rows[-1][0])

    def _open(self) -> bool:
        if self._writer is None:
            try:
                from torch.utils.tensorboard import FileWriter, summary
            except ImportError:  # tensorboard is not installed
                self._missing = True
                return False
            self._summary = summary.Summary  # type: ignore[attr-defined]
            folder = str(self._folder)
            self._writer = FileWriter(folder, flush_secs=10, filename_suffix=".hookview")
        return True

    def close(self) -> None:
        """Write what is left."""
        if not self._missing:
            self._write()
        if self._writer is not None:
            self._writer.close()
