"""Matrix products in float32 run at full precision on a device that has TF32."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.devices import all_have_tf32, float32_products, tf32_speedup

_OPERATORS = r"^aten::(mm|addmm|bmm|baddbmm|addbmm|mv|addmv|linear|matmul)$"
_TF32 = r"s1688gemm|tf32"
_SHARE = 0.01


def _find(context: Context) -> Iterator[Occurrence]:
    if not all_have_tf32(context):
        return
    replayed = context.device_events.of_graph & context.device_events.of_kinds("matrix")
    inside = context.rows.inside(context.rows.matching(_OPERATORS))
    asked = context.device_events.launched_by(inside) | replayed
    asked &= context.device_events.counted
    found = asked & float32_products(context)
    share, time = context.device_events.share(found), context.device_events.us_per_step(found)
    faster, known = tf32_speedup(context)
    enabled = (asked & context.device_events.matching(_TF32)).any()
    if share >= _SHARE and not enabled and faster > 1:
        yield Occurrence(
            place="matrix products",
            everywhere=True,
            evidence=f"{context.us_text(time)} ({share:.0%} of the busy time) in sgemm kernels, "
            f"and no matrix product in TF32{_replayed(context, found & replayed)}",
            count=int(np.count_nonzero(found)),
            wasted=np.flatnonzero(found),
            saved=1 - 1 / faster,
            examples=context.device_events.starts(found),
            caveats=(
                f"Assumes that products become {faster:.1f} times as fast{known}; small ones are "
                "bound by memory and gain little.",
            ),
        )


def _replayed(context: Context, found: Bool) -> str:
    if not found.any():
        return ""
    time = context.us_text(context.device_events.us_per_step(found))
    return f"; {time} of it is in CUDA graphs, whose operators the trace lacks"


RULE = Rule(
    id="tf32-disabled",
    family="precision",
    title="Float32 matrix products do not use TF32",
    description="Operators of matrix products, or CUDA graphs, run sgemm kernels in 1% of the "
    "busy time or more, none of them a TF32 kernel, on NVIDIA devices of compute capability 8.0 or "
    "more whose peak in TF32 is not that in float32, as GeForce's are. "
    "(Convolutions use TF32 by default.)",
    fix='Call torch.set_float32_matmul_precision("high") if a mantissa of 10 bits is enough, or '
    "run under torch.autocast with bfloat16.",
    reference="CUDA semantics, TensorFloat-32; pattern matcher FP32MatMul",
    find=_find,
)
