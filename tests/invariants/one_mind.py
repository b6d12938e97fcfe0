"""Outputs of one report and its what-ifs that have to agree, or to say why they do not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
from invariants.case import Case
from invariants.registry import invariant
from invariants.report import at_most, near

from tb_hookview.formats import format_us
from tb_hookview.report.summary.brief import brief_lines
from tb_hookview.report.whatif import WhatIfs
from tb_hookview.simulation.critical_path import Part
from tb_hookview.simulation.questions import scaled

EVERYTHING = ("kernels", "host", "launches", "data", "communication", "syncs")
UNNAMED = 0.1
"""Part of the device's time of kind `other` from which on the report has to say so."""
_WITHOUT_FIRST = re.compile(r"; ([0-9.]+ \w+) without the first finding")
SHARES = ("share", "utilization", "sm_efficiency")


@invariant()
def shares_are_from_0_to_1(case: Case) -> None:
    for place, value in _numbers(msgspec.to_builtins(case.data), "report"):
        field = place.rpartition(".")[2]
        if field in SHARES or field.endswith("_share"):
            assert 0 <= value <= 1 + 1e-9, f"{place} is {value}"
        elif field.endswith("_pct"):
            assert 0 <= value <= 100 + 1e-7, f"{place} is {value}"


def _numbers(value: Any, place: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _numbers(inner, f"{place}.{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _numbers(inner, f"{place}[{number}]")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield place, value


@invariant()
def no_phase_is_longer_than_its_step(case: Case) -> None:
    for step in case.data.steps:
        for name in ("forward_us", "backward_us", "optimizer_us", "data_us", "device_busy_us"):
            value = getattr(step, name, None)
            assert value is None or 0 <= value <= at_most(step.duration_us), (step.name, name)


@invariant()
def gains_are_within_the_step_and_their_bound(case: Case) -> None:
    simulator = case.simulator
    step = None if simulator.refused else simulator.unchanged.step / 1e3
    for finding in case.data.findings:
        gain, bound = finding.gain_us_per_step, finding.gain_bound_us_per_step
        assert (gain is None) == (finding.gain_unknown is not None), finding.id
        if gain is not None and step is not None:
            assert 0 <= gain <= at_most(step), finding.id
        assert bound is None or bound >= 0, finding.id


@invariant()
def a_what_if_without_a_finding_gains_what_the_finding_says(case: Case) -> None:
    """Of the first and of one of unknown gain; the summary has the same step."""
    found = case.data.findings
    if not found or case.simulator.refused:
        return
    what_ifs, first = WhatIfs(case.simulator.selection), found[0]
    if first.gain_us_per_step is not None:
        answer = what_ifs.answer([first.id], modules=False)
        replayed, predicted = answer.replayed_us or 0.0, answer.predicted_us or 0.0
        assert replayed - predicted == near(first.gain_us_per_step), first.id
        said = _WITHOUT_FIRST.search(brief_lines(case.data)[-1])
        assert said is None or said[1] == format_us(predicted)
    if unknown := [each for each in found if each.gain_unknown is not None]:
        assert what_ifs.answer([unknown[0].id], modules=False).refused is not None


@invariant()
def what_waits_gains_no_more_than_what_it_waits_for(case: Case) -> None:
    """Without syncs a step saves at most the device's work and the self time of these calls."""
    if (simulator := case.simulator).refused or case.clock_jumps:
        return
    analysis, unchanged = case.analysis, simulator.unchanged.step
    without_waits = simulator.step(scaled(analysis, {"syncs": 0}))
    without_both = simulator.step(scaled(analysis, {"syncs": 0, "kernels": 0}))
    assert without_both <= at_most(without_waits)
    gain = unchanged - without_waits
    device = unchanged - simulator.step(scaled(analysis, {"kernels": 0}))
    calls = sum(sync.duration_us for sync in case.data.syncs) * 1e3
    idle_in_calls = min(calls / max(len(simulator.window.steps), 1), unchanged)
    assert gain <= at_most(device + idle_in_calls + simulator.error)


@invariant()
def without_anything_nothing_is_left(case: Case) -> None:
    if (simulator := case.simulator).refused or case.clock_jumps:
        return
    path = simulator.predict(scaled(case.analysis, dict.fromkeys(EVERYTHING, 0.0))).path
    left, nodes = path.part[path.end > path.start], simulator.graph.nodes
    assert Part.HOST not in left
    before = nodes.event[nodes.history]  # earlier steps stay as they were
    assert np.isin(path.event[path.part == Part.DEVICE], before).all()


@invariant()
def unnamed_device_time_is_said(case: Case) -> None:
    by_kind = case.data.totals.device_us_by_kind
    if by_kind.get("other", 0.0) > UNNAMED * sum(by_kind.values()):
        codes = {warning.code for warning in case.data.trace.warnings}
        assert "unnamed-kernels" in codes, by_kind
