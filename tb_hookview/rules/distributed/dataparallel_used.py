"""One process drives several devices by `DataParallel`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import unique
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_MOVES = (
    *("Broadcast", "BroadcastBackward", "Scatter", "ScatterBackward", "Gather", "GatherBackward"),
    *("ReduceAddCoalesced", "ReduceAddCoalescedBackward"),
)
_MARK = "DataParallel.forward"


def _find(context: Context) -> Iterator[Occurrence]:
    forwards = context.rows.named(_MARK) & context.rows.counted
    replicates = (
        context.rows.named("Broadcast") & context.rows.named("Scatter").any() & context.rows.counted
    )
    calls = forwards if forwards.any() else replicates
    work = context.analysis.device_events
    devices = unique(work.device[context.device_events.counted & (work.launch >= 0)])
    if not calls.any() or len(devices) < 2:
        return
    moves = (
        context.device_events.launched_by(context.rows.inside(context.rows.named(*_MOVES)))
        & context.device_events.counted
    )
    yield Occurrence(
        place="DataParallel",
        everywhere=True,
        evidence=f"one process works on {len(devices)} devices; to replicate the model, scatter "
        "its input and gather its output takes "
        f"{context.us_text(context.device_events.us_per_step(moves))} in them",
        count=int(np.count_nonzero(calls)),
        wasted=np.flatnonzero(moves),
        claims_gain=False,
        examples=context.call_tree.start[calls],
        latent="all devices are driven by one Python interpreter",
    )


RULE = Rule(
    id="dataparallel-used",
    family="distributed",
    title="DataParallel drives several devices from one process",
    description="DataParallel.forward, or the functions Broadcast and Scatter, and launches on "
    "more than one device.",
    fix="Use DistributedDataParallel with one process per device: the model is replicated once "
    "instead of in every step. It needs a launcher (torchrun) and memory for its buckets.",
    reference="torch_tb_profiler; torch.nn.DataParallel documentation",
    find=_find,
)
