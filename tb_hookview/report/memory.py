"""Memory of one device in a window of time, for the page."""

from __future__ import annotations

import numpy as np

from tb_hookview import schema
from tb_hookview.analysis.memory.live import curve
from tb_hookview.analysis.memory_use import MemoryUse, parameter_bytes
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.types import microseconds, to_us
from tb_hookview.errors import NotFoundError
from tb_hookview.report.tables.memory import modules_at, peaks_of
from tb_hookview.schema import Phase

MODULES = 500
BANDS = 500
"""Most rows of an answer's modules, and of its phases: it stays below a megabyte."""


def memory_answer(
    selection: Selection, device: str | None, span: tuple[int, int] | None, points: int
) -> schema.MemoryAnswer:
    """Memory of a trace.

    Args:
        selection: the steps whose peak is looked at.
        device: the device; None for the one with the largest peak, an accelerator before the CPU.
        span: start and end of the curve, nanoseconds; None for all of the trace.
        points: most points of the curve.

    Raises:
        NotFoundError: the trace has no events of such a device.
    """
    memory = selection.analysis.memory
    listed = parameter_bytes(selection.analysis.trace.manifest)
    total = sum(listed.values()) or None
    if memory is None:
        return schema.MemoryAnswer(False, [], [], [], total, None)
    names = _ranked(memory)
    chosen = device if device is not None else names[0]
    if chosen not in names:
        known = ", ".join(names)
        raise NotFoundError(f"this trace has no memory of {chosen[:50]!r}; it has {known}")
    number = memory.events.devices.index(chosen)
    peaks = peaks_of(selection, memory)
    at = memory.peak(number, selection.chosen)
    return schema.MemoryAnswer(
        recorded=True,
        devices=names,
        peaks=[peak for peak in peaks if peak.device == chosen or peak.step is None],
        modules=modules_at(selection, number, at)[:MODULES] if memory.addresses_known else [],
        parameter_bytes=total,
        curve=_curve(selection, memory, number, span or selection.analysis.bounds, points),
    )


def _ranked(memory: MemoryUse) -> list[str]:
    """Devices: accelerators first, then by the largest total."""
    events = memory.events
    largest = [int(events.allocated[events.of(d)].max()) for d in range(len(events.devices))]
    order = sorted(
        range(len(largest)), key=lambda d: (events.devices[d] == "cpu", -largest[d])
    )  # fmt: skip
    return [events.devices[d] for d in order]


def _curve(
    selection: Selection, memory: MemoryUse, device: int, span: tuple[int, int], points: int
) -> schema.MemoryCurve | None:
    if not memory.events.totals_known(device):
        return None
    found = curve(memory.live, device, *span, points)
    holds = bool((found.reserved > 0).any())
    return schema.MemoryCurve(
        device=memory.events.devices[device],
        start_us=to_us(span[0]),
        end_us=to_us(span[1]),
        time_us=microseconds(found.time),
        allocated_bytes=found.allocated.tolist(),
        reserved_bytes=found.reserved.tolist() if holds else None,
        classes={
            kind.name.lower(): levels.tolist()
            for kind, levels in found.by_class.items()
            if levels.any()
        },
        exact=found.exact,
        steps=_steps(selection, span),
        phases=_phases(selection, span),
    )


def _steps(selection: Selection, span: tuple[int, int]) -> list[schema.MemoryBand]:
    steps = selection.analysis.steps
    return [
        schema.MemoryBand(name, to_us(begin), to_us(end))
        for name, (begin, end) in zip(steps.name, steps.window.tolist(), strict=True)
        if begin < span[1] and end > span[0]
    ][:BANDS]


def _phases(selection: Selection, span: tuple[int, int]) -> list[schema.MemoryBand]:
    """Spans of the phases in a window, the longest ones."""
    found = []
    for phase in Phase:
        if phase < len(selection.analysis.phases.time):
            times = np.clip(selection.analysis.phases.time[phase], *span)
            some = times[times[:, 1] > times[:, 0]]
            found += [(end - begin, begin, end, phase) for begin, end in some.tolist()]
    longest = sorted(sorted(found, reverse=True)[:BANDS], key=lambda band: band[1])
    return [
        schema.MemoryBand(phase.name.lower(), to_us(begin), to_us(end))
        for _, begin, end, phase in longest
    ]
