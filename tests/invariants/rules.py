"""Findings, and the causes of syncs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import shared_traces
from invariants.case import Case
from invariants.registry import Of, invariant

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import union
from tb_hookview.rules.catalogue import RULES
from tb_hookview.rules.compile.recompilation import RECOMPILATION
from tb_hookview.rules.data.loading import LOADER_WAIT
from tb_hookview.rules.engine import cost_accounting
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.gains import weight
from tb_hookview.schema import PROFILER, SMALL, Finding

DOCUMENT = Path(__file__).resolve().parents[2] / "benchmarks" / "results" / "rules.md"
"""Its tables are what is expected; a finding that they do not list is a false alarm until somebody
has checked it."""
_ROW = re.compile(r"^\| (?!trace \||---)(.+?) \| (.+?) \|", re.M)
_SHARE = re.compile(r"(\d+)%")
VISIBLE = {rule.id for rule in RULES if rule.visible}


@invariant()
def every_cause_and_finding_is_of_a_rule(case: Case) -> None:
    assert {sync.cause for sync in case.data.syncs} <= VISIBLE | {PROFILER}
    assert {finding.rule for finding in case.data.findings} <= VISIBLE


def _ranked(case: Case) -> list[list[Finding]]:
    """Findings in their order: one list, or two where none saves 0.5% of a step, of those that
    cost as much and of the others. Those of unknown gain save their cost at most."""
    findings = list(case.data.findings)
    compiles = findings[:1] and findings[0].rule == RECOMPILATION.id and findings[0].once_us
    if compiles and compiles > case.data.per_step.duration_us / 2:
        findings = findings[1:]  # most of a trace
    if findings[:1] and findings[0].rule == LOADER_WAIT.id and _is_pace(case):
        findings = findings[1:]
    small = SMALL * Context(case.simulator.selection, RULES).steps.measured_us
    large = [finding for finding in findings if weight(finding) >= small]
    if any(finding.gain_us_per_step is not None for finding in large):
        return [findings]
    last = [
        finding
        for finding in findings
        if finding.severity == "info"
        or (finding.once_us or finding.cost_us_per_step or 0.0) < small
    ]
    first = findings[: len(findings) - len(last)]
    if first + last != findings:
        assert large
        return [findings]
    return [first, last]


def _is_pace(case: Case) -> bool:
    """Whether the host waits for a batch for over 5% of each of several steps."""
    steps = Context(case.simulator.selection, RULES).steps
    waits = [step.data_us or 0.0 for step in steps.report_rows]
    return len(waits) > 1 and min(waits) > 0.05 * steps.measured_us


@invariant()
def findings_come_by_weight(case: Case) -> None:
    """One of unknown gain has its cost at most: it may come later, and not earlier."""
    for findings in _ranked(case):
        left = 0.0
        for finding in reversed(findings):
            assert weight(finding) >= left
            if finding.gain_us_per_step is not None:
                left = weight(finding)


@invariant()
def what_saves_or_costs_next_to_nothing_is_negligible(case: Case) -> None:
    small = SMALL * Context(case.simulator.selection, RULES).steps.measured_us
    for finding in case.data.findings:
        gains = (finding.unrecorded_gain_us_per_step, finding.gain_us_per_step)
        known = [gain for gain in gains if gain is not None]
        little = known[0] < small if known else finding.severity == "info"
        kept = finding.saves_after or (not known and finding.cost_us_per_step is None)
        kept = kept or any("wait in its place here" in caveat for caveat in finding.caveats)
        assert finding.negligible == (little and not kept), finding.id


@invariant()
def a_finding_gains_no_more_than_it_costs_or_says_why_that_is_unknown(case: Case) -> None:
    for finding in case.data.findings:
        cost = finding.cost_us_per_step or 0.0
        assert cost >= 0, finding.id
        assert (finding.gain_us_per_step is None) == (finding.gain_unknown is not None), finding.id
        assert (finding.gain_bound_us_per_step or 0.0) <= cost, finding.id


def _selections(case: Case) -> list[Selection]:
    """Each step alone, and the measured ones."""
    steps = range(len(case.analysis.steps.name))
    return [Selection(case.analysis, chosen) for chosen in [None, *((step,) for step in steps)]]


@invariant()
def gaps_of_each_step_sum_to_its_idle_time_by_cause(case: Case) -> None:
    times, gaps = case.analysis.step_times, case.analysis.gaps
    if times.idle is None or times.device_idle is None:
        assert not len(gaps)
        return
    for selection in _selections(case):
        steps = list(selection.counted)
        found = Context(selection, RULES).gaps
        mine = union(found.of(*Cause), found.of_first_compilation())
        by_cause = np.zeros(len(Cause), np.int64)
        np.add.at(by_cause, gaps.cause[mine], gaps.duration[mine])
        assert by_cause.tolist() == [int(times.idle[cause][steps].sum()) for cause in Cause]
        assert by_cause.sum() == times.device_idle[steps].sum()


@invariant(slow=True)
def a_step_is_charged_for_its_own_idle_time_alone(case: Case) -> None:
    gaps, gap_step = case.analysis.gaps, case.analysis.gap_step
    for selection in _selections(case):
        context = Context(selection, RULES)
        charges = [found.charge for found in cost_accounting.findings(context)]
        charged = np.concatenate([np.zeros(0, np.int64), *(charge.gaps for charge in charges)])
        assert len(np.unique(charged)) == len(charged)
        assert set(gap_step[charged].tolist()) <= set(selection.counted)
        assert sum(charge.idle_us for charge in charges) == pytest.approx(
            context.steps.us_per_step(gaps.duration[charged].sum())
        )


@invariant()
def no_share_is_above_the_whole(case: Case) -> None:
    for finding in case.data.findings:
        shares = [int(share) for share in _SHARE.findall(finding.evidence)]
        assert max(shares, default=0) <= 100, finding.evidence
    for row in case.data.operators:
        assert (row.peak_share or 0) <= 1, row.name


@invariant()
def what_happens_once_is_low_and_comes_after_what_recurs(case: Case) -> None:
    for findings in _ranked(case):
        once = [each.once_us is not None for each in findings if each.severity != "info"]
        assert once == sorted(once)
    assert {each.severity for each in case.data.findings if each.once_us is not None} <= {
        *("low", "info")
    }


@invariant()
def no_finding_has_more_examples_than_it_was_seen(case: Case) -> None:
    for finding in case.data.findings:
        assert len(finding.examples) <= min(finding.count, 20), finding.id


@invariant()
def examples_of_syncs_are_syncs_of_their_cause_and_module(case: Case) -> None:
    starts = {sync.start_us: sync for sync in case.data.syncs}
    for finding in case.data.findings:
        if not finding.rule.startswith("sync-"):
            continue
        assert finding.examples, finding.id
        if finding.rule == "sync-batchnorm":
            continue
        examples = [starts[start] for start in finding.examples]
        if finding.rule != "sync-loop":  # those of several causes together
            assert {sync.cause for sync in examples} == {finding.rule}
            assert {sync.module for sync in examples} == {finding.module}


@invariant(Of.RECORDINGS)
def findings_are_those_of_the_document(case: Case) -> None:
    """Which ones our own recordings have, `sample_traces/test_gallery.py` expects."""
    if case.path.is_relative_to(shared_traces.FOLDER):
        expected = expected_on(case.path.relative_to(shared_traces.FOLDER).as_posix())
        found = {finding.rule for finding in case.data.findings}
        false_alarms, missed = sorted(found - expected), sorted(expected - found)
        assert found == expected, f"not in the document: {false_alarms}; not found: {missed}"


@cache
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


def _spelled_out(cell: str) -> Iterator[str]:
    """Traces of a cell; `hta_sampled_rank-0, -1` and `.._0 and _4` leave out what is the same."""
    last = ""
    for part in re.split(r", | and ", cell):
        last = re.sub(r"[-_]\d+$", "", last) + part if part.startswith(("-", "_")) else part
        yield last
