"""Counts storages by the module in which they were made, without a profiler."""

from __future__ import annotations

import weakref
from collections import Counter
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Storages(TorchDispatchMode):
    """Bytes of live storages by the path of the module whose forward made them."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.live: Counter[str] = Counter()
        self._stack: list[str] = []
        self._seen = weakref.WeakSet[Any]()
        for parameter in [*model.parameters(), *model.buffers()]:
            self._seen.add(parameter.untyped_storage())
        for path, module in model.named_modules():
            module.register_forward_pre_hook(lambda *_, path=path: self._stack.append(path))
            module.register_forward_hook(lambda *_: (self._stack.pop(), None)[1])

    def __torch_dispatch__(self, function: Any, _types: Any, args: Any = (), kwargs: Any = None):  # type: ignore[no-untyped-def]
        result = function(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor) and self._stack:
                self._count(leaf.untyped_storage())
        return result

    def _count(self, storage: Any) -> None:
        if storage in self._seen or not storage.nbytes():
            return
        self._seen.add(storage)
        path, size = self._stack[-1], storage.nbytes()
        self.live[path] += size
        weakref.finalize(storage, self.live.subtract, {path: size})
