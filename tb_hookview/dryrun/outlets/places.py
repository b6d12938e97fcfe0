"""Places of the program, each once, over the measured steps."""

from __future__ import annotations

from typing import NamedTuple

from tb_hookview.schema.host import DryRunReport, DrySync


class Place(NamedTuple):
    """Syncs of one place and cause."""

    sync: DrySync
    """One of them."""
    total: int
    """Syncs in all measured steps."""


def places(report: DryRunReport) -> list[Place]:
    """Return the places of the measured steps, most frequent first."""
    counts: dict[tuple[object, ...], list[DrySync]] = {}
    for sync in report.syncs:
        if sync.step in report.measured:
            counts.setdefault(_key(sync), []).append(sync)
    found = [Place(group[0], sum(sync.count for sync in group)) for group in counts.values()]
    return sorted(found, key=lambda place: (not place.sync.certain, -place.total))


def _key(sync: DrySync) -> tuple[object, ...]:
    return (
        *(sync.file, sync.line, sync.column, sync.operator, sync.within, sync.phase, sync.module),
        *(sync.node, sync.forward_line, sync.reason, sync.certain, sync.allowed),
    )


def to_fail(report: DryRunReport) -> list[Place]:
    """Return the places that limits count: certain, and not allowed."""
    return [each for each in places(report) if each.sync.certain and each.sync.allowed is None]


def per_step(count: int, report: DryRunReport) -> str:
    """Return a number of syncs per measured step."""
    return f"{round(count / len(report.measured), 2):g}"


def where(sync: DrySync) -> str:
    """Return module, phase and node in words."""
    parts = [sync.phase]
    if sync.module is not None:
        parts.append(f"module {sync.module or '(root)'} ({sync.module_class})")
    if sync.node is not None:
        parts.append(sync.node)
    return ", ".join(parts)


def sentence(sync: DrySync) -> str:
    """Return what happens at a place."""
    forward = ""
    if sync.forward_line is not None:
        forward = f", in the backward of {sync.forward_line}: {sync.forward_code}"
    return f"{sync.reason} ({sync.within or sync.operator}){forward}"


def headline(report: DryRunReport) -> str:
    """Return the result in one sentence."""
    chosen = to_fail(report)
    steps = f"{report.steps} steps" if report.steps != 1 else "1 step"
    sites = f"{len(chosen)} place{'s' * (len(chosen) != 1)}"
    first = " (the first step is not counted)" if report.steps > 1 else ""
    if not report.steps:
        steps, first = "no step of an optimizer", " (everything is counted as one step)"
    count = _times(per_step(report.sync_count, report))
    waits = f"would wait {count} per step, at {sites}" if chosen else "would not wait for it"
    return f"{steps}; with a GPU the host {waits}{first}"


def _times(count: str) -> str:
    return "once" if count == "1" else f"{count} times"
