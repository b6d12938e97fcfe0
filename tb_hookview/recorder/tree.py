"""Walks the modules of a wrapped root in `named_modules()` order, with their paths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import torch
from torch import nn
from torch.nn.parallel import DataParallel, DistributedDataParallel

from tb_hookview.recorder.compiled.regions import optimized_module
from tb_hookview.recorder.hooks import SLOT, ReplacedCall

Reach = Literal["hooks", "call", "none"]
"""Way to mark a module's calls: by hooks, by wrapping, or not at all."""


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
    reach: Reach
    compiled: bool
    """Whether it is a part of a module that is compiled as a whole."""


def walk(root: nn.Module, path: str) -> Iterator[Node]:
    """Yield every module once, parents before children.

    Names are those of `named_modules()`, with the root's own path in front and without the
    `_orig_mod` that `torch.compile` puts between a compiled module and its parts. Modules inside a
    scripted region are out of reach. Parts of a compiled module are called where its graph breaks.
    """
    seen: set[int] = set()
    pending = [(path, root, 0, True, False)]
    while pending:
        path, module, depth, outside, compiled = pending.pop()
        if id(module) in seen:
            continue
        holder = _holder(module)
        seen.update((id(module), id(holder)))
        reach = _reach(module) if outside else "none"
        yield Node(path, module, holder, type(holder).__name__, depth, reach, compiled)
        outside = reach != "none"
        compiled = compiled or reach == "call" or holder is not module
        children = [
            (f"{path}.{name}" if path else name, child, depth + 1, outside, compiled)
            for name, child in holder._modules.items()
            if child is not None
        ]
        pending.extend(reversed(children))


def _holder(module: nn.Module) -> nn.Module:
    """Return what `torch.compile(module)` compiled; any other module is its own holder."""
    wrapper = optimized_module()
    if wrapper is None or not isinstance(module, wrapper):
        return module
    compiled: nn.Module | None = module._modules["_orig_mod"]
    return module if compiled is None else compiled


def _reach(module: nn.Module) -> Reach:
    if isinstance(module, torch.jit.ScriptModule):
        return "none"
    # `module.compile()` puts the module's hooks into the compiled region.
    call = module.__dict__.get(SLOT)
    while isinstance(call, ReplacedCall):  # a watched block is called as it was before
        call = call.call
    return "hooks" if call is None else "call"


def within_parallel(module: nn.Module) -> nn.Module:
    """Return the model inside data parallelism, whose paths the user knows."""
    while isinstance(module, DistributedDataParallel | DataParallel):
        module = module.module
    return module
