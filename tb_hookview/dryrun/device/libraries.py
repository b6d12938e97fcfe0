"""Puts the kernels into torch's dispatcher, and takes them out again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from tb_hookview.dryrun.device.guard import PLANS, Op
from tb_hookview.dryrun.device.kernels import CURRENT, _Call, kernel, note
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

# Kernels that are not the CPU's on an alias: copies between devices, resizing, collectives.


COPY = "aten::copy_"
"""The operator that holds the sync of a copy in a recording."""
_set = aten.set_.source_Tensor
_as_strided = aten.as_strided.default
_C: Any = torch._C
_COMPOSITE = _C.DispatchKeySet(_C.DispatchKey.HPU)
"""A key without kernels here, so that its entry is torch's composite code."""
_NoTorchFunction = torch._C.DisableTorchFunction


def copy_(dst: torch.Tensor, src: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """`aten::copy_` where one of both, or both, are on the device."""
    with _NoTorchFunction():
        WATCH.operator()
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
        WATCH.operator()
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
        WATCH.operator()
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


_Library: Any = torch.library.Library
_KEYS = ("CUDA", "SparseCUDA", "SparseCsrCUDA", "NestedTensorCUDA", "QuantizedCUDA")
_CPU_OF = {
    "SparseCUDA": "SparseCPU",
    "SparseCsrCUDA": "SparseCsrCPU",
    "NestedTensorCUDA": "NestedTensorCPU",
    "QuantizedCUDA": "QuantizedCPU",
}
_NAMED = (
    *("index.Tensor", "_unsafe_index.Tensor", "_linalg_check_errors", "masked_scatter_backward"),
    *("masked_fill.Tensor",),
)
_OVERRIDES: dict[str, Callable[..., Any]] = {
    "copy_": copy_,
    "_to_copy": to_copy,
    "resize_": resize_,
}
_OWN = (
    *("_chunk_cat", "_chunk_cat.out", "_grouped_mm", "split_with_sizes_copy.out", "convolution"),
    *("_convolution", "convolution_backward", "_fused_rms_norm"),
    *("linalg_lstsq", "kaiser_window", "kaiser_window.periodic", "kaiser_window.beta"),
)
"""Operators with a kernel of their own for CUDA, and composite code for other devices."""


def install() -> Callable[[], None]:
    """Install the kernels; return what removes them."""
    libraries: list[Any] = []
    from_python = _of_torch(torch.library._impls)

    def undo() -> None:
        while libraries:
            libraries.pop()._destroy()
        torch.library._impls.update(from_python)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _install(libraries)
    except BaseException:
        undo()
        raise
    return undo


def _install(libraries: list[Any]) -> None:
    fallback = _Library("_", "IMPL")
    libraries.append(fallback)
    for key in _KEYS:
        fallback.fallback(kernel, key)
    aten = _Library("aten", "IMPL")
    libraries.append(aten)
    done = _install_aten(aten)
    for key in ("NestedTensorCUDA", "AutogradNestedTensor"):
        aten.impl("scaled_dot_product_attention", _nested_attention, key)
    if _C._has_cuda:
        _replace(aten, libraries, done)
    if torch.distributed.is_available():
        c10d = _Library("c10d", "IMPL")
        libraries.append(c10d)
        for name, op in _operators("c10d"):
            if _has_kernel(f"c10d::{name}", "CUDA"):
                c10d.impl(name, collective(op), "CUDA")


def _install_aten(aten: Any) -> set[tuple[str, str]]:
    """Kernels for all builds; their names and keys."""
    done: set[tuple[str, str]] = set()
    for name, op in _operators("aten"):
        if name in _OVERRIDES:
            aten.impl(name, _OVERRIDES[name], "CUDA")
            aten.impl(name, _OVERRIDES[name], "QuantizedCUDA")
            done.add((name, "QuantizedCUDA"))
        elif name in _NAMED:
            aten.impl(name, named(op), "CUDA")
        elif name in _OWN or (name.startswith("_foreach") and not name.endswith("out")):
            aten.impl(name, partial(kernel, op), "CUDA")
        else:
            continue
        done.add((name, "CUDA"))
    for name, op in _operators("aten"):
        for key, cpu in _CPU_OF.items():
            full = f"aten::{name}"
            if _has_kernel(full, cpu) and not _has_kernel(full, key):
                aten.impl(name, partial(kernel, op), key)
                done.add((name, key))
    return done


def _replace(aten: Any, libraries: list[Any], done: set[tuple[str, str]]) -> None:
    """Replace the kernels of a build with CUDA, which must not run.

    Kernels of other libraries that are written in Python run: they call operators.
    """
    from_python = set(torch.library._impls)
    torch.library._impls.difference_update(_of_torch(from_python))
    spaces: dict[str, Any] = {"aten": aten}
    for full in _C._dispatch_get_all_op_names():
        space, _, name = full.partition("::")
        if space in {"c10d", "_"} or (op := _operator(space, name)) is None:
            continue
        for key in _KEYS:
            ours = space == "aten"
            known = (name, key) in done if ours else f"{space}/{name}/{key}" in from_python
            if known or not _has_kernel(full, key):
                continue
            if space not in spaces:
                spaces[space] = _Library(space, "IMPL")
                libraries.append(spaces[space])
            spaces[space].impl(name, partial(kernel, op), key)
    for key in ("CUDA", "AutogradCUDA"):
        aten.impl("scaled_dot_product_attention", _attention, key)


def _of_torch(implementations: set[str]) -> set[str]:
    """Kernels of torch's own operators that are written in Python."""
    return {name for name in implementations if name.startswith("aten/")}


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """The math form of attention, which syncs as little as the fused kernels."""
    return torch.ops.aten._scaled_dot_product_attention_math(
        query, key, value, attn_mask, dropout_p, is_causal, None, scale=scale, enable_gqa=enable_gqa
    )[0]


def _nested_attention(*args: Any, **kwargs: Any) -> Any:
    if args[0].is_cuda:
        note(PLANS.of(torch.ops.aten.scaled_dot_product_attention.default), args, kwargs)
    return _attention(*args, **kwargs)


def _operators(space: str) -> Iterator[tuple[str, Op]]:
    for full in _C._dispatch_get_all_op_names():
        found, _, name = full.partition("::")
        if found == space and (op := _operator(space, name)) is not None:
            yield name, op


def _operator(space: str, name: str) -> Op | None:
    packet, _, overload = name.partition(".")
    try:
        return getattr(getattr(getattr(torch.ops, space), packet), overload or "default")
    except (AttributeError, RuntimeError):
        return None


def _has_kernel(full: str, key: str) -> bool:
    return bool(_C._dispatch_has_kernel_for_dispatch_key(full, key))
