"""Findings in the summary: the most expensive with their fix, the others counted."""

from __future__ import annotations

from pathlib import Path

from support.command import call

import tb_hookview
from tb_hookview.formats import format_us


def test_a_finding_says_where_what_it_costs_and_what_to_do(training: Path) -> None:
    findings = tb_hookview.analyze(training).data.findings
    first = findings[0]
    assert first.cost_us_per_step
    shown = call("analyze", "--verbose", training).stdout.partition("Findings (per step")[2]
    words = " ".join(shown.split())
    for text in (first.title, first.where, first.severity, f"({first.rule})"):
        assert text in words
    assert all(word in words for word in first.fix.split())
    assert f"idled {format_us(first.cost_us_per_step)} per step" in words


def test_what_costs_nothing_is_counted(annotated: Path) -> None:
    findings = tb_hookview.analyze(annotated).data.findings
    latent = [finding for finding in findings if finding.severity == "info"]
    assert latent
    done = call("analyze", "--verbose", annotated)
    assert f"{len(latent)} without a cost in this trace" in done.stdout
