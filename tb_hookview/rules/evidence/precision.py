"""Kernels that compute in float64 or float32, by their names."""

from __future__ import annotations

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context

_DOUBLE = r"<double[,>]|dgemm(?<![a-z]dgemm)|d884gemm|f64f64|-dtype_Double"
"""A first template argument of double, or the name of a product in double precision.

Alternatives that all begin with a letter of their own are searched for several times as quickly.
"""
_FLOAT32 = r"sgemm(?<![a-z]sgemm)"


def in_float64(context: Context) -> Bool:
    """Kernels that compute in float64 by their names, shape (d,)."""
    return context.device_events.matching(_DOUBLE)


def float32_products(context: Context) -> Bool:
    """Kernels of matrix products in float32 without TF32, shape (d,)."""
    return context.device_events.matching(_FLOAT32) & context.device_events.of_kinds("matrix")
