"""Rows of kernels that read values: scalars, results of comparisons, error checks."""

from __future__ import annotations

from collections.abc import Iterator

from tb_hookview.dryrun.operators.arguments import Arguments, on_device
from tb_hookview.dryrun.operators.reason import Reason
from tb_hookview.dryrun.operators.row import Row, always, when


def _equal(a: Arguments) -> bool:
    x, y = a["self"], a["other"]
    same = x.data_ptr() == y.data_ptr() and x.stride() == y.stride()
    return bool(x.size() == y.size() and x.numel() > 0 and not same)


def _histc(a: Arguments) -> bool:
    return bool(a["min"] == a["max"] and a["self"].numel() > 0)


def _sorter(a: Arguments) -> bool:
    sorter = a["sorter"]
    return on_device(sorter) and sorter.numel() > 0


def _std(a: Arguments) -> bool:
    return on_device(a["std"]) and a["std"].numel() > 0


def _integer_zero_point(a: Arguments) -> bool:
    return on_device(a["zero_point"]) and not a["zero_point"].dtype.is_floating_point


def _segment_lengths(a: Arguments) -> bool:
    return not a["unsafe"] and a["lengths"] is not None and a["offsets"] is None


def _svd(a: Arguments) -> Iterator[Reason]:
    if a["A"].numel() == 0:
        return
    yield Reason("check", "errors are read back")
    if a["driver"] is None:
        yield Reason("to_host", "whether gesvdj converged is copied to the host")


_ERRORS = "errors are read back"
_BATCH = "linalg/BatchLinearAlgebra.cpp, BatchLinearAlgebra.cpp"

ROWS = (
    Row(
        ("_local_scalar_dense",),
        "always: item(), int(), float(), bool(), a tensor where a number is expected",
        "cuda/CUDAScalar.cu",
        always("read", "a value is read", also_empty=True),
        evidence="recording, binary",
        symbols=(
            "_local_scalar_dense_cuda",
            "_local_scalar_dense_cuda_impl",
        ),
    ),
    Row(
        ("equal",),
        "sizes agree, not empty, not the same memory",
        "cuda/Equal.cpp",
        when(_equal, "read", "the result of the comparison is read"),
        evidence="binary",
        symbols=("cuda_equal",),
    ),
    Row(
        ("masked_fill_.Tensor", "masked_fill.Tensor"),
        "the value is a tensor on the device",
        "cuda/Indexing.cu",
        when(lambda a: on_device(a["value"]), "read", "the value to fill with is read"),
        evidence="binary",
        symbols=("masked_fill__cuda",),
    ),
    Row(
        ("histc",),
        "min equals max, which is the default: twice",
        "cuda/SummaryOps.cu",
        when(_histc, "read", "min and max of the data are read, as none are given", 2),
        evidence="binary",
        symbols=("_histc_cuda_template",),
    ),
    Row(
        ("searchsorted.Tensor", "searchsorted.Scalar"),
        "with a sorter: its smallest and its largest index",
        "BucketizationUtils.h",
        when(_sorter, "check", "the smallest and the largest index of the sorter are read", 2),
        evidence="binary",
        symbols=("searchsorted_pre_check",),
    ),
    Row(
        ("normal.float_Tensor", "normal.Tensor_Tensor"),
        "std on the device: checked by the call, and again by the form with out= that it ends in",
        "DistributionTemplates.h",
        when(_std, "check", "whether a standard deviation is negative is read", 2),
        evidence="binary",
        symbols=("normal_impl",),
    ),
    Row(
        ("normal.float_Tensor_out", "normal.Tensor_Tensor_out"),
        "std on the device",
        "DistributionTemplates.h",
        when(_std, "check", "whether a standard deviation is negative is read"),
        evidence="binary",
        symbols=("normal_out_impl",),
    ),
    Row(
        ("fake_quantize_per_channel_affine_cachemask",),
        "integer zero points: the smallest and the largest",
        "quantized/FakeQuantPerChannelAffine.cpp",
        when(_integer_zero_point, "check", "the range of the zero points is read", 2),
        symbols=("fake_quantize_per_channel_affine_cachemask",),
    ),
    Row(
        ("_fused_moving_avg_obs_fq_helper",),
        "always: whether to fake-quantize",
        "quantized/cuda/FusedObsFakeQuant.cu",
        when(lambda a: on_device(a["fake_quant_on"]), "read", "whether to fake-quantize is read"),
        evidence="binary",
        symbols=("fused_moving_avg_obs_fake_quant_cuda",),
    ),
    Row(
        ("segment_reduce",),
        "lengths with unsafe=False: their minimum, and whether they sum to the size",
        "SegmentReduce.cpp",
        when(_segment_lengths, "check", "the lengths are checked", 2),
        symbols=("segment_reduce_kernel",),
    ),
    Row(
        ("_linalg_svd",),
        "always; twice without driver=, for gesvdj's convergence",
        "BatchLinearAlgebra.cpp, cuda/linalg/BatchLinearAlgebraLib.cpp",
        _svd,
        evidence="binary",
        symbols=("structured__linalg_svd_out",),
    ),
    Row(
        (
            "_linalg_eigh",
            "cholesky",
            "linalg_lstsq",
            "linalg_eig",
            "_linalg_eigvals",
            "linalg_eigvals",
        ),
        "always; eig also copies there and back where it runs on the host (CUDA before 12.8)",
        _BATCH,
        always("check", _ERRORS),
        evidence="binary",
        symbols=("structured__linalg_eigh_out",),
    ),
)
