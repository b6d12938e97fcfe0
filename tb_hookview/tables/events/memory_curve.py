"""Levels of memory, event by event."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tb_hookview.analysis.memory.classes import MemoryClass
from tb_hookview.analysis.memory_use import MemoryUse
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.types import Int
from tb_hookview.schema.memory import MemoryPoint
from tb_hookview.tables.model.columns import columns_of
from tb_hookview.tables.model.values import Arrays, Numbers, Texts, Values, known, no_rows


def memory_curve(selection: Selection) -> Arrays:
    """The table `memory_curve`: events of the allocators in the selected steps."""
    memory = selection.analysis.memory
    if memory is None:
        return no_rows(column.name for column in columns_of(MemoryPoint))
    events = memory.events
    return Arrays(
        np.flatnonzero(selection.times(events.time) & (events.allocated >= 0)),
        {
            "id": lambda i: Numbers(events.source[i]),
            "device": lambda i: Texts(events.devices, events.device[i]),
            "time_us": lambda i: Numbers(events.time[i] / 1000),
            "allocated_bytes": lambda i: Numbers(events.allocated[i]),
            "reserved_bytes": lambda i: known(events.reserved[i]),
            **{f"{kind.name.lower()}_bytes": _of(memory, kind) for kind in MemoryClass},
        },
    )


def _of(memory: MemoryUse, kind: MemoryClass) -> Callable[[Int], Values]:
    return partial(_levels, memory, kind)


def _levels(memory: MemoryUse, kind: MemoryClass, at: Int) -> Values:
    known_classes = np.full(len(at), memory.addresses_known)
    return Numbers(memory.live.of(kind)[at], known_classes)
