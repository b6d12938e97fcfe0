"""Matrix products and convolutions run, none of them on tensor cores."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.devices import all_have_tensor_cores, all_have_tf32
from tb_hookview.rules.evidence.precision import float32_products, in_float64

_SHARE = 0.05
"""Of the devices' busy time; with less to win, nobody changes a precision."""
_KEPT = 0.5
"""Of the time that stays: mixed precision makes such kernels 2 to 4 times as fast."""


def _match(context: Context) -> Iterator[Occurrence]:
    able = context.of_kinds("matrix", "convolution", "attention") & context.work
    cores = context.analysis.kinds.tensor_core
    if not all_have_tensor_cores(context) or (able & (cores != 0)).any():
        return
    able &= ~in_float64(context)
    if all_have_tf32(context):
        able &= ~float32_products(context)
    share, time = context.device_share(able), context.device_us(able)
    if share >= _SHARE:
        yield Occurrence(
            place="matrix products and convolutions",
            everywhere=True,
            evidence=f"{time:.1f} us a step ({share:.0%} of the busy time) in matrix products, "
            "convolutions and attention, all of it by kernels without tensor cores, on a device "
            "that has them",
            count=int(able.sum()),
            wasted=np.flatnonzero(able),
            saved=1 - _KEPT,
            examples=context.work_starts(able),
            caveats=("The gain takes it that such kernels become twice as fast.",),
        )


RULE = Rule(
    id="tensor-cores-unused",
    family="precision",
    title="Tensor cores are not used",
    matches="NVIDIA devices of compute capability 7.0 or more, by the trace or by name; matrix "
    "products, convolutions or attention in 5 % of the busy time or more; none of their kernels on "
    "tensor cores by its name, and none of which the name does not tell.",
    fix="Run forward and loss under torch.autocast with bfloat16 (or float16 and a GradScaler; "
    "V100 and T4 have no bfloat16), not the backward. Keep sizes multiples of 8. Lower precision "
    "halves copies and activations as well.",
    reference="torch.amp documentation; torch_tb_profiler, tensor cores",
    match=_match,
)
