"""Tensors of host memory that are CUDA tensors to torch, and back.

A tensor is exported by DLPack, the device in the capsule is changed, and it is imported again: the
same memory, kept alive by the new tensor, with the dispatch keys of CUDA.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch

from tb_hookview.dryrun.device import attention
from tb_hookview.dryrun.device.allocators import capsule_pointer

_C: Any = torch._C
aten = torch.ops.aten
CPU = torch.device("cpu")
CPU_KEYS = _C.DispatchKeySet(_C.DispatchKey.CPU)
SPARSE_CPU_KEYS = _C.DispatchKeySet(_C.DispatchKey.SparseCPU)
SPARSE_CSR_CPU_KEYS = _C.DispatchKeySet(_C.DispatchKey.SparseCsrCPU)
NESTED_CPU_KEYS = _C.DispatchKeySet(_C.DispatchKey.NestedTensorCPU)

_KDL_CPU, _KDL_CUDA = 1, 2
_DEVICE_TYPE, _DEVICE_ID = 8, 12
"""Offsets in DLTensor, which begins with void *data, int32 device_type, int32 device_id."""
_int32 = ctypes.c_int32.from_address
_export, _import = _C._to_dlpack, _C._from_dlpack
_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_COMPRESSED = {
    torch.sparse_csr: ("crow_indices", "col_indices"),
    torch.sparse_csc: ("ccol_indices", "row_indices"),
    torch.sparse_bsr: ("crow_indices", "col_indices"),
    torch.sparse_bsc: ("ccol_indices", "row_indices"),
}


class UnsupportedError(NotImplementedError):
    """A kind of tensor that cannot be labelled."""


def label(tensor: torch.Tensor, index: int = 0) -> torch.Tensor:
    """Return a tensor of the host as one of CUDA device `index`, in the same memory."""
    if tensor.is_nested:
        return _label_nested(tensor, index)
    if tensor.layout is not torch.strided:
        return _label_sparse(tensor, index)
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor._is_zerotensor():  # it has no memory
        tensor = aten.zeros(tensor.size(), dtype=tensor.dtype, device=CPU)
    if tensor.is_neg():
        tensor = tensor.resolve_neg()
    if tensor.dtype.is_complex and tensor.is_conj():
        tensor = tensor.resolve_conj()
    labelled: torch.Tensor = _relabel(tensor, _KDL_CUDA, index)
    if labelled.stride() != tensor.stride():
        labelled = aten.as_strided.default.redispatch(
            CPU_KEYS, labelled, tensor.size(), tensor.stride(), 0
        )
    return labelled


def host(tensor: torch.Tensor) -> torch.Tensor:
    """Return a CUDA tensor of host memory as a tensor of the CPU, in the same memory."""
    if tensor.is_nested:
        return _host_nested(tensor)
    if tensor.layout is not torch.strided:
        return _host_sparse(tensor)
    alias: torch.Tensor = _relabel(tensor, _KDL_CPU, 0)
    if alias.stride() != tensor.stride():
        alias = alias.as_strided(tensor.size(), tensor.stride())
    if tensor.dtype.is_complex and tensor.is_conj():
        alias = torch._conj(alias)
    return torch._neg_view(alias) if tensor.is_neg() else alias


def _relabel(tensor: torch.Tensor, kind: int, index: int) -> Any:
    try:
        capsule = _export(tensor)
    except (BufferError, RuntimeError):
        return _relabel_as_integers(tensor, kind, index)
    address = capsule_pointer(capsule, b"dltensor")
    _int32(address + _DEVICE_TYPE).value = kind
    _int32(address + _DEVICE_ID).value = index
    return _import(capsule)


def _relabel_as_integers(tensor: torch.Tensor, kind: int, index: int) -> Any:
    """Relabel a type that DLPack has no name for, by one of the same size."""
    if tensor.is_quantized:
        return _quantized(tensor, torch.device("cuda", index) if kind == _KDL_CUDA else CPU)
    integer = _INTEGERS.get(tensor.element_size())
    if integer is None or tensor.dtype is integer:
        raise UnsupportedError(f"tensors of {tensor.dtype} cannot be shown as CUDA tensors")
    plain = aten.view.dtype(tensor, integer)
    return aten.view.dtype(_relabel(plain, kind, index), tensor.dtype)


def _quantized(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A quantized tensor of the device is a copy; its alias on the host has the same memory."""
    if device.type == "cuda":
        made = attention.empty(tensor, device, label)
        host(attention.integers(made)).copy_(attention.integers(tensor.contiguous()))
    else:
        made = attention.empty(tensor, device, host)
        memory = host(attention.integers(tensor)).untyped_storage()
        made.set_(memory, tensor.storage_offset(), tensor.size(), tensor.stride())
    return made


def _label_sparse(tensor: torch.Tensor, index: int) -> torch.Tensor:
    device = torch.device("cuda", index)
    if tensor.layout is torch.sparse_coo:
        made: torch.Tensor = aten._sparse_coo_tensor_with_dims_and_tensors.default.redispatch(
            SPARSE_CPU_KEYS,
            tensor.sparse_dim(),
            tensor.dense_dim(),
            tensor.size(),
            label(tensor._indices(), index),
            label(tensor._values(), index),
            dtype=tensor.dtype,
            layout=torch.sparse_coo,
            device=device,
            pin_memory=None,
            is_coalesced=tensor.is_coalesced(),
        )
        return made
    parts = [label(part, index) for part in _compressed_parts(tensor)]
    return _compressed(tensor, parts, device)


def _host_sparse(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.layout is torch.sparse_coo:
        made: torch.Tensor = aten._sparse_coo_tensor_with_dims_and_tensors(
            tensor.sparse_dim(),
            tensor.dense_dim(),
            tensor.size(),
            host(tensor._indices()),
            host(tensor._values()),
            dtype=tensor.dtype,
            layout=torch.sparse_coo,
            device=CPU,
            is_coalesced=tensor.is_coalesced(),
        )
        return made
    return _compressed(tensor, [host(part) for part in _compressed_parts(tensor)], CPU)


def _compressed_parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    names = _COMPRESSED.get(tensor.layout)
    if names is None:
        raise UnsupportedError(f"tensors of layout {tensor.layout} cannot be shown as CUDA tensors")
    return [getattr(tensor, name)() for name in (*names, "values")]


def _compressed(
    like: torch.Tensor, parts: list[torch.Tensor], device: torch.device
) -> torch.Tensor:
    made: torch.Tensor = aten._sparse_compressed_tensor_unsafe(
        *parts, like.size(), dtype=like.dtype, layout=like.layout, device=device
    )
    return made


def _label_nested(tensor: torch.Tensor, index: int) -> torch.Tensor:
    made: torch.Tensor = aten._nested_view_from_buffer.default.redispatch(
        CPU_KEYS, label(tensor.values(), index), *_nested_shape(tensor)
    )
    return made


def _nested_shape(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Sizes, strides and offsets, which always lie on the host."""
    return (
        tensor._nested_tensor_size(),
        tensor._nested_tensor_strides(),
        tensor._nested_tensor_storage_offsets(),
    )


def _host_nested(tensor: torch.Tensor) -> torch.Tensor:
    buffer = host(aten.values.default.redispatch(NESTED_CPU_KEYS, tensor))
    made: torch.Tensor = aten._nested_view_from_buffer(buffer, *_nested_shape(tensor))
    return made
