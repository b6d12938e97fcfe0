"""Rows of kernels whose result has a size that only the device knows."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tb_hookview.dryrun.operators.arguments import Arguments, on_device
from tb_hookview.dryrun.operators.reason import Reason
from tb_hookview.dryrun.operators.row import Row, always, when

COMPRESSED = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)
_FUSED_MODE = 2048
"""Longest slice whose mode one kernel finds: two for each thread of a block."""


def _repeat_interleave(a: Arguments) -> Iterator[Reason]:
    if a["output_size"] is None and a["repeats"].numel():
        yield Reason("size", "the sum of the repeats is read")
        yield Reason("check", "whether a repeat is negative is read")


def _bincount(a: Arguments) -> Iterator[Reason]:
    if a["self"].numel():
        yield Reason("check", "whether a value is negative is read")
        yield Reason("size", "the largest value is read")


def _isin(a: Arguments) -> bool:
    elements, test = a["elements"], a["test_elements"]
    if not elements.numel() or a["assume_unique"]:
        return False
    return bool(test.numel() >= 10.0 * elements.numel() ** 0.145)


def _mode(a: Arguments) -> bool:
    x = a["self"]
    return bool(x.dim() > 0 and x.numel() > 0 and x.size(a["dim"]) > _FUSED_MODE)


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
    return other.layout in COMPRESSED and bool(other._nnz())


def _grouped_mm(a: Arguments) -> bool:
    return a["self"].dtype is not torch.bfloat16 and on_device(a["offs"])


_COUNT = "the number of unique elements is read"

ROWS = (
    Row(
        ("nonzero",),
        "always, for empty results too",
        "cuda/Nonzero.cu",
        always("size", "the number of nonzero elements is read", also_empty=True),
        evidence="recording, binary",
        symbols=("nonzero_cuda_out_impl",),
    ),
    Row(
        ("masked_select",),
        "always",
        "cuda/IndexKernel.cpp",
        always("size", "the number of selected elements is read", also_empty=True),
        evidence="binary",
        symbols=("expandTensors",),
    ),
    Row(
        ("_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive"),
        "not empty; unique_dim waits in Thrust besides",
        "cuda/UniqueCub.cu, cuda/Unique.cu",
        always("size", _COUNT),
        evidence="binary",
        symbols=(
            "unique_cuda_template",
            "compute_unique",
        ),
    ),
    Row(
        ("repeat_interleave.Tensor",),
        "without output_size: the sum, and a check of signs",
        "Repeat.h",
        _repeat_interleave,
        evidence="recording, binary",
        symbols=("repeat_interleave_cuda",),
    ),
    Row(
        ("bincount",),
        "not empty: the minimum and the maximum, with minlength too",
        "cuda/SummaryOps.cu",
        _bincount,
        evidence="binary",
        symbols=("_bincount_cuda_template",),
    ),
    Row(
        ("isin.Tensor_Tensor", "isin.Tensor_Tensor_out"),
        "more than 10 n^0.145 elements to test against, without assume_unique: unique twice",
        "TensorCompare.cpp",
        when(_isin, "size", _COUNT, 2),
        evidence="binary",
        symbols=("isin_sorting",),
    ),
    Row(
        ("mode",),
        "slices of more than 2,048 elements: Thrust waits",
        "cuda/TensorModeKernel.cu",
        when(_mode, "inside", "Thrust waits for the stream"),
        evidence="binary",
        symbols=("calculate_mode",),
    ),
    Row(
        ("torchvision::nms",),
        "not empty: which boxes are kept is decided on the host",
        "torchvision/csrc/ops/cuda/nms_kernel.cu",
        always("size", "the boxes that are kept are counted on the host"),
        evidence="issue",
    ),
    Row(
        ("_grouped_mm",),
        "offsets on the device, and another type than bfloat16 (or a GPU before Hopper)",
        "GroupedMMUtils.h",
        when(_grouped_mm, "to_host", "the offsets are copied to the host"),
        evidence="binary",
        symbols=("_grouped_mm_fallback",),
    ),
    Row(
        ("_padded_dense_to_jagged_forward",),
        "without total_L",
        "nested/cuda/NestedTensorTransformerFunctions.cu",
        when(lambda a: a["total_L"] is None, "size", "the sum of the lengths is read"),
        evidence="binary",
        symbols=("_fbgemm_dense_to_jagged_forward_symint",),
    ),
    Row(
        ("_coalesce",),
        "always: Thrust waits and counts the unique indices",
        "sparse/cuda/SparseCUDATensor.cu",
        always("size", "the number of unique indices is read", also_empty=True),
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
        when(_is_sparse, "size", "the size of a sparse result is read"),
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
        when(_is_sparse, "size", "the rows of the result are counted"),
        symbols=("hspmm_out_sparse_cuda",),
        evidence="binary",
    ),
    Row(
        ("_sparse_csr_sum.dim_dtype",),
        "one dimension: the elements of the result are counted",
        "sparse/cuda/SparseCsrTensorMath.cu",
        when(lambda a: len(a["dim"]) == 1, "size", "the elements of the result are counted"),
        symbols=("reduce_sparse_csr_dim0_cuda_template", "reduce_sparse_csr_dim1_cuda_template"),
        evidence="binary",
    ),
    Row(
        ("add.Tensor", "add.out", "add_.Tensor"),
        "a compressed sparse tensor is added to a dense one: Thrust waits",
        "sparse/cuda/SparseCsrTensorMath.cu",
        when(_adds_compressed, "inside", "Thrust waits for the stream"),
        symbols=("add_out_dense_sparse_compressed_cuda",),
        evidence="binary",
    ),
)
