"""Findings of timelines drawn as text (tests/grid.py), with names that most of them need."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import grid
from rules.diagnosed import Diagnosed, diagnosed

from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.schema import ReportData

NAMES = {
    "wait": "cudaStreamSynchronize",
    "waitall": "cudaDeviceSynchronize",
    "copy": "cudaMemcpyAsync",
    "launch": "cudaLaunchKernel",
    "D2P": "Memcpy DtoH (Device -> Pageable)",
    "P2D": "Memcpy HtoD (Pageable -> Device)",
    "pin2D": "Memcpy HtoD (Pinned -> Device)",
    "D2pin": "Memcpy DtoH (Device -> Pinned)",
    "D2D": "Memcpy DtoD (Device -> Device)",
}
"""Labels that stand for names too long, or with spaces, for a bar."""


def findings(
    folder: Path, picture: str, names: Mapping[str, str] | None = None, **root: Any
) -> Diagnosed:
    """Findings of a picture by rule."""
    return diagnosed(_written(folder, picture, names, **root))


def findings_with_types(folder: Path, picture: str, types: Mapping[str, str]) -> Diagnosed:
    """Findings of a picture by rule, where operators of some names have an input of a type."""
    drawn = grid.events(picture, NAMES)
    for row in drawn:
        if row["name"] in types:
            row["args"] |= {"Input Dims": [[4]], "Input type": [types[row["name"]]]}
    return diagnosed(grid.write(folder / "trace.json", drawn))


def causes(folder: Path, picture: str, names: Mapping[str, str] | None = None) -> list[str]:
    """Cause of each sync of a picture, by start."""
    return diagnosed(_written(folder, picture, names)).causes


def report(folder: Path, picture: str, names: Mapping[str, str] | None = None) -> ReportData:
    """The report of a picture."""
    return build_report(load(_written(folder, picture, names))).data


def _written(
    folder: Path, picture: str, names: Mapping[str, str] | None = None, **root: Any
) -> Path:
    drawn = grid.events(picture, {**NAMES, **(names or {})})
    return grid.write(folder / "trace.json", drawn, **root)
