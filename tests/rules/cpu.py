"""Findings of trainings on a CPU, as rows: what is timed there is too long for a picture."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import grid
from rules.diagnosed import Diagnosed, diagnosed
from rules.eager import row

from tb_hookview import markers
from tb_hookview.analysis.host.rows import EVALUATE

ON_HOST = {"version": 1, "device": {"parameters": ["cpu"]}, "modules": []}


def step(length: float, number: int = 1, start: float = 1000) -> dict[str, Any]:
    return row("user_annotation", f"ProfilerStep#{number}", start, length)


def call(path: str, start: float, length: float, cls: str = "Block") -> dict[str, Any]:
    return row("cpu_op", markers.encode("forward", path, cls), start, length)


def operator(name: str, start: float, length: float, **args: int) -> dict[str, Any]:
    return row("cpu_op", name, start, length, **args)


def node(name: str, start: float, length: float, seq: int) -> list[dict[str, Any]]:
    numbers: dict[str, Any] = {"Sequence number": seq, "Fwd thread id": 1}
    return [
        row("cpu_op", EVALUATE + name, start, length, **numbers),
        row("cpu_op", name, start, length - 1, **numbers),
    ]


def repeated(name: str, count: int, start: float, period: float) -> list[dict[str, Any]]:
    """Operators of one name that take all but a microsecond of their turns."""
    return [operator(name, start + i * period, period - 1) for i in range(count)]


def findings(folder: Path, rows: Iterable[dict[str, Any]], **manifest: Any) -> Diagnosed:
    """Findings by rule, of a trace whose manifest has the parameters on the CPU."""
    root = {markers.MANIFEST_KEY: {**ON_HOST, **manifest}}
    return diagnosed(grid.write(folder / "trace.json", list(rows), **root))
