"""Rows of sparse and nested tensors."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tb_hookview.dryrun.operators.row import Arguments, Reason, Row, always, when

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

ROWS = (
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
