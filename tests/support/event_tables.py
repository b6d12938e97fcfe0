"""Tables at event level of what a test made."""

from __future__ import annotations

from typing import Any

from tb_hookview.analysis.selection import Selection
from tb_hookview.tables.catalogue import entry, event_rows
from tb_hookview.tables.table import Table


def event_table(name: str, selection: Selection) -> Table[Any]:
    return Table(entry(name).row_type, lambda: event_rows(name, selection), name)
