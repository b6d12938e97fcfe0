"""Syncs of public models that were reported publicly: issues and pull requests on GitHub."""

from __future__ import annotations

_REPORTED = (
    ("transformers/masking_utils.py", "padding_mask", "huggingface/transformers#43088"),
    ("torchvision/ops/boxes.py", "ops.torchvision.nms(", "pytorch/vision#7412"),
    ("torchvision/ops/_utils.py", "intsctk[mask]", "pytorch/vision#9518"),
    ("diffusers/schedulers/", "== timestep).nonzero()", "huggingface/diffusers#11696"),
    ("diffusers/schedulers/", "indices[pos].item()", "huggingface/diffusers#11696"),
    ("diffusers/schedulers/scheduling_dd", "alphas_cumprod.to(", "huggingface/diffusers#9475"),
)
"""A part of the file's path, a part of the statement, and where it is reported."""


def reported(line: str, code: str) -> str:
    """Return where the sync of a statement was reported; empty where that is unknown."""
    found = (ref for path, part, ref in _REPORTED if path in line and part in code)
    return next(found, "")
