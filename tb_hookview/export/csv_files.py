"""Tables as CSV: UTF-8, a header, RFC 4180.

Every text is quoted and no number is, so an empty text (`""`, the root module's path) differs from
a value that the trace does not hold (nothing at all). Lists and mappings are JSON in one cell.
Spreadsheets take a cell that begins with one of `= + - @`, a tab or a line break for a formula. The
names of a trace are somebody else's, so such a text gets an apostrophe in front.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from tb_hookview.export.tables import Batch, Table

SUFFIX = ".csv"
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


class CsvWriter:
    """Writes one table, a batch at a time."""

    def __init__(self, path: Path, table: Table) -> None:
        self._file = path.open("w", encoding="utf-8", newline="")
        self._file.write(_line(table.types))

    def __enter__(self) -> CsvWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, batch: Batch) -> None:
        """Write some rows."""
        self._file.writelines(map(_line, zip(*batch.values(), strict=True)))


def _line(values: Any) -> str:
    return ",".join(map(cell, values)) + "\r\n"


def cell(value: Any) -> str:
    """One value as it stands in the file."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    guarded = f"'{text}" if text.startswith(_FORMULA) else text
    return '"' + guarded.replace('"', '""') + '"'
