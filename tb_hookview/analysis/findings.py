"""What costs time and could be changed: waits that left the device idle, by cause and place."""

from __future__ import annotations

from collections import defaultdict

from tb_hookview.analysis import schema
from tb_hookview.analysis.causes import CAUSES, PROFILER

_SHARE_HIGH, _SHARE_MEDIUM = 0.05, 0.01
"""Share of the step from which a finding is of high or medium severity."""


def find(syncs: list[schema.Sync], steps: list[schema.Step]) -> list[schema.Finding]:
    """One finding per cause and module whose waits left the device idle, dearest first."""
    groups: defaultdict[tuple[str, str | None], list[schema.Sync]] = defaultdict(list)
    for sync in syncs:
        if sync.cause != PROFILER and sync.step is not None and sync.device_idle_us:
            groups[sync.cause, sync.module].append(sync)
    findings = [_finding(cause, module, group, steps) for (cause, module), group in groups.items()]
    return sorted(findings, key=lambda finding: finding.cost_us_per_step or 0.0, reverse=True)


def _finding(
    cause: str, module: str | None, group: list[schema.Sync], steps: list[schema.Step]
) -> schema.Finding:
    idle = sum(sync.device_idle_us or 0.0 for sync in group) / len(steps)
    blocked = sum(sync.duration_us for sync in group) / len(steps)
    device_idle = sum(step.device_idle_us or 0.0 for step in steps) / len(steps)
    duration = sum(step.duration_us for step in steps) / len(steps)
    known = next((entry for entry in CAUSES if entry.id == cause), None)
    place = "outside every module" if module is None else module or "(root)"
    return schema.Finding(
        rule=cause,
        severity=_severity(idle / duration if duration else 0.0),
        title=f"The host waits: {known.title}" if known else "The host waits for the device",
        module=module,
        where=f"{place}, {group[0].node or group[0].operator or group[0].api}",
        cost_us_per_step=idle,
        gain_us_per_step=min(idle, device_idle),
        evidence=f"{len(group)} waits of {blocked:.1f} us a step left the device idle "
        f"for {idle:.1f} us a step",
        fix=known.fix if known else "Find who asks for the wait and move it out of the loop.",
        confidence="high" if known else "medium",
    )


def _severity(share: float) -> str:
    if share >= _SHARE_HIGH:
        return "high"
    return "medium" if share >= _SHARE_MEDIUM else "low"
