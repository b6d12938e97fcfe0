"""Matrix products on tensor cores whose sizes do not fit their loads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.types import Bool
from tb_hookview.formats import format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.devices import (
    Product,
    attention,
    device_events_of,
    named_so,
    products_of,
    shaped_so,
)

_SHARE = 0.01
_LISTED = 3
"""Products that the evidence lists."""


def _find(context: Context) -> Iterator[Occurrence]:
    named, shaped = named_so(context), shaped_so(context)
    found = named | shaped
    if found.any():
        found &= ~device_events_of(context, attention(context))
    share, time = context.device_events.share(found), context.device_events.us_per_step(found)
    if share >= _SHARE:
        yield Occurrence(
            place="matrix products",
            everywhere=True,
            evidence=f"{context.us_text(time)} ({share:.0%} of the busy time) in kernels of "
            f"matrix products that load less than 16 bytes at once, in {context.steps.text} "
            f"{np.sum(named & found)} as their names say, {np.sum(shaped & found)} by the shape of "
            "what they multiply" + _sizes(context, found),
            count=int(np.count_nonzero(found)),
            wasted=np.flatnonzero(found),
            claims_gain=False,
            examples=context.device_events.starts(found),
            caveats=("The cost is all the time of these kernels; aligned ones take time too.",),
        )


def _sizes(context: Context, found: Bool) -> str:
    """Phrase of the products that take most of the time, with their odd sizes."""
    events = context.analysis.device_events
    kernels = np.flatnonzero(found)
    operator = context.rows.operator_of(events.launch[kernels])
    time: Counter[str] = Counter()
    for product, kernel, duration in zip(
        products_of(context, operator),
        kernels.tolist(),
        events.duration[kernels].tolist(),
        strict=True,
    ):
        if product is not None:
            time[_phrase(product, context.device_events.name_of(kernel))] += duration
    known = context.steps.us_per_step(sum(time.values()))
    listed = [
        f"{phrase}: {format_us(context.steps.us_per_step(each))}"
        for phrase, each in time.most_common(_LISTED)
    ]
    unknown = context.device_events.us_per_step(found) - known
    if unknown > known:
        listed.append(f"the trace has no shapes for {format_us(unknown)} of it")
    return "".join(f"; {phrase}" for phrase in listed)


def _phrase(product: Product, kernel: str) -> str:
    odd = " and ".join(product.odd(kernel)) or "no size odd, so a stride or an address is"
    return (
        f"{product.operator} of {product.rows} x {product.inner} by {product.inner} x "
        f"{product.columns} ({odd})"
    )


RULE = Rule(
    id="matmul-misaligned",
    family="precision",
    title="Matrix product sizes are not aligned for tensor cores",
    description="Kernels of matrix products on tensor cores with align1 or align2 in their names "
    "(in half precision align4 as well), or products in half precision on NVIDIA devices whose "
    "result has rows of a length that 8 does not divide, in 1% of the busy time or more. Those of "
    "attention by its parts are in attention-unfused.",
    fix="Pad the odd size to a multiple of 8 (better 64), of 4 for TF32. Columns and inner sizes "
    "of a layer's forward are features: vocabulary, classes, hidden sizes. Rows, and sizes of "
    "batched products, come from the data: pad or pack sequences, and drop the last odd batch "
    "(drop_last=True).",
    reference="NVIDIA, Matrix Multiplication Background; pattern matcher MatMulDim",
    find=_find,
)
