"""Syncs in operators that no other rule explains."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.rows import Call
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.by_place import by_place
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_NOTE = "each in a call that copies, to or from the device: the trace lacks the copy itself"
_FIX = (
    "To a device: create tensors there (device=...), or copy from pinned memory with "
    "non_blocking=True. From it: copy seldom, and what is needed only. Record the device, too: its "
    "copies say which it is."
)
_RECORDS = "a CUDA graph is recorded in the same operator, and the device is waited for before"
_ONCE = (
    "Record graphs before the loop: run every shape two or three times first (a graph is recorded "
    "in the second or third call), pad or bucket shapes, and do not change what a graph reads: "
    'else mode="reduce-overhead" records again.'
)


def _explains(context: Context) -> Bool:
    return np.ones(len(context.syncs), bool)


def _find(context: Context) -> Iterator[Occurrence]:
    explained = context.explained_by(RULE)
    call = context.analysis.calls[context.syncs.row]
    unseen = isin(call, [Call.COPY, Call.ASYNC_COPY]) & (context.syncs.copy < 0)
    records = ~unseen & _records_graphs(context)
    yield from by_place(context, explained & ~unseen & ~records)
    yield from by_place(context, explained & records, note=_RECORDS, fix=_ONCE)
    yield from by_place(context, explained & unseen, note=_NOTE, fix=_FIX)


def _records_graphs(context: Context) -> Bool:
    """Syncs whose outermost operator records a CUDA graph."""
    captures = np.flatnonzero(context.rows.matching(r"^(cuda|hip)StreamBeginCapture"))
    holder = context.rows.outermost_operator_of(captures)
    mine = context.rows.outermost_operator_of(context.syncs.row)
    return np.asarray((mine >= 0) & isin(mine, holder))


RULE = Rule(
    id="sync-in-operator",
    family="sync",
    title="An operator synchronizes with the device",
    description="A sync inside an operator that no other rule explains. The evidence says where it "
    "is a copy that the trace lacks on the device, and where a CUDA graph is recorded.",
    fix="Find the cause: torch.cuda.set_sync_debug_mode('warn') names the line. Then move it out "
    "of the loop, or use a form of the operator that needs nothing from the host.",
    reference="torch.cuda.set_sync_debug_mode",
    confidence="medium",
    explains=_explains,
    find=_find,
)
