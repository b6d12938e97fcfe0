"""Callers in libtorch_cuda that need no row of the table, and why."""

from __future__ import annotations

import re

_ON_HOST = "reads a tensor of the host"
_REFUSED = "no kernel for the CPU: a dry run raises an error with the operator's name"

KNOWN = tuple(
    (re.compile(pattern), why)
    for pattern, why in (
        (r"_fused_(sgd|adam|adamw|adagrad)\w*_kernel_cuda_", f"{_ON_HOST}: lr=, where that is one"),
        (r"foreach_tensor_(mul|div)_tensor_kernel_cuda", f"{_ON_HOST}: the factor"),
        (r"get_dropout_state", f"{_ON_HOST}: a seed, once for each device"),
        (r"_cslt_sparse_mm_impl|_to_sparse_semi_structured", _REFUSED),
        (r"unique_dim_cuda_template", "`_unique` has the row; Thrust waits in addition"),
    )
)
"""A pattern of the function's name, and the reason."""
