"""Matrix products: their sizes, and kernels of those that do not fit tensor cores."""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple

import numpy as np

from tb_hookview.arrays.types import Bool, TreeRow
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.evidence.devices import all_have_tensor_cores
from tb_hookview.rules.evidence.inputs import Inputs, inputs_of, with_inputs

_LOADS_LITTLE = (
    r"cutlass\w*_(wmma_)?tensorop\w*gemm\w*_align[12](?![0-9])"
    r"|cutlass\w*_(wmma_)?tensorop_(f16|bf16|h16816|h1688|h884)\w*gemm\w*_align4(?![0-9])"
)
"""The number after `align` is how many values are loaded at once; 16 bytes hold 4 of float32 (and
TF32), 8 of half precision."""
_FIRST = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1}
"""Place of the first matrix among the inputs of a product."""
_HALF = ("c10::Half", "c10::BFloat16")
_UNIT, _UNIT_OF_FLOAT = 8, 4
"""Values of half precision, and of float32, in 16 bytes."""


_LAYOUT = re.compile(r"_([nt])([nt])_align")
"""Layout of the right and the left matrix (cuBLAS computes the transposed product)."""


class Product(NamedTuple):
    """Sizes of a product of two matrices."""

    operator: str
    rows: int
    inner: int
    columns: int
    unit: int
    """Values of its type in 16 bytes."""

    def odd(self, kernel: str) -> list[str]:
        """Sizes that the unit does not divide, of those that lie side by side in memory.

        Args:
            kernel: name of the kernel that computes it; the columns of the result always do.
        """
        layout = _LAYOUT.search(kernel)
        right, left = layout.groups() if layout else ("n", "")
        sizes = {"columns": self.columns}
        if left == "n" or right == "t":
            sizes["inner size"] = self.inner
        if left == "t":
            sizes["rows"] = self.rows
        return [f"{name} {size}" for name, size in sizes.items() if size % self.unit]


def misaligned(context: Context) -> Bool:
    """Kernels of products on tensor cores that load less than 16 bytes at once, shape (d,)."""
    return named_so(context) | shaped_so(context)


def named_so(context: Context) -> Bool:
    """Those of them whose names say so."""
    return (
        context.device_events.matching(_LOADS_LITTLE)
        & context.device_events.of_kinds("matrix")
        & context.device_events.counted
    )


def shaped_so(context: Context) -> Bool:
    """The others in half precision whose result has rows of odd length."""
    if not all_have_tensor_cores(context):
        return np.zeros(len(context.device_events.counted), bool)
    odd = np.zeros(len(context.call_tree), bool)
    for name, first in _FIRST.items():
        odd |= with_inputs(context, context.rows.named(name), partial(_has_odd_rows, first + 1))
    launched = context.device_events.launched_by(context.rows.inside(odd))
    products = context.device_events.of_kinds("matrix") & context.device_events.counted
    return launched & products & ~named_so(context)


def products_of(context: Context, rows: TreeRow) -> list[Product | None]:
    """Product that each of some operators (call tree rows, -1 for none) computes, if known."""
    distinct, index = inputs_of(context, rows)
    names = [context.host.name(row) if row >= 0 else "" for row in rows.tolist()]
    return [
        _product(name, distinct[place]) if place >= 0 else None
        for name, place in zip(names, index.tolist(), strict=True)
    ]


def _product(operator: str, inputs: Inputs) -> Product | None:
    first = _FIRST.get(operator, len(inputs))
    if len(inputs) < first + 2:
        return None
    (left, kind), (right, _) = inputs[first : first + 2]
    sizes = [*left[-2:], *right[-1:]]
    if len(sizes) < 3 or not all(isinstance(size, int) for size in sizes):
        return None
    rows, inner, columns = sizes
    return Product(operator, rows, inner, columns, _UNIT if kind in _HALF else _UNIT_OF_FLOAT)


def _has_odd_rows(second: int, inputs: Inputs) -> bool:
    if len(inputs) <= second:
        return False
    shape, kind = inputs[second]
    width = shape[-1] if shape else None
    return kind in _HALF and isinstance(width, int) and width > _UNIT and width % _UNIT > 0
