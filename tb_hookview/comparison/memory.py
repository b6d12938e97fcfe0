"""Changes of peak memory between two reports."""

from __future__ import annotations

from collections import defaultdict

from tb_hookview.comparison.sides import pair, status_of
from tb_hookview.schema import MemoryChange, MemoryPeak, ReportData


def memory_changes(base: ReportData, other: ReportData) -> list[MemoryChange]:
    """Match devices by name; the largest change comes first."""
    left, right = _peaks(base), _peaks(other)
    changes = [_change(device, left, right) for device in dict.fromkeys([*left, *right])]
    return sorted(changes, key=lambda row: -abs(row.allocated_bytes.change or 0.0))


def _peaks(report: ReportData) -> dict[str, list[MemoryPeak]]:
    """Peaks of the compared steps by device; of the whole trace where it shows no steps."""
    steps = {step.id for step in report.steps}
    rows = [row for row in report.memory_peaks if row.step_id in steps] or report.memory_peaks
    found: defaultdict[str, list[MemoryPeak]] = defaultdict(list)
    for row in rows:
        found[row.device].append(row)
    return dict(found)


def _change(
    device: str, left: dict[str, list[MemoryPeak]], right: dict[str, list[MemoryPeak]]
) -> MemoryChange:
    sides = before, after = left.get(device), right.get(device)
    allocated, reserved = (pair(*map(of, sides)) for of in (_allocated, _reserved))
    return MemoryChange(
        id=device,
        status=status_of(before, after, moved=False, pairs=(allocated, reserved)),
        allocated_bytes=allocated,
        reserved_bytes=reserved,
    )


def _allocated(rows: list[MemoryPeak] | None) -> float | None:
    return float(max(row.allocated_bytes for row in rows)) if rows else None


def _reserved(rows: list[MemoryPeak] | None) -> float | None:
    known = [row.reserved_bytes for row in rows or [] if row.reserved_bytes is not None]
    return float(max(known)) if known else None
