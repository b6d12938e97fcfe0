"""Kernels that are not the CPU's on an alias: copies between devices, resizing, collectives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tb_hookview.dryrun.device.guard import PLANS, Op
from tb_hookview.dryrun.device.kernels import CURRENT, _Call
from tb_hookview.dryrun.device.labels import CPU, CPU_KEYS, aten, host, label
from tb_hookview.dryrun.operators.row import Reason, nbytes
from tb_hookview.dryrun.operators.uploads import (
    ALIASES,
    copy,
    is_pinned,
    is_straight,
    pin,
    transfer,
)
from tb_hookview.dryrun.recording.recorder import WATCH

_C: Any = torch._C
COPY = "aten::copy_"
"""The operator that holds the sync of a copy in a recording."""
_set = aten.set_.source_Tensor
_as_strided = aten.as_strided.default
_COMPOSITE = _C.DispatchKeySet(_C.DispatchKey.HPU)
"""A key without kernels here, so that its entry is torch's composite code."""
_NoTorchFunction = torch._C.DisableTorchFunction


def copy_(dst: torch.Tensor, src: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """`aten::copy_` where one of both, or both, are on the device."""
    with _NoTorchFunction():
        WATCH.operator(COPY)
        if dst.layout is torch.strided and src.layout is torch.strided:
            for reason in copy(dst, src, non_blocking=non_blocking):
                WATCH.sync(COPY, reason)
        elif dst.is_cuda != src.is_cuda:
            WATCH.sync(COPY, _parts(src, to_device=dst.is_cuda))
        into = host(dst) if dst.is_cuda else dst
        into.copy_(host(src) if src.is_cuda else src)
    return dst


def to_copy(
    source: torch.Tensor,
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,  # noqa: ARG001  # its place in the schema
    non_blocking: bool = False,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    """`aten::_to_copy` from or to the device."""
    target = source.device if device is None else device
    to_device = target.type == "cuda"
    with _NoTorchFunction():
        WATCH.operator("aten::_to_copy")
        made = aten._to_copy(
            host(source) if source.is_cuda else source,
            dtype=dtype,
            layout=layout,
            device=CPU,
            memory_format=memory_format,
        )
        into_pinned = non_blocking and not to_device and made.layout is torch.strided
        if to_device != source.is_cuda:
            _note_transfer(source, made, to_device, non_blocking, into_pinned)
        if to_device:
            return label(made, CURRENT.index if target.index is None else target.index)
        if into_pinned:
            pin(made)
    return made  # type: ignore[no-any-return]


def _note_transfer(
    source: torch.Tensor, made: torch.Tensor, to_device: bool, non_blocking: bool, pinned: bool
) -> None:
    if made.layout is not torch.strided or made.is_nested:
        WATCH.sync(COPY, _parts(source, to_device=to_device))
        return
    on_host = is_pinned(source) if to_device else pinned
    pinned = on_host and is_straight(made, source, to_device=to_device)
    for reason in transfer(
        nbytes(made), to_device=to_device, non_blocking=non_blocking, pinned=pinned
    ):
        WATCH.sync(COPY, reason)


def _parts(tensor: torch.Tensor, *, to_device: bool) -> Reason:
    kind = "nested" if tensor.is_nested else "sparse"
    return Reason("to_device" if to_device else "to_host", f"a {kind} tensor, part by part")


def resize_(
    tensor: torch.Tensor, size: Any, *, memory_format: torch.memory_format | None = None
) -> torch.Tensor:
    """`aten::resize_`: memory of the device that cannot grow is replaced by more of it."""
    with _NoTorchFunction():
        size = list(size)
        order = memory_format or torch.contiguous_format
        strides = aten.empty(size, device="meta", memory_format=order).stride()
        need = 1 + sum((n - 1) * s for n, s in zip(size, strides, strict=True)) if all(size) else 0
        have = tensor.untyped_storage().nbytes() // tensor.element_size() - tensor.storage_offset()
        if need <= have:
            whole, offset = tensor.detach(), tensor.storage_offset()
        else:
            whole, offset = label(_grown(tensor, need), tensor.device.index or 0), 0
        _set.redispatch(
            CPU_KEYS, tensor, _as_strided.redispatch(CPU_KEYS, whole, size, strides, offset)
        )
    return tensor


def _grown(tensor: torch.Tensor, elements: int) -> torch.Tensor:
    grown: torch.Tensor = aten.zeros([elements], dtype=tensor.dtype, device=CPU)
    if tensor.numel() and tensor.is_contiguous():
        grown[: tensor.numel()].copy_(host(tensor).reshape(-1))
    return grown


def named(op: Op) -> Callable[..., Any]:
    """Return composite code as a kernel, so that syncs of what it calls are noted inside it."""
    name = op._schema.name

    def run(*args: Any, **kwargs: Any) -> Any:
        recorder = WATCH.recorder
        if recorder is None:
            return op.redispatch(_COMPOSITE, *args, **kwargs)
        with recorder.inside(name):
            return op.redispatch(_COMPOSITE, *args, **kwargs)

    return run


def collective(op: Op) -> Callable[..., Any]:
    """Return a collective of tensors of the device: that of the CPU, on the same memory."""
    plan = PLANS.of(op)
    plan.is_mixed = True

    def run(*args: Any, **kwargs: Any) -> Any:
        WATCH.operator(plan.base)
        if plan.base in {"c10d::barrier", "c10d::monitored_barrier_"}:
            WATCH.sync(plan.base, Reason("explicit", "the host waits for all ranks"))
        call = _Call(plan)
        arguments = [call.to_host(value) for value in args]
        named = {name: call.to_host(value) for name, value in kwargs.items()}
        for _, alias in call.pairs:
            ALIASES.add(alias)
        out = op(*arguments, **named)
        known = {alias.data_ptr(): original for original, alias in call.pairs if alias.numel()}

        def back(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                original = known.get(value.data_ptr())
                same = original is not None and original.size() == value.size()
                return original if same else label(value, max(call.index, 0))
            return [back(each) for each in value] if isinstance(value, (list, tuple)) else value

        return tuple(back(each) for each in out) if isinstance(out, tuple) else back(out)

    return run
