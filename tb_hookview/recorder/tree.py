"""The modules of a wrapped root in `named_modules()` order, each under the path its marks carry."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import nn


class Node(NamedTuple):
    """One module instance, under the first of its names."""

    path: str
    module: nn.Module
    """The instance that is called."""
    holder: nn.Module
    """The instance that holds parameters and children: what was compiled, else `module` itself."""
    class_name: str
    depth: int
    """Levels below the root, which is at 0."""
    hookable: bool
    """False inside a compiled or scripted region, where a hook would be traced or refused."""


def walk(root: nn.Module, path: str) -> Iterator[Node]:
    """Yield every module once, parents before children.

    Names are those of `named_modules()`, with the root's own path in front and without the
    `_orig_mod` that `torch.compile` puts between a compiled module and what it holds.
    """
    seen: set[int] = set()
    pending = [(path, root, 0, True)]
    while pending:
        path, module, depth, hookable = pending.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        holder = (module._modules["_orig_mod"] if is_compiled_wrapper(module) else None) or module
        seen.add(id(holder))
        hookable = hookable and not _refuses_hooks(module)
        yield Node(path, module, holder, type(holder).__name__, depth, hookable)
        below = hookable and holder is module
        children = [
            (f"{path}.{name}" if path else name, child, depth + 1, below)
            for name, child in holder._modules.items()
            if child is not None
        ]
        pending.extend(reversed(children))


def is_compiled_wrapper(module: nn.Module) -> bool:
    """Say whether a module is what `torch.compile(module)` returned."""
    # Asking for the class would import the compiler; where it is not loaded there are none.
    frames = sys.modules.get("torch._dynamo.eval_frame")
    wrapper = getattr(frames, "OptimizedModule", None)
    return wrapper is not None and isinstance(module, wrapper)


def _refuses_hooks(module: nn.Module) -> bool:
    # After `module.compile()` the hooks of the module are inside the compiled region.
    compiled_in_place = module.__dict__.get("_compiled_call_impl") is not None
    return compiled_in_place or isinstance(module, torch.jit.ScriptModule)
