"""Callers of what waits that need no row of the table, and why."""

from __future__ import annotations

import re

Reasons = tuple[tuple[re.Pattern[str], str], ...]
"""Patterns of a function's name, and the reason."""
_ON_HOST = "reads a tensor of the host"
_REFUSED = "no kernel for the CPU: a dry run raises an error with the operator's name"

_AS_IT_IS = "calls operators only: a dry run runs it as it is, and these show their syncs"
_QUANTIZED = "the value to fill a quantized tensor with, a number as a rule"
_SIZES = "compares sizes of nested tensors, which lie on the host"

KNOWN: Reasons = tuple(
    (re.compile(pattern), why)
    for pattern, why in (
        (r"_fused_(sgd|adam|adamw|adagrad)\w*_kernel_cuda_", f"{_ON_HOST}: lr=, where that is one"),
        (r"foreach_tensor_(mul|div)_tensor_kernel_cuda", f"{_ON_HOST}: the factor"),
        (r"get_dropout_state", f"{_ON_HOST}: a seed, once for each device"),
        (r"_cslt_sparse_mm_impl|_to_sparse_semi_structured", _REFUSED),
        (
            r"MagmaStreamSyncGuard|lazy_linalg::(magma\w+|lu_solve_kernel)",
            "not noted: MAGMA, as preferred_linalg_library or for what cuSOLVER lacks",
        ),
        (
            r"embedding_backward_cuda_kernel_unique_by_key",
            "backward of embeddings with many indices, before the versions that a dry run supports",
        ),
        (r"_quantized(_cuda)?_?$", _QUANTIZED),
        (r"unique_dim_cuda_template", "`_unique` has the row; Thrust waits in addition"),
    )
)
"""Of libtorch_cuda."""
SHARED: Reasons = tuple(
    (re.compile(pattern), why)
    for pattern, why in (
        (r"dense_to_sparse|index_fill_|narrow_copy_sparse|select_(copy_)?sparse_csr", _AS_IT_IS),
        (r"meta::structured_index_Tensor|_sparse_coo_tensor_unsafe", _AS_IT_IS),
        (r"sparse_compressed_to|coo_to_sparse", _AS_IT_IS),
        (r"NestedTensor_|nested_(is_same_size|softmax)|(copy|matmul)_nested", _SIZES),
        (r"nested_from_padded_generic", "padded tensors of more than four dimensions: not noted"),
        (r"_quantized(_cuda)?_?$", _QUANTIZED),
        (r"::(std|var)(_mean)?(_out)?$", f"{_ON_HOST}: only where the data lies there"),
    )
)
"""Of functions of libtorch_cpu that libtorch_cuda calls."""
