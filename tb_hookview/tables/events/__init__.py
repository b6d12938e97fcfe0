"""The tables at event level, computed from an analysis as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tb_hookview.analysis.selection import Selection
from tb_hookview.tables.events.device_events import device_events
from tb_hookview.tables.events.events import events
from tb_hookview.tables.events.gaps import gaps
from tb_hookview.tables.events.host_rows import host_rows
from tb_hookview.tables.events.node_evaluations import node_evaluations
from tb_hookview.tables.model.values import Arrays

SOURCES: Mapping[str, Callable[[Selection], Arrays]] = {
    "events": events,
    "device_events": device_events,
    "host_rows": host_rows,
    "node_evaluations": node_evaluations,
    "gaps": gaps,
}
"""The function that computes each table from the selected steps."""
