"""Training traces of any length: one step after the other, alike but for times and identities."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STEP_US = 100_000
OPERATOR_US = 100
LAYERS = 50
_EVENTS_OF_A_LAYER = 10
EVENTS_OF_A_STEP = 1 + LAYERS * _EVENTS_OF_A_LAYER
"""Events that a step adds to a file, of every phase."""


def write_training_trace(path: Path, steps: int) -> int:
    """Write a trace of as many steps, gzipped where the name says so.

    Each step holds, layer by layer, a Python frame, an operator with its child, launch and kernel,
    then the layer's autograd node with operator, launch and kernel, and the arrow between both.

    Returns:
        Events in the file, of every phase.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8") as file:
        file.write('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Some GPU"}],\n')
        file.write('"cuda_runtime_version": 12040, "traceEvents": [\n')
        between = ""
        for step in range(steps):
            for event in _step(step):
                file.write(between + json.dumps(event))
                between = ",\n"
        file.write('\n], "traceName": "trace.json"}\n')
    return steps * EVENTS_OF_A_STEP


def _step(step: int) -> Iterator[dict[str, Any]]:
    begin = 1_000_000 + step * STEP_US
    yield _complete("user_annotation", f"ProfilerStep#{step}", begin, STEP_US - 1000, 1)
    for layer in range(LAYERS):
        number = step * LAYERS + layer
        yield from _forward(number, layer, begin + 100 + layer * OPERATOR_US)
        yield from _backward(number, begin + STEP_US // 2 + layer * OPERATOR_US)


def _forward(number: int, layer: int, start: int) -> Iterator[dict[str, Any]]:
    sequence = {"External id": 2 * number + 1, "Sequence number": number, "Fwd thread id": 0}
    yield _complete("python_function", f"nn.Module: Layer_{layer}", start, 90, 1)
    yield _complete("cpu_op", "aten::linear", start + 5, 80, 1, **sequence)
    yield _complete("cpu_op", "aten::addmm", start + 10, 60, 1, **sequence)
    yield {**_place("fwdbwd", "fwdbwd", start + 5, 1), "ph": "s", "id": number}
    yield from _launched(2 * number + 1, start + 20)


def _backward(number: int, start: int) -> Iterator[dict[str, Any]]:
    name = "autograd::engine::evaluate_function: AddmmBackward0"
    sequence = {"External id": 2 * number + 2, "Sequence number": number, "Fwd thread id": 1}
    yield _complete("cpu_op", name, start, 80, 2, **sequence)
    yield {**_place("fwdbwd", "fwdbwd", start, 2), "ph": "f", "bp": "e", "id": number}
    yield from _launched(2 * number + 2, start + 20)


def _launched(correlation: int, start: int) -> Iterator[dict[str, Any]]:
    same = {"correlation": correlation, "External id": correlation}
    yield _complete("cuda_runtime", "cudaLaunchKernel", start, 10, 2 - correlation % 2, **same)
    kernel = _complete("kernel", "gemm_kernel", start + 20, 40, 7, device=0, stream=7, **same)
    yield {**kernel, "pid": 0}


def _complete(
    category: str, name: str, start: int, duration: int, thread: int, **arguments: Any
) -> dict[str, Any]:
    place = _place(category, name, start, thread)
    return {"ph": "X", **place, "dur": duration + 0.5, "args": arguments}


def _place(category: str, name: str, start: int, thread: int) -> dict[str, Any]:
    return {"cat": category, "name": name, "pid": 100, "tid": thread, "ts": start + 0.25}
