"""torch_tb_profiler's figures of its own samples next to ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.traces import label

from comparison.asking import ask, same, shown, table
from tb_hookview.analysis.breakdown import CATEGORIES
from tb_hookview.loading import analyze
from tb_hookview.schema import ReportData

HEAD = ("sample", "figure", "torch_tb_profiler", "hookview", "difference")


def compare(python: Path, paths: list[Path]) -> str:
    """A table of all samples."""
    return table(HEAD, (row for path in paths for row in _rows(python, path)))


def _rows(python: Path, path: Path) -> Iterator[list[str]]:
    theirs, ours = ask(python, "tbp", path), analyze(path).data
    name = label(path)
    for figure, left, right in _figures(theirs, ours):
        yield [name, figure, shown(left), shown(right), _difference(left, right)]
    for figure, left, right in _tables(theirs, ours):
        equal = sum(same(value, right.get(key), 1e-6) for key, value in left.items())
        yield [name, figure, f"{len(left)} rows", f"{len(right)} rows", f"{equal} of theirs equal"]


def _difference(left: Any, right: Any) -> str:
    return "none" if left == right else "below 1e-9" if same(left, right, 1e-9) else "differs"


def _figures(theirs: dict[str, Any], ours: ReportData) -> Iterator[tuple[str, Any, Any]]:
    rows = [
        [*(getattr(row, f"{name}_us") for name in CATEGORIES), row.duration_us]
        for row in ours.breakdown
    ]
    yield "mean step: categories and whole, us", _mean(theirs["breakdown"]), _mean(rows)
    unequal = sum(a != b for a, b in zip(theirs["breakdown"], rows, strict=True))
    yield (
        "steps; of these, unequal in any category",
        [len(theirs["breakdown"]), 0],
        [len(rows), unequal],
    )
    (device,) = ours.devices
    metrics = [device.utilization, device.sm_efficiency, device.occupancy_pct]
    yield "utilization, SM efficiency, occupancy %", theirs["gpu"][device.device], metrics
    yield "time on tensor cores", theirs["tensor_core"], device.tensor_core_us / device.kernel_us
    eligible = (device.tensor_core_eligible_us or 0.0) / device.kernel_us
    yield "time eligible for tensor cores", theirs["eligible"], eligible


def _mean(rows: list[list[float]]) -> list[float]:
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def _tables(
    theirs: dict[str, Any], ours: ReportData
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    operators = {
        row.name: [
            row.calls,
            row.host_us,
            row.self_host_us,
            row.device_us,
            row.self_device_us,
        ]
        for row in ours.operators
    }
    yield (
        "operators: calls, host total and self, device total and self",
        theirs["operators"],
        operators,
    )
    kernels: dict[str, list[float]] = {}
    for row in ours.kernels:
        if row.event == "kernel":
            known = [row.blocks_per_sm or 0.0, row.occupancy_pct or 0.0]
            kernels[row.name] = [row.count, row.total_us, row.mean_us, row.max_us, *known]
    without_min = {name: [*row[:4], *row[5:]] for name, row in theirs["kernels"].items()}
    yield "kernels: calls, total, mean, max, blocks per SM, occupancy", without_min, kernels
