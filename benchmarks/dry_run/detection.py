"""Operators of torchvision's detection models for the CPU, where its compiled ones do not load.

A CPU build of torch cannot load those of torchvision's usual wheel. These have its schemas and are
written with torch's own operators; a build that has them is left alone.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812

from sample_traces.libraries import load

Tensor = torch.Tensor
_ALIGN = (
    "(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "int sampling_ratio, bool aligned) -> Tensor"
)
_ALIGN_BACKWARD = (
    "(Tensor grad, Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor"
)


@functools.cache
def operators() -> Any:
    """Declare what is missing; return what keeps it."""
    extension: Any = load("torchvision").extension
    if extension._has_ops():
        return None
    library = torch.library.Library("torchvision", "FRAGMENT")
    library.define(f"roi_align{_ALIGN}")
    library.define(f"_roi_align_backward{_ALIGN_BACKWARD}")
    for name, function in (
        *(("nms", nms), ("roi_align", _align), ("_roi_align_backward", _align_backward)),
    ):
        library.impl(name, function, "CPU")
    torch.library.register_autograd(
        "torchvision::roi_align", _differentiate, setup_context=_remember, lib=library
    )
    extension._has_ops = lambda: True
    load("torchvision.ops.roi_align")._has_ops = extension._has_ops
    return library


def nms(boxes: Tensor, scores: Tensor, most: float) -> Tensor:
    """Return the boxes that overlap none of a higher score by more than `most`, best first."""
    order = scores.argsort(descending=True)
    overlap = load("torchvision.ops").box_iou(boxes[order], boxes[order]) > most
    kept = torch.ones(len(order), dtype=torch.bool)
    for place in overlap.triu(1).any(1).nonzero()[:, 0].tolist():
        if kept[place]:
            kept[place + 1 :] &= ~overlap[place, place + 1 :]
    return order[kept]


def _align(
    x: Tensor, rois: Tensor, scale: float, height: int, width: int, ratio: int, aligned: bool
) -> Tensor:
    """Means of values between pixels, `ratio` by `ratio` of them in each bin of each region."""
    rows, columns = x.shape[-2:]
    corners = rois[:, 1:] * scale - (0.5 if aligned else 0.0)
    sizes = corners[:, 2:] - corners[:, :2]
    sizes = sizes if aligned else sizes.clamp(min=1.0)
    if ratio <= 0:  # torchvision's own: by region; here that of the largest
        ratio = max(1, math.ceil(float(sizes.max()) / min(height, width))) if len(rois) else 1
    bins = (width * ratio, height * ratio)
    across, down = (
        corners[:, each, None] + sizes[:, each, None] * (torch.arange(n) + 0.5) / n
        for each, n in enumerate(bins)
    )
    inside = _between(down, rows)[:, :, None] & _between(across, columns)[:, None, :]
    last = torch.tensor([max(columns - 1, 1), max(rows - 1, 1)])
    points = torch.stack(torch.broadcast_tensors(across[:, None, :], down[:, :, None]), -1)
    grid = points * (2 / last) - 1
    out = x.new_zeros(len(rois), x.size(1), height, width)
    for image in range(len(x)):
        mine = (rois[:, 0] == image).nonzero()[:, 0]
        at = grid[mine].reshape(1, -1, bins[0], 2)
        found = F.grid_sample(x[image : image + 1], at, padding_mode="border", align_corners=True)
        found = found[0].view(x.size(1), len(mine), bins[1], bins[0]).transpose(0, 1)
        out = out.index_copy(0, mine, F.avg_pool2d(found * inside[mine, None], ratio))
    return out


def _between(places: Tensor, count: int) -> Tensor:
    return (places >= -1) & (places <= count)


def _align_backward(grad: Tensor, x: Tensor, *args: Any) -> Tensor:
    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        (found,) = torch.autograd.grad(_align(leaf, *args), leaf, grad)
    return found


def _remember(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    del output
    ctx.save_for_backward(*inputs[:2])
    ctx.rest = inputs[2:]


def _differentiate(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    x, rois = ctx.saved_tensors
    made = torch.ops.torchvision._roi_align_backward(grad, x, rois, *ctx.rest)
    return (made, *[None] * (1 + len(ctx.rest)))
