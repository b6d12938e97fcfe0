"""How a kernel of CUDA is replaced by one of the CPU: what its schema says, once per operator."""

from __future__ import annotations

from typing import Any

import torch

from tb_hookview.dryrun.device import missing
from tb_hookview.dryrun.operators.row import Row, by_operator
from tb_hookview.dryrun.operators.table import ROWS

Op = Any
"""A torch._ops.OpOverload."""

METADATA = frozenset(
    f"aten::{name}"
    for name in (
        *("as_strided", "as_strided_", "view", "_reshape_alias", "unfold", "view_as_real"),
        *("view_as_complex", "set_.source_Storage_storage_offset", "set_.source_Tensor"),
        *("set_.source_Storage", "is_set_to", "_nested_view_from_buffer"),
    )
)
"""Kernels that read and write sizes, strides and the storage alone: the CPU's own code runs on the
CUDA tensor itself, so that views share their storage."""
SHARED = frozenset(
    f"aten::{name}"
    for name in (
        *("index_fill_.int_Tensor", "_to_sparse", "_to_sparse.sparse_dim"),
        *("_nested_tensor_from_mask", "_nested_tensor_from_mask_left_aligned"),
        *("_to_sparse_csr", "_to_sparse_csc", "_to_sparse_bsr", "_to_sparse_bsc"),
    )
)
"""Kernels whose code is the same for CPU and CUDA and calls operators only: it runs on the CUDA
tensor itself, and shows the syncs of these operators."""
_UNARY = (
    *("abs", "asin", "asinh", "atan", "atanh", "ceil", "deg2rad", "erf", "erfinv", "expm1"),
    *("floor", "frac", "isinf", "isnan", "log1p", "nan_to_num", "neg", "pow", "rad2deg", "relu"),
    *("round", "sgn", "sign", "signbit", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
)
SPARSE_SHARED = frozenset(
    f"aten::{name}"
    for name in (
        *(form for name in _UNARY for form in (name, f"{name}_")),
        *("any", "narrow_copy", "native_norm", "norm", "sum"),
    )
)
"""The same for sparse tensors: what sorts the indices of its argument first, or reads them."""
COMPRESSED_SHARED = frozenset(
    ("aten::select.int", "aten::select_copy.int", "aten::_to_sparse_bsr", "aten::_to_sparse_bsc")
)
CPU_ONLY = frozenset(
    f"aten::{name}"
    for name in (
        *("histogram", "_histogramdd_bin_edges", "_histogramdd_from_bin_cts", "_spdiags"),
        *("_histogramdd_from_bin_tensors", "_sparse_mm_reduce_impl", "to_mkldnn"),
    )
)
"""Operators that torch has for the CPU alone: with a GPU they raise."""
SPARSE_METADATA = frozenset(
    f"aten::{name}"
    for name in (
        *("_indices", "_values", "_nnz", "sparse_dim", "dense_dim", "is_coalesced"),
        *("_coalesced_", "_dimI", "_dimV", "resize_as_sparse_", "indices", "values"),
        *("sparse_resize_", "sparse_resize_and_clear_", "crow_indices", "col_indices"),
        *("ccol_indices", "row_indices"),
    )
)
NESTED_METADATA = frozenset(
    f"aten::{name}"
    for name in (
        *("_nested_tensor_size", "_nested_tensor_strides", "_nested_tensor_storage_offsets"),
        *("_nested_get_values", "values", "detach", "_nested_view_from_buffer"),
    )
)
NO_OPS = frozenset(("aten::record_stream", "fsdp::record_grad_output_stream"))
MIXED = frozenset(
    f"aten::{name}"
    for name in (
        *("_use_cudnn_ctc_loss", "_use_miopen_ctc_loss", "_ctc_loss", "_ctc_loss_backward"),
        *("copy_", "_to_copy", "_foreach_copy_", "fill_", "index", "normal"),
        *("_local_scalar_dense", "set_", "resize_", "resize_as_", "empty_like", "record_stream"),
        *("_pack_padded_sequence", "_fused_adam_", "_fused_adamw_", "_fused_sgd_"),
        *("_fused_adagrad_", "_cudnn_rnn", "unique_dim", "split_with_sizes_copy"),
        *("_nested_from_padded", "_foreach_addcdiv", "_foreach_addcdiv_", "_foreach_addcmul"),
        "_foreach_addcmul_",
    )
)
"""Operators that take tensors of both devices, or check them by their own code. All others raise
for them as they do on CUDA."""

_ELSEWHERE = {"aten::_index_put_impl_": frozenset(("indices",))}
"""Arguments of others that may be on another device."""


class Plan:
    """What is known of an operator before it is called."""

    __slots__ = (
        *("base", "defaults", "elsewhere", "is_cpu_only", "is_metadata", "is_mixed", "is_no_op"),
        *("is_shared", "name", "names", "packet", "returned", "rows", "run", "writes"),
    )

    def __init__(self, op: Op, rows: dict[str, list[Row]], run: Any = None) -> None:
        schema = op._schema
        self.base: str = schema.name
        overload = schema.overload_name
        self.name = f"{self.base}.{overload}" if overload else self.base
        self.names: list[str] = [a.name for a in schema.arguments]
        self.defaults: dict[str, Any] = {
            a.name: a.default_value if a.has_default_value() else None for a in schema.arguments
        }
        self.writes = frozenset(a.name for a in schema.arguments if _is_written(a))
        self.returned = _returned(schema)
        found = [*rows.get(self.name, ()), *rows.get(self.base, ())]
        self.rows = tuple(dict.fromkeys(found))
        self.packet = op._overloadpacket
        self.is_metadata, self.is_shared = self.name in METADATA, self.name in SHARED
        self.is_no_op, self.is_mixed = self.base in NO_OPS, self.base in MIXED
        self.is_cpu_only = self.base in CPU_ONLY
        self.elsewhere = _ELSEWHERE.get(self.base, frozenset())
        self.run = run or missing.KERNELS.get(self.base) or op


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and bool(argument.alias_info.is_write)


def _returned(schema: Any) -> list[str | None]:
    """For each result the argument that it is; None for a new tensor."""
    owners = {
        name: argument.name
        for argument in schema.arguments
        if _is_written(argument)
        for name in argument.alias_info.before_set
    }
    return [
        next((owners[name] for name in result.alias_info.before_set if name in owners), None)
        if _is_written(result)
        else None
        for result in schema.returns
    ]


class Plans:
    """Plans of operators, each made when it is first called."""

    def __init__(self) -> None:
        major, minor = torch.__version__.split(".")[:2]
        self._rows = by_operator(ROWS, (int(major), int(minor)))
        self._plans: dict[Op, Plan] = {}

    def of(self, op: Op) -> Plan:
        """Return the plan of an operator."""
        plan = self._plans.get(op)
        if plan is None:
            plan = self._plans[op] = Plan(op, self._rows)
        return plan

    def register(self, op: Op, run: Any, row: Row | None) -> None:
        """Run a function in place of an operator's kernel, and expect the syncs of a row."""
        rows = {**self._rows, **({} if row is None else {op._schema.name: [row]})}
        self._plans[op] = Plan(op, rows, run)

    def forget(self) -> None:
        """Forget what was registered."""
        self._plans.clear()


PLANS = Plans()
