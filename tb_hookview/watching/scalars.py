"""Steps as TensorBoard's SCALARS: a file of events, as torch's writer would write it.

That writer takes a second to import. On a full disk it leaves half an event, prints a traceback and
writes nothing more. Here a fault is a warning, and only whole events stay in the file.
"""

from __future__ import annotations

import os
import struct
import time
from functools import cache
from pathlib import Path
from statistics import median

from tb_hookview.recorder import faults
from tb_hookview.step_log import DURATIONS
from tb_hookview.watching.step_file import LOST
from tb_hookview.watching.step_rows import Row

_GAP_NS = 100_000_000
"""From one point to the next: one costs 30 us of processor time, so 0.03% of it."""
_POINTS = 20_000
"""Points after which the gap doubles: the file grows by 6 MB, and TensorBoard shows 1,000."""
_SLOWEST = "hookview/slowest_ms"
_TAGS = [f"hookview/{name.removesuffix('_us')}_ms" for name in DURATIONS]


class Scalars:
    """Writes a point for each step that takes 100 ms or longer; shorter ones share one.

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

    def add(self, rows: list[Row]) -> None:
        """Take rows; write those that make a point."""
        for row in rows:
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
            self._append(_event(_scalars(rows[-1][0], values)))
        except OSError as fault:
            faults.report(f"writing scalars into {self._folder}", fault, LOST)

    def _begin(self) -> None:
        self._close()
        now = f"{time.time():.6f}"
        path = self._folder / f"events.out.tfevents.{now}.{self._worker}.hookview"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        self._path, self._size = path, 0

    def _append(self, record: bytes) -> None:
        """Append an event, after the first one if there is none yet, or no piece of it."""
        content = record if self._size else _event(_field(3, _VERSION)) + record
        done = 0
        try:
            while done < len(content):
                done += os.write(self._file, content[done:])
        except OSError:
            os.ftruncate(self._file, self._size)
            raise
        self._size += len(content)

    def close(self) -> None:
        """Write what is left."""
        if self._rows:
            self._write()
        self._close()

    def _close(self) -> None:
        if self._path is not None:
            os.close(self._file)
            self._path = None


_VERSION = b"brain.Event:2"
"""What the first event of a file says."""


def _scalars(step: int, values: dict[str, float]) -> bytes:
    """Return values of a step as the fields of an event: `step`, and a `summary` of values."""
    each = [
        _field(1, _field(1, tag.encode()) + struct.pack("<Bf", 0x15, values[tag])) for tag in values
    ]
    return b"\x10" + _varint(step) + _field(5, b"".join(each))


def _event(fields: bytes) -> bytes:
    """Return the record of an event: its length, its content, and a checksum of each."""
    content = struct.pack("<Bd", 0x09, time.time()) + fields
    length = struct.pack("<Q", len(content))
    return b"".join((length, _checksum(length), content, _checksum(content)))


def _field(number: int, content: bytes) -> bytes:
    """Return a field of bytes, as protobuf does."""
    return bytes((number << 3 | 2,)) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _checksum(content: bytes) -> bytes:
    """Return the masked CRC-32C of a record."""
    table, crc = _crc_table(), 0xFFFFFFFF
    for byte in content:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF)


@cache
def _crc_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table
