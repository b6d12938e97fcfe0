"""Copies between host and device: which of them block.

CUDA Runtime API, "API synchronization behavior"; ATen/native/cuda/Copy.cu.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tb_hookview.dryrun.operators.pinned import ALIASES, is_pinned
from tb_hookview.dryrun.operators.row import Reason

PINNED = "the source is pinned, but the copy is not non_blocking"
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
            yield Reason("to_device", PINNED if pinned else PAGEABLE, nbytes)
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
