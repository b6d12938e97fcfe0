"""Batch norms share their statistics between ranks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_FUNCTIONS = ("SyncBatchNorm", "SyncBatchNormBackward", "SyncBatchNormFunctionBackward")


def of_batch_norms(context: Context) -> Bool:
    """Communication launched by synchronized batch norms, shape (d,)."""
    inside = context.inside(context.named(*_FUNCTIONS))
    return context.work_launched(inside) & context.of_kinds("communication")


def _match(context: Context) -> Iterator[Occurrence]:
    transfers = of_batch_norms(context) & context.work
    if not transfers.any():
        return
    calls = np.count_nonzero(context.named(*_FUNCTIONS) & context.rows)
    time = context.device_us(transfers)
    yield Occurrence(
        place="SyncBatchNorm",
        everywhere=True,
        evidence=f"{calls / len(context.steps):.0f} calls a step of synchronized batch norms, "
        f"forward and backward, with {np.count_nonzero(transfers) / len(context.steps):.0f} "
        f"collectives that take {time:.1f} us",
        count=int(calls),
        wasted=np.flatnonzero(transfers),
        examples=context.work_starts(transfers),
        caveats=("Part of this time may overlap with computation.",),
    )


RULE = Rule(
    id="sync-batchnorm",
    family="distributed",
    title="Batch norms wait for all ranks",
    matches="Collectives launched inside the function SyncBatchNorm or its backward.",
    fix="Use plain BatchNorm where a device sees 16 samples or more; else GroupNorm or LayerNorm, "
    "frozen statistics, or synchronize a few layers only.",
    reference="torch.nn.SyncBatchNorm documentation; PyTorch issue 78549",
    match=_match,
)
