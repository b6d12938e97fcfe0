"""Lets torchvision be imported beside a torch its compiled operators do not fit.

A CPU build of torch cannot load the operators of torchvision's usual wheel, and the import then
fails on shape functions for operators that nobody declared. The models that the tests use call
none of them, so declaring them is enough. A dry run of `nms` needs no more than its declaration.
"""

from __future__ import annotations

import functools

import torch

_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


@functools.cache
def declare() -> torch.library.Library | None:
    """Declare what is missing; call this before `import torchvision`. Keep nothing of it."""
    try:
        import torchvision  # noqa: F401
    except (ModuleNotFoundError, RuntimeError):
        library = torch.library.Library("torchvision", "FRAGMENT")
        for schema in _SCHEMAS:
            library.define(schema)
        return library
    return None
