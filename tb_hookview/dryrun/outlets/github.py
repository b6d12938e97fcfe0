"""A dry run as annotations that GitHub Actions puts on lines of a review."""

from __future__ import annotations

from tb_hookview.dryrun.outlets.places import Place, headline, per_step, places, sentence
from tb_hookview.schema.host import DryRunReport

MOST = 50
"""Annotations; GitHub shows ten of each kind for a step of a job, and this many for a job."""


def github(report: DryRunReport) -> str:
    """Return one workflow command for each place."""
    found = places(report)
    lines = [_command(place, report) for place in found[:MOST]]
    lines.append(f"::notice title=hookview dry-run::{_data(headline(report))}")
    if len(found) > MOST:
        lines.append(f"::notice::{len(found) - MOST} more places are not annotated")
    lines += [f"::notice::Not known: {_data(each)}" for each in report.unknown]
    for text in report.unused_allowances:
        lines.append(f"::error::Allowed, but not found any more: {_data(text)}")
    return "\n".join(lines)


def _command(place: Place, report: DryRunReport) -> str:
    sync = place.sync
    level = "warning" if sync.certain and sync.allowed is None else "notice"
    file, _, line = (sync.line or "").rpartition(":")
    facts = {"file": file, "line": line, "endLine": str(sync.last_line or ""), "title": sync.title}
    given = ",".join(f"{name}={_property(value)}" for name, value in facts.items() if value)
    message = f"{per_step(place.total, report)} per step: {sentence(sync)}. {sync.fix}"
    return f"::{level} {given}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
