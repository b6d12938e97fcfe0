"""Rules on traces that others recorded: what holds of every finding, and which rules find what.

The tables of `docs/rules.md` are what is expected; a finding that they do not list is a false alarm
until somebody has checked it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import gallery
import pytest
import shared_traces

from tb_hookview.loading import analyze
from tb_hookview.rules.catalogue import RULES
from tb_hookview.rules.gains import weight
from tb_hookview.schema import PROFILER, ReportData

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "rules.md"
_ROW = re.compile(r"^\| (?!trace \||---)(.+?) \| (.+?) \|", re.M)


def documented() -> dict[str, set[str]]:
    """Rules that the tables of the document list for each trace, by the beginning of its name."""
    listed: dict[str, set[str]] = {}
    for traces, rules in _ROW.findall(DOCUMENT.read_text()):
        for trace in _spelled_out(traces.replace(" (both spans)", "")):
            listed.setdefault(trace, set()).update(rules.split(", "))
    return listed


def expected_on(name: str) -> set[str]:
    """Rules that the document lists for a trace; all others find nothing there."""
    listed = documented().items()
    return set().union(
        *(rules for trace, rules in listed if name.startswith((f"{trace}.", f"{trace}/")))
    )


@pytest.mark.parametrize("path", shared_traces.all_traces(), ids=lambda path: path.name)
def test_findings_are_those_of_the_document(path: Path) -> None:
    data = analyze(path).data
    check_findings(data)
    assert {finding.rule for finding in data.findings} == expected_on(name_of(path))


@pytest.mark.parametrize("path", gallery.recordings(), ids=gallery.label)
def test_findings_of_our_recordings_are_well_formed(path: Path) -> None:
    """Which ones they are, `sample_traces/test_gallery.py` expects."""
    check_findings(analyze(path).data)


@pytest.mark.skipif(
    not shared_traces.FOLDER.is_dir(), reason="no ../shared/traces next to the checkout"
)
def test_the_document_lists_traces_and_rules_that_exist() -> None:
    names = [name_of(path) for path in shared_traces.all_traces()]
    for trace, rules in documented().items():
        assert rules <= {rule.id for rule in RULES}
        assert any(name.startswith((f"{trace}.", f"{trace}/")) for name in names), trace


def name_of(path: Path) -> str:
    return path.relative_to(shared_traces.FOLDER).as_posix()


def _spelled_out(cell: str) -> Iterator[str]:
    """Traces of a cell; `hta_sampled_rank-0, -1` and `.._0 and _4` leave out what is the same."""
    last = ""
    for part in re.split(r", | and ", cell):
        last = re.sub(r"[-_]\d+$", "", last) + part if part.startswith(("-", "_")) else part
        yield last


def check_findings(data: ReportData) -> None:
    rules = {rule.id for rule in RULES if rule.visible}
    assert {sync.cause for sync in data.syncs} <= rules | {PROFILER}
    assert {finding.rule for finding in data.findings} <= rules
    weights = [weight(finding) for finding in data.findings]
    assert weights == sorted(weights, reverse=True)
    starts = {sync.start_us: sync for sync in data.syncs}
    for finding in data.findings:
        cost = finding.cost_us_per_step or 0.0
        assert cost >= 0
        assert (finding.gain_us_per_step is None) == (finding.gain_unknown is not None)
        assert (finding.gain_bound_us_per_step or 0.0) <= cost
        assert 0 < len(finding.examples) <= 20 or not finding.rule.startswith("sync-")
        if finding.rule.startswith("sync-") and finding.rule != "sync-batchnorm":
            assert all(starts[start].cause == finding.rule for start in finding.examples)
            assert all(starts[start].module == finding.module for start in finding.examples)
