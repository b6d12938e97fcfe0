"""A dry run as Markdown, for the summary of a job or a comment."""

from __future__ import annotations

from tb_hookview.dryrun.outlets.places import headline, per_step, places, sentence, where
from tb_hookview.schema.host import DryRunReport


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
    fixes = {place.sync.cause: place.sync.fix for place in found}
    lines += ["", *(f"- {_code(cause)}: {fix}" for cause, fix in fixes.items()), ""]
    lines += [f"- {_cell(note)}" for note in report.notes]
    lines += [f"- Not known: {each}" for each in report.unknown]
    lines += [f"- Allowed, but not found any more: {_code(t)}" for t in report.unused_allowances]
    return "\n".join(lines)


def _cell(text: str) -> str:
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")
    return " ".join(escaped.split())


def _code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    plain = " ".join(text.split()).replace("|", "\\|")
    return f"{fence} {plain} {fence}" if len(fence) > 1 else f"`{plain}`" if plain else ""
