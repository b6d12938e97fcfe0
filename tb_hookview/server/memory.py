"""The answer about memory: peaks, modules, and the curve of a window of time."""

from __future__ import annotations

from tb_hookview.report.memory import memory_answer
from tb_hookview.report.open_trace import OpenTrace
from tb_hookview.schema import MemoryAnswer
from tb_hookview.server.parameters import span

POINTS = 2000
"""Points of a curve, without `points`."""
MOST_POINTS = 5000


def memory(
    trace: OpenTrace,
    *,
    step: list[str],
    device: str | None,
    start: float | None,
    end: float | None,
    points: int,
) -> MemoryAnswer:
    """Memory of a device: peaks, modules at the peak, and the curve of a window."""
    window = span(start, end)
    return memory_answer(trace.steps(step), device, window, points)
