"""Findings in the summary: the dearest with their remedy, the others counted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import tb_hookview

if TYPE_CHECKING:
    from conftest import Hookview


def test_a_finding_says_where_what_it_costs_and_what_to_do(
    hookview: Hookview, training: Path
) -> None:
    findings = tb_hookview.analyze(training).data.findings
    dearest = findings[0]
    assert dearest.cost_us_per_step
    told = hookview("analyze", training).stdout.partition("Findings (per step)")[2]
    words = " ".join(told.split())
    for text in (dearest.title, dearest.where, dearest.severity, f"({dearest.rule})"):
        assert text in words
    assert all(word in words for word in dearest.fix.split())
    assert f"{dearest.cost_us_per_step:.1f} us" in words


def test_what_costs_nothing_is_counted(hookview: Hookview, annotated: Path) -> None:
    findings = tb_hookview.analyze(annotated).data.findings
    latent = [finding for finding in findings if finding.severity == "info"]
    assert latent
    done = hookview("analyze", annotated)
    assert f"{len(latent)} without a cost in this trace" in done.stdout
