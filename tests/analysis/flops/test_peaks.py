"""Peaks of devices by name, and the time that FLOPs take at them."""

from __future__ import annotations

import numpy as np
import pytest

from tb_hookview.analysis.flops.formulas import DTYPES
from tb_hookview.analysis.flops.peaks import flops_per_ns, known_peaks, peaks_of
from tb_hookview.trace.columns.trace import DeviceProperties

DTYPE = {name: number for number, name in enumerate(DTYPES)}


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA H100", None),
        ("NVIDIA H200", "H200 SXM"),
        ("NVIDIA H200 NVL", "H200 NVL"),
        ("Tesla V100-SXM2-16GB", "V100 SXM2"),
        ("Tesla V100-DGXS-32GB", "V100 SXM2"),
        ("Tesla V100S-PCIE-32GB", "V100S PCIe"),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB SXM"),
        ("NVIDIA A100-PG509-200", None),
        ("NVIDIA A10", "A10"),
        ("NVIDIA A10G", None),
        ("NVIDIA L4", "L4"),
        ("NVIDIA L40", None),
        ("AMD Instinct MI250X", "MI250X, one of two dies"),
        ("AMD Instinct MI250X / MI250", None),
        ("AMD Instinct MI300X VF", "MI300X"),
        ("", None),
    ],
)
def test_a_device_is_known_by_its_whole_name(name: str, device: str | None) -> None:
    found = peaks_of(name)
    assert (found.device if found else None) == device


def test_every_device_has_a_source_and_finds_itself() -> None:
    for peaks in known_peaks():
        assert peaks.source
        assert peaks.gb_per_s > 0
        assert {name.removesuffix("_tensor") for name in peaks.tflops} <= set(DTYPES)
        assert [peaks_of(name) for name in peaks.names] == [peaks] * len(peaks.names)


def peak(name: str, dtype: str, cores: int, number: int = 0) -> float:
    devices = (DeviceProperties(0, name), DeviceProperties(1, name))
    found = flops_per_ns(
        devices, np.array([number]), np.array([DTYPE[dtype]]), np.array([cores], np.int8)
    )
    return float(found[0]) / 1000


def test_the_peak_depends_on_type_and_cores() -> None:
    a100 = "NVIDIA A100-SXM4-80GB"
    assert peak(a100, "float32", 0) == 19.5
    assert peak(a100, "float32", 1) == 156
    assert np.isnan(peak(a100, "float32", -1)), "TF32 or not is not known"
    assert peak(a100, "bfloat16", -1) == 312
    assert np.isnan(peak(a100, "float8", 1)), "it has none"
    assert peak("AMD Instinct MI300X", "float32", -1) == 163.4, "the same on either"
    assert peak("AMD Instinct MI300X", "float16", 1, number=7) == 1307.4, "numbered otherwise"
    assert np.isnan(peak("somebody's device", "float16", 1))


def test_the_bandwidth_of_b200_is_that_of_its_bus() -> None:
    """7,680 bits at 3,996 MHz, twice a cycle, as the driver tells; its sheet rounds."""
    found = peaks_of("NVIDIA B200")
    assert found
    assert found.gb_per_s == pytest.approx(7680 / 8 * 3.996 * 2, rel=0.005)


def test_what_was_not_compared_with_another_source_says_so() -> None:
    unverified = [peaks for peaks in known_peaks() if not peaks.confirmed]
    assert 0 < len(unverified) < len(known_peaks())
    for peaks in known_peaks():
        named = peaks.confirmed.split(":")[0].replace(";", ",").split(", ")
        assert set(named) <= {*peaks.tflops, "GB/s", "TFLOP/s", ""}
