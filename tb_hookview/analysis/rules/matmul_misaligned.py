"""Matrix products on tensor cores whose sizes are no multiples of what these load at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.rules.context import Context
from tb_hookview.analysis.rules.rule import Match, Rule

_MISALIGNED = (
    r"cutlass\w*_(wmma_)?tensorop\w*gemm\w*_align[12](?![0-9])"
    r"|cutlass\w*_(wmma_)?tensorop_(f16|bf16|h16816|h1688|h884)\w*gemm\w*_align4(?![0-9])"
)
"""The number after `align` is how many values are loaded at once; 16 bytes hold 4 of float32 (and
TF32), 8 of half precision."""
_SHARE = 0.01


def _match(context: Context) -> Iterator[Match]:
    found = context.work_matching(_MISALIGNED) & context.of_kinds("matrix") & context.work
    share, time = context.device_share(found), context.device_us(found)
    if share >= _SHARE:
        yield Match(
            place="matrix products",
            everywhere=True,
            evidence=f"{time:.1f} us a step ({share:.0%} of the busy time) in kernels of matrix "
            "products that load less than 16 bytes at once, as their names say",
            count=int(np.count_nonzero(found)),
            wasted_us=time,
            claims_gain=False,
            examples=context.work_starts(found),
            caveats=("The cost is all the time of these kernels; aligned ones need time too.",),
        )


RULE = Rule(
    id="matmul-misaligned",
    family="precision",
    title="Matrix products have sizes that tensor cores load slowly",
    matches="Kernels of matrix products on tensor cores with align1 or align2 in their names (in "
    "half precision align4 as well), in 1 % of the busy time or more.",
    fix="Pad vocabulary, classes and hidden sizes to multiples of 8 (better 64), of 4 for TF32. "
    "Pack sequences, and drop the last odd batch (drop_last=True).",
    reference="NVIDIA, Matrix Multiplication Background; pattern matcher MatMulDim",
    match=_match,
)
