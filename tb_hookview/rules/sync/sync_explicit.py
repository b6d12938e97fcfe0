"""Waits that the program asks for itself: `torch.cuda.synchronize()`, an event, a barrier."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.by_place import by_place
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.trace import EventCategory

_MEASUREMENT = (
    "There is one such wait in every step, as a program that measures time has; the finding is "
    "void if it goes when the measurement goes.",
)


def _waits(context: Context) -> Bool:
    waits = context.waits
    return np.asarray(
        (waits.operator < 0) | waits.inside_matching(r"c10d::(barrier|monitored_barrier\w*)")
    )


def _match(context: Context) -> Iterator[Occurrence]:
    waits = context.explained_by(RULE) & ~_teardown(context) & ~_of_ddp(context)
    caveats = _MEASUREMENT if _once_a_step(context, waits) else ()
    return by_place(context, waits, caveats=caveats)


def _teardown(context: Context) -> Bool:
    """Waits after the trace's last operator: the end of the program, not of a step."""
    call_tree, waits = context.call_tree, context.waits
    operators = call_tree.start[context.host.kind == EventCategory.OPERATOR]
    last = operators.max() if len(operators) else np.iinfo(np.int64).max
    return np.asarray(waits.start > last)


def _of_ddp(context: Context) -> Bool:
    """DistributedDataParallel's own clock: it reads events in its first ten steps, then rarely."""
    waits = context.waits
    calls = waits.names(waits.position).tolist()
    event = np.array([call.endswith("EventSynchronize") for call in calls], bool)
    return np.asarray(waits.inside("DistributedDataParallel.forward") & event)


def _once_a_step(context: Context, waits: Bool) -> bool:
    step = context.analysis.steps.at(context.waits.start[waits & context.own_waits])
    return len(context.steps) > 1 and step.tolist() == list(context.steps)


RULE = Rule(
    id="sync-explicit",
    family="sync",
    title="The program itself asks to wait for the device",
    matches="A synchronize of device, stream or event that no operator asked for, or a barrier, "
    "inside a step and before the trace's last operator. The events that DistributedDataParallel "
    "reads to time itself, in its first ten steps and every 100th, are left out.",
    fix="Delete it or move it out of the loop. Measure time with CUDA events that are read later. "
    "Order streams by wait_event or wait_stream, which do not stop the host. Keep barriers for "
    "checkpoints.",
    reference="CUDA semantics, asynchronous execution; Nsight Systems rule cuda_api_sync",
    waits=_waits,
    match=_match,
)
