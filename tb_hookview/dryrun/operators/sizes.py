"""Rows of kernels whose result has a size that only the device knows."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from tb_hookview.dryrun.operators.row import Arguments, Reason, Row, always, filled, on_device, when

_FUSED_MODE = 2048
"""Longest slice whose mode one kernel finds: two for each thread of a block."""


def _isin(a: Arguments) -> bool:
    elements, test = a["elements"], a["test_elements"]
    if not elements.numel() or a["assume_unique"]:
        return False
    return bool(test.numel() >= 10.0 * elements.numel() ** 0.145)


def _mode(a: Arguments) -> bool:
    x = a["self"]
    return bool(x.dim() > 0 and x.numel() > 0 and x.size(a["dim"]) > _FUSED_MODE)


def _bincount(a: Arguments) -> Iterator[Reason]:
    if a["self"].numel():
        if a["self"].dtype is not torch.uint8:
            yield Reason("check", "whether a value is negative is read")
        yield Reason("size", "the largest value is read")


def _grouped_mm(a: Arguments) -> bool:
    return a["self"].dtype is not torch.bfloat16 and on_device(a["offs"])


_COUNT = Reason("size", "the number of unique elements is read")
_NONZERO = Reason("size", "the number of nonzero elements is read")
_LAST = Reason("to_device", "a number of the host is copied into a mask", 1)
_SELECTED = Reason("size", "the number of selected elements is read")

ROWS = (
    Row(
        ("nonzero",),
        "always, for empty results too",
        "cuda/Nonzero.cu",
        always(_NONZERO, also_empty=True),
        evidence="recording, binary",
        symbols=("nonzero_cuda_out_impl",),
    ),
    Row(
        ("masked_select",),
        "always",
        "cuda/IndexKernel.cpp",
        always(_SELECTED, also_empty=True),
        evidence="binary",
        symbols=("expandTensors",),
    ),
    Row(
        ("_unique", "_unique2", "unique_dim", "unique_consecutive", "unique_dim_consecutive"),
        "not empty; unique_dim by Thrust",
        "cuda/UniqueCub.cu, cuda/Unique.cu",
        always(_COUNT),
        evidence="binary",
        symbols=("unique_cuda_template", "compute_unique"),
    ),
    Row(
        ("repeat_interleave.Tensor",),
        "without output_size: the sum, and a check of signs",
        "Repeat.h",
        when(
            lambda a: a["output_size"] is None and filled(a["repeats"]),
            Reason("size", "the sum of the repeats is read"),
            Reason("check", "whether a repeat is negative is read"),
        ),
        evidence="recording, binary",
        symbols=("repeat_interleave_cuda", "repeat_interleave_common"),
    ),
    Row(
        ("bincount",),
        "not empty: the minimum, unless the type is uint8, and the maximum, with minlength too",
        "cuda/SummaryOps.cu",
        _bincount,
        evidence="binary",
        symbols=("_bincount_cuda_template",),
    ),
    Row(
        ("isin.Tensor_Tensor", "isin.Tensor_Tensor_out"),
        "more than 10 n^0.145 elements to test against, without assume_unique: unique twice, and "
        "a number of the host into the last element of a mask",
        "TensorCompare.cpp",
        when(_isin, _COUNT, _COUNT, _LAST),
        evidence="binary, recording",
        symbols=("isin_sorting", "structured_isin_Tensor_Tensor_out"),
    ),
    Row(
        ("mode",),
        "slices of more than 2,048 elements: Thrust waits",
        "cuda/TensorModeKernel.cu",
        when(_mode, Reason("inside", "Thrust waits for the stream")),
        evidence="binary",
        symbols=("calculate_mode",),
    ),
    Row(
        ("torchvision::nms",),
        "not empty: which boxes are kept is decided on the host",
        "torchvision/csrc/ops/cuda/nms_kernel.cu",
        always(Reason("size", "the boxes that are kept are counted on the host")),
        evidence="issue",
    ),
    Row(
        ("_grouped_mm",),
        "offsets on the device, and another type than bfloat16 (or a GPU before Hopper)",
        "GroupedMMUtils.h",
        when(_grouped_mm, Reason("to_host", "the offsets are copied to the host")),
        evidence="binary",
        symbols=("_grouped_mm_fallback",),
        first=(2, 9),
    ),
    Row(
        ("_padded_dense_to_jagged_forward",),
        "without total_L",
        "nested/cuda/NestedTensorTransformerFunctions.cu",
        when(lambda a: a["total_L"] is None, Reason("size", "the sum of the lengths is read")),
        evidence="binary",
        symbols=("_fbgemm_dense_to_jagged_forward_symint",),
    ),
)
