"""Rows of kernels that copy between host and device, and which memory is pinned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from tb_hookview.dryrun.operators.row import Arguments, Reason, Row, nbytes, on_device, on_host

# What tensors of the host stand for: pinned memory, or memory of the device seen from the host.


_MANY = 4096
_weak: Any = StorageWeakRef


class Storages:
    """A set of storages, and of memory as long as they have it; it keeps none of them alive."""

    def __init__(self) -> None:
        self._known: dict[int, Any] = {}
        """By the addresses of storage and memory."""

    def add(self, tensor: torch.Tensor) -> None:
        """Add the storage of a dense tensor."""
        storage = tensor.untyped_storage()
        self._known[storage._cdata] = self._known[storage.data_ptr()] = _weak(storage)
        if len(self._known) > _MANY:
            for key in [key for key, known in self._known.items() if known.expired()]:
                del self._known[key]

    def holds(self, tensor: torch.Tensor) -> bool:
        """Whether the tensor's storage is one of them."""
        if not self._known or tensor.layout is not torch.strided or tensor.is_nested:
            return False
        storage = tensor.untyped_storage()
        if self._has(storage._cdata):
            return True
        return storage.device.type == "cpu" and self.holds_memory(storage.data_ptr())

    def holds_memory(self, address: int) -> bool:
        """Whether it is where the memory of one of them begins."""
        return address != 0 and self._has(address)

    def _has(self, key: int) -> bool:
        reference = self._known.get(key)
        return reference is not None and not reference.expired()

    def clear(self) -> None:
        """Forget all of them."""
        self._known.clear()


PINNED = Storages()
"""Memory of the host that counts as pinned."""
ALIASES = Storages()
"""Memory of the device that collectives have as tensors of the host."""


def pin(tensor: torch.Tensor) -> None:
    """Take the tensor's memory for pinned from now on."""
    PINNED.add(tensor)


def is_pinned(tensor: torch.Tensor) -> bool:
    """Whether the tensor's memory is taken for pinned."""
    return PINNED.holds(tensor)


def forget() -> None:
    """Forget everything."""
    PINNED.clear()
    ALIASES.clear()


# Copies between host and device: which of them block.
#
# CUDA Runtime API, "API synchronization behavior"; ATen/native/cuda/Copy.cu.


FROM_PINNED = "the source is pinned, but the copy is not non_blocking"
PAGEABLE = "the source is pageable memory"
STAGED = "non_blocking from pageable memory: the driver copies it to a buffer of its own first"
TO_HOST = "the values are copied to the host"
TO_PAGEABLE = "non_blocking, but into pageable memory"


def transfer(nbytes: int, *, to_device: bool, non_blocking: bool, pinned: bool) -> Iterator[Reason]:
    """Yield why the host waits for a copy between host and device.

    Args:
        nbytes: bytes that are copied; nothing happens without any.
        to_device: the direction.
        non_blocking: as it was asked for.
        pinned: whether the copy itself starts from, or ends in, pinned memory.
    """
    if not nbytes:
        return
    if to_device:
        if not non_blocking:
            yield Reason("to_device", FROM_PINNED if pinned else PAGEABLE, nbytes)
        elif not pinned:
            yield Reason("staging", STAGED, nbytes, certain=False)
    elif not non_blocking:
        yield Reason("to_host", TO_HOST, nbytes)
    elif not pinned:
        yield Reason("to_host", TO_PAGEABLE, nbytes)


def copy(dst: torch.Tensor, src: torch.Tensor, *, non_blocking: bool) -> Iterator[Reason]:
    """Yield why the host waits for `dst.copy_(src)`."""
    if dst.is_cuda == src.is_cuda or dst.numel() == 0:
        return
    on_host = src if dst.is_cuda else dst
    if ALIASES.holds(on_host):
        return
    nbytes = dst.numel() * (dst if dst.is_cuda or non_blocking else src).element_size()
    yield from transfer(
        nbytes,
        to_device=dst.is_cuda,
        non_blocking=non_blocking,
        pinned=is_pinned(on_host) and is_straight(dst, src, to_device=dst.is_cuda),
    )


def is_straight(dst: torch.Tensor, src: torch.Tensor, *, to_device: bool) -> bool:
    """Whether a copy that does not block reads, or writes, the memory of the host itself.

    What is not one memcpy goes by way of contiguous tensors: the source is converted and made
    contiguous where it is, the result where it is to be.
    """
    same = dst.dtype == src.dtype
    if same and _is_one_memcpy(dst, src):
        return True
    if to_device:
        return same and dst.size() == src.size() and src.is_contiguous()
    return dst.is_contiguous()


def _is_one_memcpy(dst: torch.Tensor, src: torch.Tensor) -> bool:
    """Whether elements lie in the same order without gaps."""
    if dst.size() != src.size():
        return False
    if dst.is_contiguous() and src.is_contiguous():
        return True
    return dst.stride() == src.stride() and _is_dense(dst)


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether the elements fill their memory, in whatever order."""
    dims = sorted(zip(tensor.stride(), tensor.size(), strict=True))
    expected = 1
    for stride, size in dims:
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True


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
