"""Progress of writing."""

from __future__ import annotations

from tb_hookview.progress import Progress


class Counter:
    """Reports progress as a share of the rows expected, at most 1."""

    def __init__(self, stage: str, expected: int, progress: Progress) -> None:
        self._stage, self._expected, self._progress = stage, max(expected, 1), progress
        self._done = 0

    def add(self, rows: int) -> None:
        """Count rows that were written."""
        self._done += rows
        self._progress(self._stage, min(self._done / self._expected, 1.0))
