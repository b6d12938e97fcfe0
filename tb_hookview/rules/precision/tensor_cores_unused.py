"""Matrix products and convolutions, none of them on tensor cores."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.types import Bool
from tb_hookview.formats import format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.devices import all_have_tensor_cores, all_have_tf32, tf32_speedup
from tb_hookview.rules.evidence.precision import float32_products, in_float64

_FLOAT32_ATTENTION = r"^fmha_cutlass[FB]_f32_"
_SHARE = 0.05
"""Part of the devices' busy time; with less to gain, nobody changes a precision."""
_UNKNOWN = 0.1
"""Part of the time in such kernels up to which their names may leave the use open."""
_FASTER = 2.0
"""Times as fast, at least, on devices without TF32; mixed precision makes it 2 to 4."""
_ALLOW_TF32 = (
    "Convolutions use TF32 by default: set torch.backends.cudnn.allow_tf32 = True again if a "
    "mantissa of 10 bits is enough. "
)


def _find(context: Context) -> Iterator[Occurrence]:
    able = (
        context.device_events.of_kinds("matrix", "convolution", "attention")
        & context.device_events.counted
        & ~context.analysis.kinds.unfused
    )
    cores, us_per_step = context.analysis.kinds.tensor_core, context.device_events.us_per_step
    if not all_have_tensor_cores(context) or (able & (cores == 1) & ~_in_float32(context)).any():
        return
    unknown = us_per_step(able & (cores < 0))
    if unknown > _UNKNOWN * us_per_step(able):
        return
    able &= (cores == 0) & ~in_float64(context)
    faster, fix = _FASTER, ""
    if all_have_tf32(context) and tf32_speedup(context)[0] > 1:
        able &= ~float32_products(context)
        faster = max(faster, tf32_speedup(context)[0])
        if (able & context.device_events.of_kinds("convolution")).any():
            fix = _ALLOW_TF32 + RULE.fix
    share = context.device_events.share(able)
    if share >= _SHARE:
        yield Occurrence(
            place="matrix products and convolutions",
            everywhere=True,
            evidence=f"{context.us_text(us_per_step(able))} ({share:.0%} of the busy time) in "
            "matrix products, convolutions and attention, all of it by kernels without tensor "
            f"cores, on a device that has them{_open(unknown)}",
            count=int(able.sum()),
            wasted=np.flatnonzero(able),
            saved=1 - 1 / faster,
            examples=context.device_events.starts(able),
            caveats=(f"Assumes that such kernels become {faster:.1f} times as fast.",),
            fix=fix,
        )


def _in_float32(context: Context) -> Bool:
    """Attention in float32, which computes in parts on tensor cores: no mixed precision."""
    return context.device_events.matching(_FLOAT32_ATTENTION)


def _open(unknown_us: float) -> str:
    if not unknown_us:
        return ""
    return f"; the names of others, {format_us(unknown_us)}, leave their use open"


RULE = Rule(
    id="tensor-cores-unused",
    family="precision",
    title="Tensor cores are not used",
    description="NVIDIA devices of compute capability 7.0 or more, by the trace or by name; matrix "
    "products, convolutions or attention in 5% of the busy time or more; none of their kernels on "
    "tensor cores by its name (attention in float32 aside), and no more than a tenth of their time "
    "in kernels whose names leave that unknown.",
    fix="Run forward and loss under torch.autocast with bfloat16 (or float16 and a GradScaler; "
    "V100 and T4 have no bfloat16), not the backward. Keep sizes multiples of 8. Lower precision "
    "halves copies and activations as well.",
    reference="torch.amp documentation; torch_tb_profiler, tensor cores",
    find=_find,
)
