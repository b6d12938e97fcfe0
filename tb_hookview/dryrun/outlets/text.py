"""A dry run as text, Markdown, and annotations of GitHub."""

from __future__ import annotations

from collections.abc import Iterable
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


def text(report: DryRunReport) -> str:
    """Return the places with their causes and fixes, then what is not known."""
    lines = [headline(report)]
    found = places(report)
    for place in found:
        sync = place.sync
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
    for cause, fix in _fixes(found):
        lines += ["", f"{cause}: {fix}"]
    lines += ["", *(f"note: {note}" for note in report.notes)]
    lines += [f"not known: {each}" for each in report.unknown]
    lines += [f"allowed, but not found any more: {each}" for each in report.unused_allowances]
    return "\n".join(lines)


def markdown(report: DryRunReport) -> str:
    """Return a table of places, the fixes, and what is not known."""
    lines = ["### Syncs without a GPU (hookview dry-run)", "", f"{headline(report)}.", ""]
    found = places(report)
    if found:
        lines += ["| per step | line | statement | why | where | cause |"]
        lines += ["| ---: | --- | --- | --- | --- | --- |"]
    for place in found:
        sync = place.sync
        why = sentence(sync) + ("" if sync.certain else "; uncertain: the driver decides")
        if sync.allowed is not None:
            why += f"; allowed: {sync.allowed}"
        cells = [_cell(sync.line or "unknown"), _code(sync.code), _cell(why), _cell(where(sync))]
        lines.append(
            f"| {per_step(place.total, report)} | {' | '.join(cells)} | {_code(sync.cause)} |"
        )
    lines += ["", *(f"- {_code(cause)}: {fix}" for cause, fix in _fixes(found)), ""]
    lines += [f"- {_cell(note)}" for note in report.notes]
    lines += [f"- Not known: {each}" for each in report.unknown]
    lines += [f"- Allowed, but not found any more: {_code(t)}" for t in report.unused_allowances]
    return "\n".join(lines)


def _fixes(found: list[Place]) -> Iterable[tuple[str, str]]:
    """Cause and fix of the places, each pair once."""
    return dict.fromkeys((place.sync.cause, place.sync.fix) for place in found)


def _cell(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")
    return " ".join(escaped.split())


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    plain = " ".join(text.split()).replace("|", "\\|")
    return f"{fence} {plain} {fence}" if len(fence) > 1 else f"`{plain}`" if plain else ""


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
