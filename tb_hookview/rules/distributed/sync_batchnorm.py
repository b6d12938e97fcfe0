"""Batch norms that share their statistics between ranks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.types import Bool
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_FUNCTIONS = ("SyncBatchNorm", "SyncBatchNormBackward", "SyncBatchNormFunctionBackward")


def of_batch_norms(context: Context) -> Bool:
    """Communication launched by synchronized batch norms, shape (d,)."""
    inside = context.rows.inside(context.rows.named(*_FUNCTIONS))
    return context.device_events.launched_by(inside) & context.device_events.of_kinds(
        "communication"
    )


def _find(context: Context) -> Iterator[Occurrence]:
    transfers = of_batch_norms(context) & context.device_events.counted
    if not transfers.any():
        return
    calls = np.count_nonzero(context.rows.named(*_FUNCTIONS) & context.rows.counted)
    time = context.device_events.us_per_step(transfers)
    yield Occurrence(
        place="SyncBatchNorm",
        everywhere=True,
        evidence=f"{format_count(calls / len(context.steps), 'call')}{context.each} of "
        "synchronized "
        "batch norms, forward and backward, with "
        f"{format_count(transfers.sum() / len(context.steps), 'collective')}, {format_us(time)}",
        count=int(calls),
        wasted=np.flatnonzero(transfers),
        examples=context.device_events.starts(transfers),
        caveats=("Part of this time may overlap with computation.",),
    )


RULE = Rule(
    id="sync-batchnorm",
    family="distributed",
    title="SyncBatchNorm communicates in every call",
    description="Collectives launched inside the function SyncBatchNorm or its backward.",
    fix="Use plain BatchNorm where a device sees 16 samples or more; else GroupNorm or LayerNorm, "
    "frozen statistics, or synchronize a few layers only.",
    reference="torch.nn.SyncBatchNorm documentation; PyTorch issue 78549",
    find=_find,
)
