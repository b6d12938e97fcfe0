"""Reports on small traces that are drawn, with names for what stands in the pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import grid
import pytest

from tb_hookview import markers
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.schema import Module, ReportData

EVALUATE = "autograd::engine::evaluate_function: "
NAMES = {
    "root": markers.encode("forward", "", "Net"),
    "fc": markers.encode("forward", "fc", "Linear"),
    "relu": markers.encode("forward", "relu", "ReLU"),
    "owns_fc": markers.encode("gradient", "fc", "Linear", "weight"),
    "mm'": EVALUATE + "MmBackward0",
    "relu'": EVALUATE + "ReluBackward0",
    "ckpt'": EVALUATE + "CheckpointFunctionBackward",
    "acc'": EVALUATE + "torch::autograd::AccumulateGrad",
    "launch": "cudaLaunchKernel",
    "step": "ProfilerStep#3",
    "fwd": "## forward ##",
    "bwd": "## backward ##",
    "Net": "nn.Module: Net_0",
    "Linear": "nn.Module: Linear_0",
}


def report_of(
    folder: Path, picture: str, names: Mapping[str, str] | None = None, **root: Any
) -> ReportData:
    traced = grid.events(picture, {**NAMES, **(names or {})})
    path = grid.write(folder / "t.json", traced, **root)
    data = build_report(load(path)).data
    assert_sums(data)
    return data


def assert_sums(data: ReportData) -> None:
    """The invariants of the report, exact to rounding of the microseconds."""
    modules, coverage = data.modules, data.coverage
    host = sum(m.backward.self_host_us or 0 for m in modules) + (coverage.unattributed_host_us or 0)
    assert host == pytest.approx(coverage.backward_host_us or 0, abs=1e-6)
    if coverage.backward_device_us is not None:
        device = sum(m.backward.self_device_us or 0 for m in modules)
        total = device + (coverage.unattributed_us or 0)
        assert total == pytest.approx(coverage.backward_device_us, abs=1e-6)
        assert coverage.backward_device_us == data.totals.backward_device_us


def module(data: ReportData, path: str) -> Module:
    (found,) = [m for m in data.modules if m.path == path]
    return found
