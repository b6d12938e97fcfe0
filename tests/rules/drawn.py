"""Findings of timelines drawn as text (tests/grid.py), with names that most of them need."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import grid

from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.schema import Finding, ReportData

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


def report(
    folder: Path, picture: str, names: Mapping[str, str] | None = None, **root: Any
) -> ReportData:
    """The report of a picture."""
    drawn = grid.events(picture, {**NAMES, **(names or {})})
    return build_report(load(grid.write(folder / "trace.json", drawn, **root))).data


def findings(
    folder: Path, picture: str, names: Mapping[str, str] | None = None, **root: Any
) -> dict[str, list[Finding]]:
    """Findings of a picture by rule."""
    found: dict[str, list[Finding]] = {}
    for finding in report(folder, picture, names, **root).findings:
        found.setdefault(finding.rule, []).append(finding)
    return found


def causes(folder: Path, picture: str, names: Mapping[str, str] | None = None) -> list[str]:
    """Cause of each sync of a picture, by start."""
    return [sync.cause for sync in report(folder, picture, names).syncs]
