"""Blocks of memory, allocation by allocation."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.memory.classes import NEVER
from tb_hookview.analysis.memory_use import MemoryUse
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import TreeRow
from tb_hookview.schema import MEMORY_CLASSES
from tb_hookview.schema.memory import MemoryBlock
from tb_hookview.tables.events.names import PHASES, Columns, Names
from tb_hookview.tables.model.columns import columns_of
from tb_hookview.tables.model.values import Arrays, Numbers, Texts, known, no_rows
from tb_hookview.trace import EventCategory

_ALLOCATES = "aten::empty"
"""Beginning of the names of operators that only allocate, for another one."""


def memory_blocks(selection: Selection) -> Arrays:
    """The table `memory_blocks`: those allocated, or first seen, in a selected step."""
    analysis, memory = selection.analysis, selection.analysis.memory
    if memory is None:
        return no_rows(column.name for column in columns_of(MemoryBlock))
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
            "freed_by": lambda i: names.event(lookup(tree.event, lives.death_row[i])),
            "freed_by_id": lambda i: known(lookup(tree.event, lives.death_row[i])),
            "step": lambda i: names.step(step[i]),
            "step_id": lambda i: known(step[i]),
            "phase": lambda i: Texts(PHASES, lives.phase[i]),
            "module": lambda i: names.module(lives.module[i]),
            "module_id": lambda i: known(lives.module[i]),
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
    return {
        "operator": lambda i: names.event(event[i]),
        "operator_id": lambda i: known(event[i]),
    }


def operator_of(analysis: Analysis, row: TreeRow) -> TreeRow:
    """Operator that allocated: the innermost, or that around one that only allocates; -1: none."""
    operator = analysis.operators.named & (analysis.host.kind == EventCategory.OPERATOR)
    inner = lookup(analysis.call_tree.nearest(operator), row)
    outer = lookup(analysis.call_tree.nearest_above(operator), inner)
    allocates = np.zeros(len(analysis.host), bool)
    allocates[analysis.host.named(lambda name: name.startswith(_ALLOCATES))] = True
    only = lookup(allocates.astype(np.int64), inner) == 1
    return np.where(only & (outer >= 0), outer, inner)
