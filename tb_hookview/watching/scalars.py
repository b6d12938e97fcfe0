"""Summaries of the steps for TensorBoard's SCALARS, by torch's own writer."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from typing import Any

from tb_hookview.step_log import DURATIONS
from tb_hookview.watching.step_rows import Row

_PERIOD_S = 10.0


class Scalars:
    """Writes the median of each duration over the latest steps, every ten seconds.

    A scalar for every step would cost the training more than the step's own row.
    """

    def __init__(self, folder: Path) -> None:
        """Open nothing yet."""
        self._folder = folder
        self._writer: Any = None
        self._rows: list[Row] = []
        self._since = time.monotonic()
        self._missing = False

    def add(self, rows: list[Row]) -> None:
        """Take rows; write when it is time."""
        if self._missing:
            return
        self._rows += rows
        if time.monotonic() - self._since >= _PERIOD_S:
            self._write()

    def _write(self) -> None:
        self._since = time.monotonic()
        rows, self._rows = self._rows, []
        if not rows or not self._open():
            return
        step = rows[-1][0]
        for number, name in enumerate(DURATIONS, 1):
            known = [row[number] for row in rows if row[number] >= 0]
            if known:
                tag = f"hookview/{name.removesuffix('_us')}_ms"
                self._writer.add_scalar(tag, median(known) / 1e6, step)
        self._writer.add_scalar("hookview/slowest_ms", max(row[1] for row in rows) / 1e6, step)
        self._writer.flush()

    def _open(self) -> bool:
        if self._writer is None:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:  # tensorboard is not installed
                self._missing = True
                return False
            self._writer = SummaryWriter(str(self._folder), filename_suffix=".hookview")
        return True

    def close(self) -> None:
        """Write what is left."""
        if not self._missing:
            self._write()
        if self._writer is not None:
            self._writer.close()
