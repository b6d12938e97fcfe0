"""Syncs in operators that no other rule explains."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.runtime_calls import Call
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


def _explains(context: Context) -> Bool:
    return np.ones(len(context.syncs), bool)


def _find(context: Context) -> Iterator[Occurrence]:
    explained = context.explained_by(RULE)
    call = context.analysis.calls[context.syncs.row]
    unseen = isin(call, [Call.COPY, Call.ASYNC_COPY]) & (context.syncs.copy < 0)
    yield from by_place(context, explained & ~unseen)
    yield from by_place(context, explained & unseen, note=_NOTE, fix=_FIX)


RULE = Rule(
    id="sync-in-operator",
    family="sync",
    title="An operator synchronizes with the device",
    description="A sync inside an operator that no other rule explains. The evidence says where it "
    "is a copy that the trace lacks on the device.",
    fix="Find the cause: torch.cuda.set_sync_debug_mode('warn') names the line. Then move it out "
    "of the loop, or use a form of the operator that needs nothing from the host.",
    reference="torch.cuda.set_sync_debug_mode",
    confidence="medium",
    explains=_explains,
    find=_find,
)
