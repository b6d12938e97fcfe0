"""Matrix products in float32 run at full precision on a device that has TF32."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.devices import all_have_tf32
from tb_hookview.rules.evidence.precision import float32_products

_OPERATORS = r"^aten::(mm|addmm|bmm|baddbmm|addbmm|mv|addmv|linear|matmul)$"
_TF32 = r"s1688gemm|tf32"
_SHARE = 0.01
_KEPT = 1 / 3
"""Of the time that stays, typical of a large product."""


def _match(context: Context) -> Iterator[Occurrence]:
    if not all_have_tf32(context):
        return
    asked = context.work_launched(context.inside(context.matching(_OPERATORS))) & context.work
    found = asked & float32_products(context)
    share, time = context.device_share(found), context.device_us(found)
    enabled = (asked & context.work_matching(_TF32)).any()
    if share >= _SHARE and not enabled:
        yield Occurrence(
            place="matrix products",
            everywhere=True,
            evidence=f"{time:.1f} us a step ({share:.0%} of the busy time) in sgemm kernels, and "
            "no matrix product in TF32",
            count=int(np.count_nonzero(found)),
            wasted=np.flatnonzero(found),
            saved=1 - _KEPT,
            examples=context.work_starts(found),
            caveats=(
                "The gain is that of large products; small ones are bound by memory and gain "
                "little.",
            ),
        )


RULE = Rule(
    id="tf32-disabled",
    family="precision",
    title="Matrix products in float32 do not use TF32",
    matches="Operators of matrix products run sgemm kernels in 1 % of the busy time or more, none "
    "of them a TF32 kernel, on NVIDIA devices of compute capability 8.0 or more. (Convolutions use "
    "it without being told.)",
    fix='Call torch.set_float32_matmul_precision("high") if a mantissa of 10 bits is enough, or '
    "run under torch.autocast with bfloat16.",
    reference="CUDA semantics, TensorFloat-32; pattern matcher FP32MatMul",
    match=_match,
)
