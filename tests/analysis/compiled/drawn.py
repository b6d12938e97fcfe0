"""Drawn timelines with a map of compiled graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
from analysis.owners import NAMES as OWNERS
from analysis.owners import assert_sums

from tb_hookview import markers
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.schema import ReportData

EXACT, NEAR = 0, 1
NAMES = {
    **OWNERS,
    "region": "Torch-Compiled Region: 0/0",
    "fw": "## Call CompiledFxGraph ffw ##",
    "bw": "## Call CompiledFxGraph fbw ##",
    "addmm": "aten::addmm",
    "mm": "aten::mm",
    "copy": "aten::copy_",
    "add0": "triton_poi_fused_add_relu_0",
    "sum1": "triton_red_fused_sum_1",
    "replay": "cudaGraphLaunch",
    "call'": "autograd::engine::evaluate_function: CompiledFunctionBackward",
    "a": markers.encode("forward", "a", "Block"),
    "b": markers.encode("forward", "b", "Block"),
}
MODULES = [["", "Net"], ["fc", "Linear"], ["relu", "ReLU"], ["norm", "LayerNorm"]]
FC, RELU, NORM, REGION = 1, 2, 3, -1


def call(name: str, *serves: tuple[int, int] | tuple[int, int, int]) -> list[Any]:
    """One call; each module with its bytes, and how it is known."""
    parts = [[path, how[0] if how else EXACT, 1, amount] for path, amount, *how in serves]
    return [name, int("." in name), parts]


def graph(*calls: list[Any], **changed: Any) -> dict[str, Any]:
    """The forward graph of the root, of these calls."""
    plain = {"key": "ffw", "compile_id": "0/0", "backward": False, "root": None}
    return {**plain, "paths": MODULES, "calls": list(calls), **changed}


def analyzed(
    folder: Path,
    picture: str,
    *graphs: dict[str, Any],
    names: dict[str, str] | None = None,
    **more: Any,
) -> Analysis:
    modules = more.pop("modules", MODULES)
    listed = [{"path": path, "class": name} for path, name in modules]
    manifest = {"version": 1, "roots": [""], "modules": listed}
    compiled = {"version": 1, "graphs": list(graphs), "missing": []}
    traced = grid.events(picture, {**NAMES, **(names or {})})
    for event in traced:
        if event["name"] == "side":
            event["tid"] = 8
    path = grid.write(
        folder / "t.json",
        traced,
        **{markers.MANIFEST_KEY: manifest, markers.COMPILED_KEY: compiled},
    )
    return load(path)


def reported(analysis: Analysis) -> ReportData:
    data = build_report(analysis).data
    assert_sums(data)
    return data


def host(data: ReportData, direction: str = "forward") -> dict[str, float | None]:
    """Self host time of modules in one direction, without zeros."""
    times = {row.path: getattr(row, direction).self_host_us for row in data.modules}
    return {path: time for path, time in times.items() if time}


def device(data: ReportData, direction: str = "forward") -> dict[str, float | None]:
    """Self device time of modules in one direction, without zeros."""
    times = {row.path: getattr(row, direction).self_device_us for row in data.modules}
    return {path: time for path, time in times.items() if time}
