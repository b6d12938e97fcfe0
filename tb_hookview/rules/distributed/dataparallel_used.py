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


def _match(context: Context) -> Iterator[Occurrence]:
    forwards = context.named(_MARK) & context.rows
    replicates = context.named("Broadcast") & context.named("Scatter").any() & context.rows
    calls = forwards if forwards.any() else replicates
    work = context.analysis.device_events
    devices = unique(work.device[context.work & (work.launch >= 0)])
    if not calls.any() or len(devices) < 2:
        return
    moves = context.work_launched(context.inside(context.named(*_MOVES))) & context.work
    yield Occurrence(
        place="DataParallel",
        everywhere=True,
        evidence=f"one process works on {len(devices)} devices; to replicate the model, scatter "
        f"its input and gather its output takes {context.device_us(moves):.1f} us a step of them",
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
    matches="DataParallel.forward, or the functions Broadcast and Scatter, and work launched on "
    "more than one device.",
    fix="Use DistributedDataParallel with one process per device: the model is replicated once "
    "instead of in every step. It needs a launcher (torchrun) and memory for its buckets.",
    reference="torch_tb_profiler; torch.nn.DataParallel documentation",
    match=_match,
)
