"""Matrix products on tensor cores whose sizes do not fit their loads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from tb_hookview.arrays.types import Bool
from tb_hookview.formats import format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.devices import all_have_tensor_cores
from tb_hookview.rules.evidence.inputs import Inputs, with_inputs

_MISALIGNED = (
    r"cutlass\w*_(wmma_)?tensorop\w*gemm\w*_align[12](?![0-9])"
    r"|cutlass\w*_(wmma_)?tensorop_(f16|bf16|h16816|h1688|h884)\w*gemm\w*_align4(?![0-9])"
)
"""The number after `align` is how many values are loaded at once; 16 bytes hold 4 of float32 (and
TF32), 8 of half precision."""
_SHARE = 0.01


_SECOND = {"aten::mm": 1, "aten::bmm": 1, "aten::addmm": 2, "aten::baddbmm": 2}
"""Place of the second matrix among the inputs of a product."""
_HALF = ("c10::Half", "c10::BFloat16")
_UNIT = 8
"""Values of half precision in 16 bytes."""


def _find(context: Context) -> Iterator[Occurrence]:
    named = (
        context.device_events.matching(_MISALIGNED)
        & context.device_events.of_kinds("matrix")
        & context.device_events.counted
    )
    shaped = _by_shape(context) & context.device_events.counted & ~named
    found = named | shaped
    share, time = context.device_events.share(found), context.device_events.us_per_step(found)
    if share >= _SHARE:
        yield Occurrence(
            place="matrix products",
            everywhere=True,
            evidence=f"{format_us(time)} a step ({share:.0%} of the busy time) in kernels of "
            f"matrix products that load less than 16 bytes at once: {np.count_nonzero(named)} as "
            f"their names say, {np.count_nonzero(shaped)} by the shape of what they multiply",
            count=int(np.count_nonzero(found)),
            wasted=np.flatnonzero(found),
            claims_gain=False,
            examples=context.device_events.starts(found),
            caveats=("The cost is all the time of these kernels; aligned ones take time too.",),
        )


def _by_shape(context: Context) -> Bool:
    """Kernels of half-precision products whose result has rows of odd length, shape (d,)."""
    if not all_have_tensor_cores(context):
        return np.zeros(len(context.device_events.counted), bool)
    odd = np.zeros(len(context.call_tree), bool)
    for name, second in _SECOND.items():
        odd |= with_inputs(context, context.rows.named(name), partial(_is_odd, second))
    return context.device_events.launched_by(
        context.rows.inside(odd)
    ) & context.device_events.of_kinds("matrix")


def _is_odd(second: int, inputs: Inputs) -> bool:
    if len(inputs) <= second:
        return False
    shape, kind = inputs[second]
    width = shape[-1] if shape else None
    return kind in _HALF and isinstance(width, int) and width > _UNIT and width % _UNIT > 0


RULE = Rule(
    id="matmul-misaligned",
    family="precision",
    title="Matrix product sizes are not aligned for tensor cores",
    description="Kernels of matrix products on tensor cores with align1 or align2 in their names "
    "(in half precision align4 as well), or products in half precision on NVIDIA devices whose "
    "result has rows of a length that 8 does not divide, in 1 % of the busy time or more.",
    fix="Pad vocabulary, classes and hidden sizes to multiples of 8 (better 64), of 4 for TF32. "
    "Pack sequences, and drop the last odd batch (drop_last=True).",
    reference="NVIDIA, Matrix Multiplication Background; pattern matcher MatMulDim",
    find=_find,
)
