"""Writes rows of steps into files of a bounded size; a fault is one warning and a counter."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

from tb_hookview.recorder import faults
from tb_hookview.step_log import DURATIONS, file_name
from tb_hookview.watching.step_rows import Row

LOST = "these steps are not kept"
"""The consequence of every fault of a file here."""
_FILES = 8
"""Files of one process; the oldest is removed when another one is begun, the first never."""

STATES = ("", "warmup", "recorded", "after")
"""What the recorder did in a step; the last is the step after a recording was written."""

_HEAD = 2 + len(DURATIONS)
"""Members of a `Row` before its blocks: number, durations, collections."""


class AppendedFile:
    """A new file that is appended to, whole records only."""

    def __init__(self, path: Path) -> None:
        """Make the file.

        Raises:
            OSError: it cannot be made, or is there.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        self.path, self.size = path, 0
        self._file = os.open(path, flags, 0o644)

    def append(self, content: bytes, *, lines: bool = False) -> None:
        """Append records. Where not all fit, no piece of one stays, and the file is used on.

        Args:
            content: one record.
            lines: it is several, each a line.

        Raises:
            OSError: not all was written; `size` is that of the whole records.
        """
        done = 0
        try:
            while done < len(content):
                done += os.write(self._file, content[done:])
        except OSError:
            done = content.rfind(b"\n", 0, done) + 1 if lines else 0
            os.ftruncate(self._file, self.size + done)
            raise
        finally:
            self.size += done

    def close(self) -> None:
        """Close it."""
        os.close(self._file)


class StepFile:
    """The files of one process. Used by one thread."""

    def __init__(
        self, folder: Path, worker: str, header: Callable[[], dict[str, Any]], most_bytes: int
    ) -> None:
        """Open nothing yet.

        Args:
            folder: exists, or is made with the first row.
            worker: first part of the files' names.
            header: called for what the first line of each file says.
            most_bytes: of all files together.
        """
        self.lost = 0
        """Lines that could not be written."""
        self._folder, self._worker, self._header = folder, worker, header
        self._most = max(most_bytes // _FILES, 4096)
        self._paths: list[Path] = []
        self._file: AppendedFile | None = None

    def write(self, lines: list[bytes]) -> None:
        """Write lines, whole ones only."""
        if not lines:
            return
        content, kept = b"".join(lines), 0
        try:
            file = self._opened()
            before = file.size
            try:
                file.append(content, lines=True)
            finally:
                kept = file.size - before
        except OSError as fault:
            self.lost += content.count(b"\n", kept)
            faults.report(f"writing steps into {self._folder}", fault, LOST)

    def _opened(self) -> AppendedFile:
        file = self._file
        if file is not None and (file.size >= self._most or not file.path.exists()):
            self.close()
        if self._file is None:
            self._file = self._open()
        return self._file

    def _open(self) -> AppendedFile:
        file = AppendedFile(self._folder / file_name(self._worker, time.time_ns()))
        try:
            file.append(to_line(self._header()))
        except OSError:
            file.close()
            file.path.unlink(missing_ok=True)
            raise
        self._paths.append(file.path)
        if len(self._paths) > _FILES:
            self._paths.pop(1).unlink(missing_ok=True)
        return file

    def close(self) -> None:
        """Close the file; the next row begins another one."""
        file, self._file = self._file, None
        if file is not None:
            file.close()


def to_line(content: dict[str, Any]) -> bytes:
    """Return a line of JSON."""
    return _encode(content).encode() + b"\n"


_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def row_lines(
    rows: Sequence[Row],
    states: Iterable[int],
    have_phases: Iterable[bool],
    ends: Iterable[float],
    memory: int | None,
) -> list[bytes]:
    """Return a line for each step.

    Args:
        rows: as `rows_of` gives them.
        states: index into `STATES` of each.
        have_phases: whether more than loading was timed in each.
        ends: of each, seconds since the epoch.
        memory: bytes, the peak at the last one; None where it was not asked for.
    """
    more = [
        ("" if timed else ',"phases":false') + (f',"recording":"{STATES[state]}"' if state else "")
        for state, timed in zip(states, have_phases, strict=True)
    ]
    if memory is not None:
        more[-1] = f',"memory_bytes":{memory}' + more[-1]
    lines: list[bytes] = []
    for length, run in groupby(zip(rows, ends, more, strict=True), lambda each: len(each[0])):
        alike, at, last = zip(*run, strict=True)
        columns: list[Sequence[Any]] = [*zip(*alike, strict=True)]
        for place in range(1, length):
            if place != _HEAD - 1:
                columns[place] = _microseconds(columns[place])
        line = _template(length)
        lines += [(line % values).encode() for values in zip(*columns, at, last, strict=True)]
    return lines


def _microseconds(nanoseconds: Sequence[int]) -> Sequence[int | str]:
    if min(nanoseconds) < 0:
        return ["null" if each < 0 else (each + 500) // 1000 for each in nanoseconds]
    return [(each + 500) // 1000 for each in nanoseconds]


@lru_cache
def _template(values: int) -> str:
    """Return the line of a row of N values: `json` takes three times as long for one."""
    names = ("step", *DURATIONS, "gc_count")
    members = [f'"{name}":%s' for name in names]
    blocks = ",".join(["%s"] * ((values - len(names)) // 2))
    if blocks:
        members += [f'"forward":[{blocks}]', f'"backward":[{blocks}]']
    return f'{{{",".join(members)},"time":%.3f%s}}\n'
