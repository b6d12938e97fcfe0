"""Blocks of memory, allocation by allocation, and its levels, event by event."""

from __future__ import annotations

from functools import partial

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.memory.live import NEVER, MemoryClass
from tb_hookview.analysis.memory_use import MemoryUse
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import mask_of
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Int, TreeRow
from tb_hookview.schema import MEMORY_CLASSES, PHASES
from tb_hookview.schema.memory import MemoryBlock, MemoryPoint
from tb_hookview.tables.events.names import Columns, Names
from tb_hookview.tables.model.columns import Arrays, Numbers, Texts, Values, known, no_rows
from tb_hookview.trace import EventCategory

_ALLOCATES = "aten::empty"
"""Beginning of the names of operators that only allocate, for another one."""


def memory_blocks(selection: Selection) -> Arrays:
    """The table `memory_blocks`: those allocated, or first seen, in a selected step."""
    analysis, memory = selection.analysis, selection.analysis.memory
    if memory is None:
        return no_rows(MemoryBlock)
    blocks, lives, names = memory.blocks, memory.lives, Names(analysis)
    tree, step = analysis.call_tree, analysis.steps.at(lives.birth)
    return Arrays(
        np.flatnonzero(selection.times(lives.birth)),
        {
            "id": lambda i: Numbers(memory.events.source[blocks.first[i]]),
            "device": lambda i: Texts(memory.events.devices, blocks.device[i]),
            "memory_class": lambda i: Texts(MEMORY_CLASSES, memory.kind[i]),
            "bytes": lambda i: Numbers(blocks.size[i]),
            **_times(memory),
            **_operators(analysis, names),
            **names.event_columns("freed_by", lookup(tree.event, lives.death_row)),
            **names.step_columns(step),
            "phase": lambda i: Texts(PHASES, lives.phase[i]),
            **names.module_columns(lives.module),
        },
    )


def _times(memory: MemoryUse) -> Columns:
    lives, blocks = memory.lives, memory.blocks
    born, freed = blocks.birth >= 0, lives.death != NEVER
    end = np.where(freed, lives.death, lives.birth)
    return {
        "allocated_us": lambda i: Numbers(lives.birth[i] / 1000, born[i]),
        "freed_us": lambda i: Numbers(end[i] / 1000, freed[i]),
        "lifetime_us": lambda i: Numbers((end - lives.birth)[i] / 1000, (born & freed)[i]),
    }


def _operators(analysis: Analysis, names: Names) -> Columns:
    memory = analysis.memory
    rows = operator_of(analysis, memory.lives.birth_row) if memory else np.zeros(0, np.int64)
    event = lookup(analysis.call_tree.event, rows)
    return names.event_columns("operator", event)


def operator_of(analysis: Analysis, row: TreeRow) -> TreeRow:
    """Operator that allocated: the innermost, or that around one that only allocates; -1: none."""
    operator = analysis.operators.named & (analysis.host.kind == EventCategory.OPERATOR)
    inner = lookup(analysis.call_tree.nearest(operator), row)
    outer = lookup(analysis.call_tree.nearest_above(operator), inner)
    allocates = mask_of(
        analysis.host.named(lambda name: name.startswith(_ALLOCATES)), len(analysis.host)
    )
    only = lookup(allocates, inner) == 1
    return np.where(only & (outer >= 0), outer, inner)


def memory_curve(selection: Selection) -> Arrays:
    """The table `memory_curve`: events of the allocators in the selected steps."""
    memory = selection.analysis.memory
    if memory is None:
        return no_rows(MemoryPoint)
    events = memory.events
    return Arrays(
        np.flatnonzero(selection.times(events.time) & (events.allocated >= 0)),
        {
            "id": lambda i: Numbers(events.source[i]),
            "device": lambda i: Texts(events.devices, events.device[i]),
            "time_us": lambda i: Numbers(events.time[i] / 1000),
            "allocated_bytes": lambda i: Numbers(events.allocated[i]),
            "reserved_bytes": lambda i: known(events.reserved[i]),
            **{
                f"{kind.name.lower()}_bytes": partial(_levels, memory, kind) for kind in MemoryClass
            },
        },
    )


def _levels(memory: MemoryUse, kind: MemoryClass, at: Int) -> Values:
    known_classes = np.full(len(at), memory.addresses_known)
    return Numbers(memory.live.of(kind, at), known_classes)
