"""Bytes that operators allocate and free, themselves and with the operators inside."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.host.operators import OperatorRows
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.memory.events import AllocatorEvents
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Bool, Int, StringIndex, TreeRow
from tb_hookview.trace import EventCategory


class OperatorMemory(NamedTuple):
    """Operators of a name on a device, shape (o,); those without any event are left out."""

    device: Int
    string: StringIndex
    calls: Int
    increase: Int
    """Bytes allocated less bytes freed, operators inside included."""
    self_increase: Int
    allocated: Int
    """Bytes allocated, operators inside included."""
    self_allocated: Int
    allocations: Int
    self_allocations: Int


def operator_memory(
    host: HostRows, rows: OperatorRows, events: AllocatorEvents, chosen: Bool
) -> OperatorMemory:
    """Sum allocations and frees by name of the operator.

    Args:
        host: host rows.
        rows: which of them are operators.
        events: events of the allocators.
        chosen: events that count, shape (m,).
    """
    # As torch_tb_profiler counts: annotations are no operators, and an event whose innermost row
    # is no operator is no operator's.
    operator = rows.named & (host.kind == EventCategory.OPERATOR)
    parts = []
    for device in range(len(events.devices)):
        span = events.of(device)
        mine = np.arange(span.start, span.stop)
        row = events.row[mine]
        mine = mine[chosen[mine] & (row >= 0)]
        mine = mine[operator[events.row[mine]]]
        calls = operator & ~rows.repeats
        parts.append(_of_device(host, calls, events.row[mine], events.amount[mine], device))
    return OperatorMemory(*np.concatenate(parts, axis=1)) if parts else _NOTHING


def _of_device(host: HostRows, calls: Bool, row: TreeRow, amount: Int, device: int) -> Int:
    """Columns of `OperatorMemory` of one device, shape (9, operators).

    A row that is one call with the row above it counts there, and by itself only as what it is.
    """
    size, string = len(host.trace.strings), host.string
    gained, called = np.maximum(amount, 0), string[calls]
    columns = []
    for values in (amount, gained, gained > 0):
        column = sum_by(row, values, len(host))
        columns.append(sum_by(called, _with_inside(host, column)[calls], size))
        columns.append(sum_by(string[row], values, size))
    counts = np.bincount(called, minlength=size)
    names = np.flatnonzero(np.any(columns, axis=0))
    kept = [column[names] for column in columns]
    return np.stack([np.full(len(names), device), names, counts[names], *kept])


def _with_inside(host: HostRows, column: Int) -> Int:
    """Add to each row's value those of the rows inside."""
    before = np.concatenate([[0], np.cumsum(column)])
    return np.asarray(before[host.call_tree.subtree_end] - before[:-1])


_NOTHING = OperatorMemory(*np.zeros((9, 0), np.int64))
