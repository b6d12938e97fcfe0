"""Explicit syncs of the program: `torch.cuda.synchronize()`, an event, a barrier."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.rows import Call
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.by_place import by_place
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.trace import EventCategory

_MEASUREMENT = (
    "There is one such sync in every step, as in a program that measures time; if it is part of "
    "the measurement only, ignore this finding.",
)

_UNKNOWN = "The trace has no operators: the sync may be one of torch, or of a library."


def _explains(context: Context) -> Bool:
    syncs = context.syncs
    copies = isin(context.analysis.calls[syncs.row], [Call.COPY, Call.ASYNC_COPY])
    outside = (syncs.operator < 0) & (syncs.copy < 0) & ~copies
    return np.asarray(outside | syncs.inside_matching(r"c10d::(barrier|monitored_barrier\w*)"))


def _find(context: Context) -> Iterator[Occurrence]:
    syncs = context.explained_by(RULE) & ~_outside(context) & ~_of_ddp(context)
    if not context.syncs.operators_known:
        return by_place(context, syncs, caveats=(_UNKNOWN,), confidence="low")
    caveats = _MEASUREMENT if _once_a_step(context, syncs) else ()
    return by_place(context, syncs, caveats=caveats)


def _outside(context: Context) -> Bool:
    """Syncs for what came before the trace, and after its last operator, where the program ends.

    A device-wide one before the first operator waits for nothing that is in the trace.
    """
    call_tree, syncs = context.call_tree, context.syncs
    operators = call_tree.start[context.host.kind == EventCategory.OPERATOR]
    last = operators.max() if len(operators) else np.iinfo(np.int64).max
    return np.asarray((syncs.start > last) | context.analysis.syncs.at_start)


def _of_ddp(context: Context) -> Bool:
    """DistributedDataParallel's own clock: it reads events in its first ten steps, then rarely."""
    syncs = context.syncs
    calls = syncs.names(syncs.row).tolist()
    event = np.array([call.endswith("EventSynchronize") for call in calls], bool)
    return np.asarray(syncs.inside("DistributedDataParallel.forward") & event)


def _once_a_step(context: Context, syncs: Bool) -> bool:
    step = context.analysis.steps.at(context.syncs.start[syncs & context.syncs.counted])
    return len(context.steps) > 1 and step.tolist() == list(context.steps.indices)


RULE = Rule(
    id="sync-explicit",
    family="sync",
    title="Explicit synchronization with the device",
    description="A synchronize of device, stream or event outside of operators, or a barrier, "
    "inside a step and before the trace's last operator. One of the whole device before the first "
    "operator is left out, and the events that DistributedDataParallel reads to time itself, in "
    "its first ten steps and every 100th.",
    fix="Delete it or move it out of the loop. Measure time with CUDA events that are read later. "
    "Order streams by wait_event or wait_stream, which do not block the host. Use barriers for "
    "checkpoints only.",
    reference="CUDA semantics, asynchronous execution; Nsight Systems rule cuda_api_sync",
    explains=_explains,
    find=_find,
)
