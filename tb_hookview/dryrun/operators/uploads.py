"""Rows of kernels that copy indices, scalars and constants from the host to the device."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tb_hookview.dryrun.operators.copies import copy
from tb_hookview.dryrun.operators.row import Arguments, Reason, Row, nbytes, on_device, on_host

_MASKS = (torch.bool, torch.uint8)


def _index_put(a: Arguments) -> Iterator[Reason]:
    indices = [index for index in a["indices"] if isinstance(index, torch.Tensor)]
    if _is_fill(a, indices):
        return
    values = a["values"]
    if on_host(values) and values.dim() == 0:
        yield Reason("to_device", "the value, a number of the host, is copied", nbytes(values))
    for index in indices:
        # Masks of the host become indices in pinned memory, which are copied without a wait.
        if on_host(index) and index.dtype not in _MASKS:
            yield Reason("to_device", "an index lies on the host", nbytes(index))
    for index in indices:
        if on_device(index) and index.dtype in _MASKS:
            yield Reason("size", "an index is a mask: its elements are counted")


def _is_fill(a: Arguments, indices: list[torch.Tensor]) -> bool:
    """Whether it becomes `masked_fill_`: one mask, and one number of the host."""
    value = a["values"]
    if a["accumulate"] or len(indices) != 1 or not on_host(value) or value.numel() != 1:
        return False
    return on_device(indices[0]) and indices[0].dtype in _MASKS


def _where(a: Arguments) -> Iterator[Reason]:
    tensors = [a["condition"], a["self"], a["other"]]
    if any(map(on_device, tensors)):
        for tensor in tensors:
            if on_host(tensor) and tensor.dim() == 0:
                yield Reason("to_device", "a 0-dim tensor of the host is copied", nbytes(tensor))


def _ctc(a: Arguments) -> Iterator[Reason]:
    for name in ("input_lengths", "target_lengths"):
        lengths = a[name]
        if isinstance(lengths, (list, tuple)):
            yield Reason("to_device", f"{name} are copied to the device", 8 * len(lengths))
        elif on_device(lengths):
            yield Reason("to_host", f"{name} are copied to the host", nbytes(lengths))
    yield Reason("to_device", "offsets of the targets are copied to the device")


def _foreach_copy(a: Arguments) -> Iterator[Reason]:
    for dst, src in zip(a["self"], a["src"], strict=True):
        yield from copy(dst, src, non_blocking=bool(a["non_blocking"]))


ROWS = (
    Row(
        ("_index_put_impl_",),
        "each mask, each index on the host; a 0-dim value on the host. Not where one number of the "
        "host fills one mask",
        "TensorAdvancedIndexing.cpp, cuda/Indexing.cu",
        _index_put,
        evidence="recording, binary",
        symbols=("expandTensors", "makeLinearIndex", "_index_put_impl_"),
    ),
    Row(
        ("where.self", "where.self_out"),
        "each 0-dim tensor of the host",
        "TensorCompare.cpp",
        _where,
        evidence="binary",
        symbols=("where_self_out",),
    ),
    Row(
        ("_ctc_loss", "_ctc_loss_backward"),
        "lengths and offsets, forward and backward",
        "cuda/LossCTC.cu",
        _ctc,
        evidence="binary",
        symbols=("ctc_loss_gpu_template", "ctc_loss_backward_gpu_template"),
    ),
    Row(
        ("_foreach_copy_",),
        "each pair, as copy_",
        "cuda/ForeachBinaryOpList.cu",
        _foreach_copy,
        symbols=("copy_kernel_cuda",),
    ),
)
