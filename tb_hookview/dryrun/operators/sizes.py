"""Rows of kernels whose result, or check, depends on sizes, layouts or factorizations."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tb_hookview.dryrun.operators.row import Arguments, Reason, Row, always, filled, on_device, when

_FUSED_MODE = 2048
"""Longest slice whose mode one kernel finds: two for each thread of a block."""


def _isin(a: Arguments) -> bool:
    elements, test = a["elements"], a["test_elements"]
    if not elements.numel() or a["assume_unique"]:
        return False
    return bool(test.numel() >= 10.0 * elements.numel() ** 0.145)


def _mode(a: Arguments) -> bool:
    x = a["self"]
    return bool(x.dim() > 0 and x.numel() > 0 and x.size(a["dim"]) > _FUSED_MODE)


def _bincount(a: Arguments) -> Iterator[Reason]:
    if a["self"].numel():
        if a["self"].dtype is not torch.uint8:
            yield Reason("check", "whether a value is negative is read")
        yield Reason("size", "the largest value is read")


def _grouped_mm(a: Arguments) -> bool:
    return a["self"].dtype is not torch.bfloat16 and on_device(a["offs"])


_COUNT = Reason("size", "the number of unique elements is read")
_NONZERO = Reason("size", "the number of nonzero elements is read")
_LAST = Reason("to_device", "a number of the host is copied into a mask", 1)
_SELECTED = Reason("size", "the number of selected elements is read")

ROWS = (
    Row(
        ("nonzero",),
        "always, for empty results too",
        "cuda/Nonzero.cu",
        always(_NONZERO, also_empty=True),
        evidence="recording, binary",
        symbols=("nonzero_cuda_out_impl",),
    ),
    Row(
        ("masked_select",),
        "always",
        "cuda/IndexKernel.cpp",
        always(_SELECTED, also_empty=True),
        evidence="binary",
        symbols=("expandTensors",),
    ),
    Row(
        ("_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive"),
        "not empty; unique_dim by Thrust",
        "cuda/UniqueCub.cu, cuda/Unique.cu",
        always(_COUNT),
        evidence="binary",
        symbols=("unique_cuda_template", "compute_unique"),
    ),
    Row(
        ("repeat_interleave.Tensor",),
        "without output_size: the sum, and a check of signs",
        "Repeat.h",
        when(
            lambda a: a["output_size"] is None and filled(a["repeats"]),
            Reason("size", "the sum of the repeats is read"),
            Reason("check", "whether a repeat is negative is read"),
        ),
        evidence="recording, binary",
        symbols=("repeat_interleave_cuda", "repeat_interleave_common"),
    ),
    Row(
        ("bincount",),
        "not empty: the minimum, unless the type is uint8, and the maximum, with minlength too",
        "cuda/SummaryOps.cu",
        _bincount,
        evidence="binary",
        symbols=("_bincount_cuda_template",),
    ),
    Row(
        ("isin.Tensor_Tensor", "isin.Tensor_Tensor_out"),
        "more than 10 n^0.145 elements to test against, without assume_unique: unique twice, and "
        "a number of the host into the last element of a mask",
        "TensorCompare.cpp",
        when(_isin, _COUNT, _COUNT, _LAST),
        evidence="binary, recording",
        symbols=("isin_sorting", "structured_isin_Tensor_Tensor_out"),
    ),
    Row(
        ("mode",),
        "slices of more than 2,048 elements: Thrust waits",
        "cuda/TensorModeKernel.cu",
        when(_mode, Reason("inside", "Thrust waits for the stream")),
        evidence="binary",
        symbols=("calculate_mode",),
    ),
    Row(
        ("torchvision::nms",),
        "not empty: which boxes are kept is decided on the host",
        "torchvision/csrc/ops/cuda/nms_kernel.cu",
        always(Reason("size", "the boxes that are kept are counted on the host")),
        evidence="issue",
    ),
    Row(
        ("_grouped_mm",),
        "offsets on the device, and another type than bfloat16 (or a GPU before Hopper)",
        "GroupedMMUtils.h",
        when(_grouped_mm, Reason("to_host", "the offsets are copied to the host")),
        evidence="binary",
        symbols=("_grouped_mm_fallback",),
        first=(2, 9),
    ),
    Row(
        ("_padded_dense_to_jagged_forward",),
        "without total_L",
        "nested/cuda/NestedTensorTransformerFunctions.cu",
        when(lambda a: a["total_L"] is None, Reason("size", "the sum of the lengths is read")),
        evidence="binary",
        symbols=("_fbgemm_dense_to_jagged_forward_symint",),
    ),
)


# Rows of linear algebra: checks of errors, and how a result was found.


_ERRORS = Reason("check", "errors are read back")
_FINITE = Reason("check", "whether all values are finite is read")
_REAL = Reason("read", "whether all eigenvalues are real is read")
_BATCH = "linalg/BatchLinearAlgebra.cpp, BatchLinearAlgebra.cpp"


def _svd(a: Arguments) -> Iterator[Reason]:
    if filled(a["A"]):
        yield _ERRORS
        if a["driver"] is None:
            yield Reason("to_host", "whether gesvdj converged is copied to the host")


def _eigenvalues(a: Arguments) -> Iterator[Reason]:
    if filled(a["self"]):
        yield _ERRORS
        if not a["self"].is_complex():
            yield _REAL


def _eigenvectors(a: Arguments) -> Iterator[Reason]:
    if filled(a["self"]):
        yield _FINITE
        yield from _eigenvalues(a)


def _exponent(a: Arguments) -> Iterator[Reason]:
    if filled(a["self"]) and a["self"].size(-1) > 1:
        yield Reason("to_host", "norms are copied to the host")
        yield Reason("to_device", "which matrices have a norm of that size is copied to the device")


LINALG = (
    Row(
        ("_linalg_svd",),
        "always; twice without driver=, for gesvdj's convergence",
        "BatchLinearAlgebra.cpp, cuda/linalg/BatchLinearAlgebraLib.cpp",
        _svd,
        evidence="binary",
        symbols=("structured__linalg_svd_out",),
    ),
    Row(
        ("_linalg_eigh", "cholesky", "linalg_lstsq"),
        "always",
        _BATCH,
        always(_ERRORS),
        evidence="binary, recording",
        symbols=("structured__linalg_eigh_out", "cholesky", "linalg_lstsq_out"),
    ),
    Row(
        ("_linalg_eigvals", "linalg_eigvals"),
        "always: errors, and of a real matrix whether its eigenvalues are real",
        _BATCH,
        _eigenvalues,
        evidence="binary",
        symbols=("_linalg_eigvals", "linalg_eigvals_out", "linalg_eig_out_info"),
    ),
    Row(
        ("linalg_eig",),
        "always: whether the matrix is finite, errors, and of a real matrix whether its "
        "eigenvalues are real; where it runs on the host (CUDA before 12.8) it copies there and "
        "back instead",
        _BATCH,
        _eigenvectors,
        evidence="binary, recording",
        symbols=("linalg_eig_out",),
    ),
    Row(
        (
            *("linalg_inv_ex", "linalg_cholesky_ex", "_linalg_solve_ex", "linalg_lu_factor_ex"),
            "linalg_ldl_factor_ex",
        ),
        "check_errors=True",
        _BATCH,
        when(lambda a: a["check_errors"] and not a.is_empty, _ERRORS),
        evidence="binary",
        symbols=(
            *("structured_linalg_inv_ex_out", "structured_linalg_cholesky_ex_out"),
            *("structured__linalg_solve_ex_out", "structured_linalg_lu_factor_ex_out"),
            "structured_linalg_ldl_factor_ex_out",
        ),
    ),
    Row(
        ("linalg_matrix_exp",),
        "matrices of more than one element: at least norms to the host, and indices back; up to "
        "four more by the norm, which a row cannot know",
        "LinearAlgebra.cpp",
        _exponent,
        symbols=("linalg_matrix_exp",),
    ),
)


# Rows of sparse and nested tensors.


_COMPRESSED = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)
_PADDED = (torch.float32, torch.float64, torch.float16)
"""Types that the kernel between nested and padded tensors knows."""


def _is_sparse(a: Arguments) -> bool:
    return any(
        isinstance(value, torch.Tensor) and value.layout is torch.sparse_coo and value._nnz() > 0
        for name, value in a.items()
        if name in {"self", "mat1"}
    )


def _adds_compressed(a: Arguments) -> bool:
    x, other = a["self"], a["other"]
    if x.layout is not torch.strided or not isinstance(other, torch.Tensor):
        return False
    return other.layout in _COMPRESSED and bool(other._nnz())


def _turns(a: Arguments) -> bool:
    return a["self"].layout in _COMPRESSED


def _pads(a: Arguments) -> bool:
    x = a["self"]
    return bool(x.is_nested and 2 <= x.dim() <= 4 and x.dtype in _PADDED)


def _reduces(a: Arguments) -> Iterator[Reason]:
    dims = {dim % 2 for dim in a["dim"]} or {0, 1}
    if len(dims) == 1 and (1 in dims or a["self"]._nnz()):
        yield Reason("size", "the elements of the result are counted")
    if 0 in dims:
        yield Reason("to_device", "the offsets of the result are copied to the device", 16)


_DIMS = ("dim0", "dim1", "dim01")
_THRUST = Reason("inside", "Thrust waits for the stream")
_SHAPES = "sizes of a nested tensor are copied to the device"

LAYOUTS = (
    Row(
        ("_coalesce",),
        "always: Thrust waits and counts the unique indices",
        "sparse/cuda/SparseCUDATensor.cu",
        always(Reason("size", "the number of unique indices is read"), also_empty=True),
        evidence="binary",
        symbols=("_coalesce_sparse_cuda",),
    ),
    Row(
        (
            *("index_select", "bmm", "_sparse_softmax", "_sparse_log_softmax"),
            *("_sparse_softmax_backward_data", "_sparse_log_softmax_backward_data"),
            *("_sparse_sum_backward", "_sparse_sparse_matmul"),
        ),
        "the sparse argument has elements: sizes of results are read, or Thrust waits; at least "
        "once",
        "sparse/cuda/SparseCUDATensorMath.cu, sparse/cuda/SparseMatMul.cu, sparse/cuda/SoftMax.cu",
        when(_is_sparse, Reason("size", "the size of a sparse result is read")),
        symbols=(
            *("index_select_sparse_cuda", "bmm_out_sparse_cuda", "compute_pool_max"),
            *("cuda_sparse_coo_softmax_backward", "_sparse_sum_backward_cuda", "get_offsets"),
            *("sparse_sparse_matmul_cuda_kernel", "search_end_matrix_indices"),
        ),
        evidence="binary",
    ),
    Row(
        ("hspmm", "hspmm.out"),
        "the sparse matrix has elements: its unique rows are counted by Thrust",
        "sparse/cuda/SparseCUDATensorMath.cu",
        when(_is_sparse, Reason("size", "the rows of the result are counted")),
        symbols=("hspmm_out_sparse_cuda",),
        evidence="binary",
    ),
    Row(
        ("_sparse_csr_sum.dim_dtype", "_sparse_csr_prod.dim_dtype"),
        "always: the elements of the result are counted, unless it is over both dimensions; its "
        "offsets are copied to the device, unless it is over columns alone",
        "sparse/cuda/SparseCsrTensorMath.cu",
        _reduces,
        symbols=tuple(f"reduce_sparse_csr_{dims}_cuda_template" for dims in _DIMS),
        evidence="binary",
    ),
    Row(
        ("_to_sparse_csr", "_to_sparse_csc"),
        "rows are compressed and columns become so, or the reverse",
        "TensorConversions.cpp",
        when(_turns, Reason("to_device", "the number of elements is copied to the device", 8)),
        evidence="binary",
        symbols=("sparse_compressed_to_flipped",),
    ),
    Row(
        ("add.Tensor", "add.out", "add_.Tensor"),
        "a compressed sparse tensor is added to a dense one: Thrust waits",
        "sparse/cuda/SparseCsrTensorMath.cu",
        when(_adds_compressed, _THRUST),
        symbols=("add_out_dense_sparse_compressed_cuda",),
        evidence="binary",
    ),
    Row(
        ("to_padded_tensor",),
        "a strided nested tensor of two to four dimensions in single, double or half precision",
        "nested/cuda/NestedTensorTransformerFunctions.cpp",
        when(_pads, Reason("to_device", _SHAPES)),
        evidence="binary",
        symbols=("NestedTensor_to_padded_tensor_cuda",),
    ),
    Row(
        ("_nested_from_padded", "_transform_bias_rescale_qkv"),
        "the tensors are nested, or become so; by way of the driver's buffer",
        "nested/cuda/NestedTensorTransformerFunctions.cpp, transformers/cuda/attention.cu",
        when(
            lambda a: "padded" in a or a["qkv"].is_nested, Reason("staging", _SHAPES, certain=False)
        ),
        evidence="binary",
        symbols=("nested_from_padded_cuda", "transform_bias_rescale_qkv_cuda"),
    ),
    Row(
        ("scaled_dot_product_attention",),
        "strided nested tensors: lengths of queries and of keys",
        "nested/cuda/NestedTensorTransformerUtils.cpp",
        when(lambda a: a["query"].is_nested, *[Reason("to_device", _SHAPES)] * 2),
        evidence="binary",
        symbols=("cumulative_and_max_seq_len_nnz",),
    ),
)
