"""Many operators in a row, each with its call and its kernel: more than is good to draw."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import grid
from rules.diagnosed import Diagnosed, diagnosed

A100 = [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}]
H200 = [{"id": 0, "name": "NVIDIA H200"}]
V100 = [{"id": 0, "name": "Tesla V100-SXM2-16GB"}]
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >"


def row(
    kind: str, name: str, start: float, length: float, thread: str = "main", **args: int
) -> dict[str, Any]:
    """One host row; times in microseconds."""
    place = {"pid": 77, "tid": thread, "ts": start, "dur": length}
    return {"ph": "X", "cat": kind, "name": name, **place, "args": args}


def operators(
    calls: Iterable[tuple[str, str]],
    *,
    start: float = 1000,
    period: float = 20,
    kernel: float = 4,
    delay: float = 8,
    thread: str = "main",
    device: int = 0,
    stream: int = 7,
) -> list[dict[str, Any]]:
    """Rows of operators one after the other, each of which launches a kernel.

    Args:
        calls: names of operator and kernel; those of a kernel "" launch none, those that begin
            with "Memcpy" a copy.
        start, period: when the first begins, and how long each takes.
        kernel, delay: how long a kernel runs, and how long after its operator began it starts.
        thread, device, stream: where all this is.
    """
    rows: list[dict[str, Any]] = []
    for i, (operator, name) in enumerate(calls):
        begin, number = start + i * period, int(start) * 100 + i
        rows.append(row("cpu_op", operator, begin, period - 1, thread))
        if name:
            copies = name.startswith("Memcpy")
            call = "cudaMemcpyAsync" if copies else "cudaLaunchKernel"
            rows.append(row("cuda_runtime", call, begin + 1, 3, thread, correlation=number))
            args = {"correlation": number, "device": device, "stream": stream}
            rows.append(
                {
                    "ph": "X",
                    "cat": "gpu_memcpy" if copies else "kernel",
                    "name": name,
                    "pid": device,
                    "tid": stream,
                    "ts": begin + delay,
                    "dur": kernel,
                    "args": args,
                }
            )
    return rows


def findings(folder: Path, *rows: Iterable[dict[str, Any]], **root: Any) -> Diagnosed:
    """Findings of some rows by rule."""
    path = grid.write(folder / "trace.json", [each for some in rows for each in some], **root)
    return diagnosed(path)
