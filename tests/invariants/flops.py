"""FLOPs of calls, kernels, steps and modules: shared without loss, and the sums of their rows."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from invariants.case import Case
from invariants.registry import Of, invariant

from tb_hookview.analysis.host.stacks import number_stacks, stacks_at

GROUPS = {
    "by_shape_id": "operators_by_shape",
    "by_stack_id": "operators_by_stack",
    "by_module_id": "operators_by_module",
}
"""Reference of `operator_calls`, and the table that it leads to."""


def _rows(case: Case, table: str) -> list[Any]:
    return list(case.report.table(table))


WITHOUT_KERNELS = "hta_sampled"
"""Rows were removed at random: of some calls nothing that computes is left."""


@invariant(Of.RECORDINGS, slow=True)
def work_of_a_call_is_shared_among_its_device_events_without_loss(case: Case) -> None:
    if case.name.startswith(WITHOUT_KERNELS):
        return
    work, calls = case.analysis.device_work, case.analysis.counted_calls
    by_call = np.zeros(len(calls))
    np.add.at(by_call, work.call[work.call >= 0], work.flops[work.call >= 0])
    if len(case.analysis.device_events):
        assert by_call[calls] == pytest.approx(case.analysis.call_work.flops[calls])


@invariant(slow=True)
def kernels_by_launch_sum_to_the_device_events(case: Case) -> None:
    events, kernels = case.analysis.device_events, _rows(case, "kernels_by_launch")
    assert sum(row.count for row in kernels) == len(events)
    assert sum(row.total_us for row in kernels) == pytest.approx(events.duration.sum() / 1000)
    assert sum(row.flops or 0 for row in kernels) == pytest.approx(
        case.analysis.device_work.flops.sum()
    )


def _outermost(case: Case, calls: list[Any], reference: str) -> list[Any]:
    """Calls that are in no other one of their group, found by walking up."""
    tree = case.analysis.call_tree
    event, parent = tree.event.tolist(), tree.parent.tolist()
    row_of = {number: row for row, number in enumerate(event)}
    group = {row_of[call.id]: getattr(call, reference) for call in calls}

    def inside(row: int) -> bool:
        around = parent[row]
        while around >= 0 and group.get(around) != group[row]:
            around = parent[around]
        return bool(around >= 0)

    return [call for call in calls if not inside(row_of[call.id])]


@invariant(slow=True)
def groups_of_operators_sum_to_the_calls(case: Case) -> None:
    calls = _rows(case, "operator_calls")
    for reference, table in GROUPS.items():
        rows, outer = _rows(case, table), _outermost(case, calls, reference)
        assert sum(row.calls for row in rows) == len(calls), table
        for column in ("self_host_us", "self_device_us", "host_us", "device_us"):
            of_calls: dict[int, float] = defaultdict(float)
            for call in calls if column.startswith("self") else outer:
                of_calls[getattr(call, reference)] += getattr(call, column) or 0
            for row in rows:  # a call that outlasts the one around it has the more to itself
                least = (row.self_host_us or 0) if column == "host_us" else 0
                expected = pytest.approx(max(of_calls[row.id], least))
                assert (getattr(row, column) or 0) == expected, (table, column)
        groups = {row.id: row for row in rows}
        seen: dict[int, int] = defaultdict(int)
        for call in calls:
            group = groups[getattr(call, reference)]
            seen[group.id] += 1
            assert group.name == call.name
        assert seen == {number: row.calls for number, row in groups.items()}, table


@invariant(slow=True)
def stacks_are_those_around_the_calls(case: Case) -> None:
    """Against frames found one call at a time."""
    tree = case.analysis.call_tree
    rows = np.arange(0, len(tree), max(len(tree) // 200, 1))
    numbered = number_stacks(case.trace, tree.thread[rows], tree.start[rows])
    wanted = stacks_at(case.trace, tree.thread[rows], tree.start[rows])
    assert [numbered.frames(number) for number in numbered.of.tolist()] == wanted
    assert len(set(numbered.of.tolist())) == len({tuple(stack) for stack in wanted})


@invariant(slow=True)
def utilization_is_a_sum_over_the_calls(case: Case) -> None:
    """Over the calls one by one, with all modules around each."""
    analysis = case.analysis
    rows = np.flatnonzero(analysis.counted_calls)
    steps = analysis.steps.at(analysis.call_tree.start[rows]).tolist()
    modules = analysis.attribution.row_module[rows].tolist()
    by_step: dict[int, float] = defaultdict(float)
    by_module: dict[int, float] = defaultdict(float)
    parents = analysis.modules.parent.tolist()
    flops = analysis.call_work.flops[rows].tolist()
    for step, module, spent in zip(steps, modules, flops, strict=True):
        by_step[step] += spent
        while module >= 0:
            by_module[module] += spent
            module = parents[module]
    for row in _rows(case, "step_utilization"):
        assert (row.flops or 0) == pytest.approx(by_step[row.id])
        if row.mfu is not None:
            assert 0 < row.mfu <= (row.peak_share or 0)
            assert (row.peak_share or 0) <= 1
    for row in _rows(case, "module_utilization"):
        assert (row.flops or 0) == pytest.approx(by_module[row.id])
