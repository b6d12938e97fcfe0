"""Rows of kernels that read values: scalars, results of comparisons, checks of arguments."""

from __future__ import annotations

from collections.abc import Iterator

from tb_hookview.dryrun.operators.row import (
    Arguments,
    Reason,
    Row,
    always,
    filled,
    on_device,
    on_host,
    when,
)


def _equal(a: Arguments) -> bool:
    x, y = a["self"], a["other"]
    same = x.data_ptr() == y.data_ptr() and x.stride() == y.stride()
    return bool(x.size() == y.size() and x.numel() > 0 and not same)


def _integer_zero_point(a: Arguments) -> bool:
    return on_device(a["zero_point"]) and not a["zero_point"].dtype.is_floating_point


def _segment_lengths(a: Arguments) -> bool:
    return not a["unsafe"] and a["lengths"] is not None and a["offsets"] is None


def _parameters(a: Arguments) -> Iterator[Reason]:
    for name, reason in (("scale", _SCALE), ("zero_point", _ZERO_POINT)):
        if on_device(a[name]):
            yield reason


_STD = Reason("check", "whether a standard deviation is negative is read")
_ZERO_POINTS = Reason("check", "the range of the zero points is read")
_RANGE = Reason("read", "min and max of the data are read, as none are given")
_SORTER = Reason("check", "the smallest and the largest index of the sorter are read")
_LENGTHS = Reason("check", "the lengths are checked")
_FAKE_QUANTIZE = Reason("read", "whether to fake-quantize is read")
_SCALE = Reason("read", "the scale is read")
_ZERO_POINT = Reason("read", "the zero point is read")
_LEARNABLE = "_fake_quantize_learnable_per_{}_affine"
_BY_CHANNEL, _BY_TENSOR = (
    (_LEARNABLE.format(of), f"{_LEARNABLE.format(of)}_backward") for of in ("channel", "tensor")
)
"""Operators, and the functions that they are."""
_RANGE_OF_QUANTIZER = Reason("read", "the range of the data or of the zero points is read")

ROWS = (
    Row(
        ("_local_scalar_dense",),
        "always: item(), int(), float(), bool(), a tensor where a number is expected",
        "cuda/CUDAScalar.cu",
        always(Reason("read", "a value is read"), also_empty=True),
        evidence="recording, binary",
        symbols=("_local_scalar_dense_cuda", "_local_scalar_dense_cuda_impl"),
    ),
    Row(
        ("equal",),
        "sizes agree, not empty, not the same memory",
        "cuda/Equal.cpp",
        when(_equal, Reason("read", "the result of the comparison is read")),
        evidence="binary",
        symbols=("cuda_equal",),
    ),
    Row(
        ("masked_fill_.Tensor", "masked_fill.Tensor"),
        "the value is a tensor on the device",
        "cuda/Indexing.cu",
        when(lambda a: on_device(a["value"]), Reason("read", "the value to fill with is read")),
        evidence="binary",
        symbols=("masked_fill__cuda",),
    ),
    Row(
        ("fill_.Tensor",),
        "a tensor of the host is filled with a value of the device",
        "Fill.cpp",
        when(
            lambda a: on_host(a["self"]) and on_device(a["value"]),
            Reason("read", "the value to fill with is read"),
        ),
        symbols=("fill_",),
    ),
    Row(
        ("histc",),
        "min equals max, which is the default: twice",
        "cuda/SummaryOps.cu",
        when(lambda a: a["min"] == a["max"] and filled(a["self"]), _RANGE, _RANGE),
        evidence="binary",
        symbols=("_histc_cuda_template",),
    ),
    Row(
        ("searchsorted.Tensor", "searchsorted.Scalar"),
        "with a sorter: its smallest and its largest index",
        "BucketizationUtils.h",
        when(lambda a: filled(a["sorter"]), _SORTER, _SORTER),
        evidence="binary",
        symbols=("searchsorted_pre_check",),
    ),
    Row(
        ("normal.float_Tensor", "normal.Tensor_Tensor"),
        "std on the device: checked by the call, and again by the form with out= that it ends in",
        "DistributionTemplates.h",
        when(lambda a: filled(a["std"]), _STD, _STD),
        evidence="binary",
        symbols=("normal_impl", "normal"),
    ),
    Row(
        ("normal.float_Tensor_out", "normal.Tensor_Tensor_out"),
        "std on the device",
        "DistributionTemplates.h",
        when(lambda a: filled(a["std"]), _STD),
        evidence="binary",
        symbols=("normal_out_impl", "normal_out"),
    ),
    Row(
        ("fake_quantize_per_channel_affine_cachemask",),
        "integer zero points: the smallest and the largest",
        "quantized/FakeQuantPerChannelAffine.cpp",
        when(_integer_zero_point, _ZERO_POINTS, _ZERO_POINTS),
        symbols=("fake_quantize_per_channel_affine_cachemask",),
    ),
    Row(
        _BY_CHANNEL,
        "not empty: the smallest and the largest zero point",
        "quantized/FakeQuantPerChannelAffine.cpp",
        always(_ZERO_POINTS, _ZERO_POINTS),
        symbols=_BY_CHANNEL,
    ),
    Row(
        _BY_TENSOR,
        "always: scale and zero point",
        "quantized/FakeQuantPerTensorAffine.cpp",
        always(_SCALE, _ZERO_POINT, also_empty=True),
        symbols=_BY_TENSOR,
    ),
    Row(
        ("quantize_per_tensor.tensor_qparams",),
        "scale and zero point, where they are on the device",
        "quantized/QTensor.cpp",
        _parameters,
        symbols=("quantize_per_tensor_tensor_qparams",),
    ),
    Row(
        ("quantize_per_tensor_dynamic", "quantize_per_channel"),
        "not empty: the range of the data, or of the zero points",
        "quantized/QTensor.cpp, quantized/cuda/AffineQuantizer.cu",
        always(_RANGE_OF_QUANTIZER, _RANGE_OF_QUANTIZER),
        evidence="binary",
        symbols=("quantize_per_tensor_dynamic", "check_zero_points_cuda"),
    ),
    Row(
        ("_fused_moving_avg_obs_fq_helper",),
        "always: whether to fake-quantize",
        "quantized/cuda/FusedObsFakeQuant.cu",
        when(lambda a: on_device(a["fake_quant_on"]), _FAKE_QUANTIZE),
        evidence="binary",
        symbols=("fused_moving_avg_obs_fake_quant_cuda",),
    ),
    Row(
        ("segment_reduce",),
        "lengths with unsafe=False: their minimum, and whether they sum to the size",
        "SegmentReduce.cpp",
        when(_segment_lengths, _LENGTHS, _LENGTHS),
        symbols=("segment_reduce_kernel",),
    ),
)
