"""Puts the kernels into torch's dispatcher, and takes them out again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch

from tb_hookview.dryrun.device import overrides
from tb_hookview.dryrun.device.guard import PLANS, Op
from tb_hookview.dryrun.device.kernels import kernel, note

_C: Any = torch._C
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
    "copy_": overrides.copy_,
    "_to_copy": overrides.to_copy,
    "resize_": overrides.resize_,
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
                c10d.impl(name, overrides.collective(op), "CUDA")


def _install_aten(aten: Any) -> set[tuple[str, str]]:
    """Kernels for all builds; their names and keys."""
    done: set[tuple[str, str]] = set()
    for name, op in _operators("aten"):
        if name in _OVERRIDES:
            aten.impl(name, _OVERRIDES[name], "CUDA")
            aten.impl(name, _OVERRIDES[name], "QuantizedCUDA")
            done.add((name, "QuantizedCUDA"))
        elif name in _NAMED:
            aten.impl(name, overrides.named(op), "CUDA")
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
