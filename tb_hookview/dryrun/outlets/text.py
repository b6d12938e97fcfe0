"""A dry run as text for a terminal."""

from __future__ import annotations

from tb_hookview.dryrun.outlets.places import headline, per_step, places, sentence, where
from tb_hookview.schema.host import DryRunReport


def text(report: DryRunReport) -> str:
    """Return the places with their causes and fixes, then what is not known."""
    lines = [headline(report)]
    fixes: dict[str, str] = {}
    for place in places(report):
        sync = place.sync
        fixes.setdefault(sync.cause, sync.fix)
        doubt = "" if sync.certain else "  (uncertain: the driver decides)"
        lines += [
            "",
            f"{per_step(place.total, report):>5} per step  {sync.line or 'unknown line'}{doubt}",
            f"                {sync.code}",
            f"                {sentence(sync)}",
            f"                {where(sync)}; {sync.cause}",
        ]
        if sync.allowed is not None:
            lines.append(f"                allowed: {sync.allowed}")
    for cause, fix in fixes.items():
        lines += ["", f"{cause}: {fix}"]
    lines += ["", *(f"note: {note}" for note in report.notes)]
    lines += [f"not known: {each}" for each in report.unknown]
    lines += [f"allowed, but not found any more: {each}" for each in report.unused_allowances]
    return "\n".join(lines)
