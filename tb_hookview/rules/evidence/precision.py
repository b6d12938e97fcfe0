"""Kernels that compute in float64 or float32, by their names."""

from __future__ import annotations

import re
from functools import lru_cache

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context

_PRODUCT = re.compile(r"(?<![a-z])dgemm|d884gemm|f64f64|-dtype_Double")
_LAMBDA = re.compile(r"\{lambda\(([^()]*)\)")
_PARAMETERS = re.compile(r"\([^()]*(?:\)|$)")
_DOUBLE = re.compile(r"(?<!optional)(?<!vector)(?<!Array)(?<!ArrayRef)<double[,>]")
_FLOAT32 = r"sgemm(?<![a-z]sgemm)"
_MOVES = ("copy", "set", "communication")
_CACHED = 4096


@lru_cache(_CACHED)
def names_float64(name: str) -> bool:
    """Whether a kernel computes in float64, by its name.

    Its type is the first argument of a template (`CUDAFunctor_add<double>`), or that of the
    function it calls for each value (`{lambda(double)#1}`). Parameters of functions around it are
    numbers of the host: `nan_to_num_kernel_cuda(at::TensorIteratorBase&, c10::optional<double>)`.
    """
    if _PRODUCT.search(name):
        return True
    if "double" not in name:
        return False
    count, name = 1, _LAMBDA.sub(r"{lambda<\1>", name)
    while count:
        name, count = _PARAMETERS.subn("", name)
    return _DOUBLE.search(name) is not None


def in_float64(context: Context) -> Bool:
    """Kernels that compute in float64 by their names, shape (d,)."""
    work = context.device_events
    return work.passing(names_float64) & ~work.of_kinds(*_MOVES)


def float32_products(context: Context) -> Bool:
    """Kernels of matrix products in float32 without TF32, shape (d,)."""
    return context.device_events.matching(_FLOAT32) & context.device_events.of_kinds("matrix")
