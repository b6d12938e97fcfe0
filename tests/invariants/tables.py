"""Tables of the report and those at event level: ids, references, and sums of their rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from invariants.case import Case
from invariants.registry import Of, invariant

from tb_hookview.schema import KINDS, Finding, ReportData
from tb_hookview.schema.describe import fields
from tb_hookview.tables.catalogue import CATALOGUE

OF_REPORT = [name for name, entry in CATALOGUE.items() if not entry.computed]
MEASURED = {"severity", "evidence"}
"""Texts that say how much there was in the selected steps."""
FIXES_BY_EVIDENCE = {
    *("allocator-malloc-free-in-step", "comm-exposed", "launch-queue-shallow", "loader-wait")
}
"""Rules whose fix depends on what the selected steps show: in a first step an operator may free and
allocate again, as one that runs out of memory, and in later steps only allocate; most time may be
in another collective, or of a batch that has arrived."""
REFERENCES = {
    "device_events": {
        "id": "events",
        "launch_id": "host_rows",
        "node_id": "node_evaluations",
        "module_id": "modules",
        "step_id": "steps",
        "stream_id": "streams",
        "device_id": "devices",
    },
    "host_rows": {
        "id": "events",
        "parent_id": "host_rows",
        "node_id": "node_evaluations",
        "module_id": "modules",
        "thread_id": "threads",
    },
    "node_evaluations": {
        "id": "host_rows",
        "name_id": "nodes",
        "parent_id": "node_evaluations",
        "forward_op_id": "host_rows",
        "module_id": "modules",
    },
    "gaps": {
        "sync_id": "syncs",
        "event_id": "host_rows",
        "ended_by_id": "device_events",
        "device_id": "devices",
        "step_id": "steps",
    },
    "events": {"module_id": "modules", "node_id": "node_evaluations", "step_id": "steps"},
}


@invariant()
def ids_of_a_table_are_unique(case: Case) -> None:
    for table in OF_REPORT:
        rows = getattr(case.data, table)
        assert len({row.id for row in rows}) == len(rows), table


@invariant()
def references_lead_to_the_rows_named(case: Case) -> None:
    report = case.data
    modules = {row.id: row.path for row in report.modules}
    steps = {row.id: row.name for row in report.steps}
    threads = {row.id: row.thread for row in report.threads}
    streams = {row.id: (row.device, row.stream) for row in report.streams}
    for module in report.modules:
        assert modules.get(module.parent_id) == module.parent
    for row in report.breakdown:
        assert steps[row.step_id] == row.step
    for sync in report.syncs:
        assert modules.get(sync.module_id) == sync.module
        assert steps.get(sync.step_id) == sync.step
        assert threads[sync.thread_id] == sync.thread
        if (event := sync.waited_for) is not None:
            assert streams[event.stream_id] == (event.device_id, event.stream)
    for finding in report.findings:
        assert modules.get(finding.module_id) == finding.module


@invariant()
def event_ids_are_rows_of_the_trace(case: Case) -> None:
    trace, report = case.trace, case.data

    def name(event: int | None) -> str | None:
        return None if event is None else trace.strings[int(trace.events.name[event])]

    for sync in report.syncs:
        assert name(sync.event_id) == sync.api
        assert name(sync.operator_id) == sync.operator
        assert (name(sync.node_id) or "").endswith(sync.node or "")
        if sync.waited_for is not None:
            assert name(sync.waited_for.event_id) == sync.waited_for.name
    for row in (*report.kernels, *report.operators):
        assert name(row.id) == row.name
    for allocation in report.allocations:
        assert name(allocation.id) == allocation.api
    for node in report.nodes:
        assert (name(node.id) or "").endswith(node.name)


@invariant()
def findings_name_the_syncs_they_explain(case: Case) -> None:
    syncs = {sync.id: sync for sync in case.data.syncs}
    causes = {sync.cause for sync in case.data.syncs}
    for finding in case.data.findings:
        explained = [syncs[number] for number in finding.sync_ids]
        assert {sync.cause for sync in explained} <= {finding.rule}
        # Any other finding without a module is about several.
        if finding.module_id is not None or finding.where.startswith("not in a module"):
            assert {sync.module_id for sync in explained} <= {finding.module_id}
        if finding.rule in causes and finding.rule.startswith("sync-"):
            assert [sync.start_us for sync in explained][:20] == finding.examples


@invariant()
def depth_counts_the_modules_above(case: Case) -> None:
    modules = {row.id: row for row in case.data.modules}
    for row in modules.values():
        above = 0 if row.parent_id is None else modules[row.parent_id].depth + 1
        assert row.depth == above


@invariant(Of.RECORDINGS, slow=True)
def ids_are_the_same_whatever_steps_are_selected(case: Case) -> None:
    whole, steps = _rows_of(case.data), case.analysis.steps.name
    for chosen in {steps[0], steps[-1]}:
        for table, rows in _rows_of(case.report_of(chosen).data).items():
            known = {row.id: row for row in whole[table]}
            both = [row for row in rows if row.id in known]  # what costs little may be cut
            if table != "findings":  # a rule may fire on one step alone
                assert bool(both) == bool(rows) or not whole[table], table
            for row in both:
                assert _identity(row) == _identity(known[row.id]), table


def _rows_of(report: ReportData) -> dict[str, list[Any]]:
    return {table: getattr(report, table) for table in OF_REPORT}


def _identity(row: Any) -> dict[str, Any]:
    """What is the same of a row in every selection: its texts, and when it began."""
    texts = {of.name for of in fields(type(row)) if of.type is str and of.name in dir(row)}
    begin = {"start_us"} & set(type(row).__struct_fields__)
    if isinstance(row, Finding) and row.rule in FIXES_BY_EVIDENCE:
        texts.discard("fix")
    if isinstance(row, Finding):
        texts.discard("confidence")  # a first step may hold work from before, which lowers it
    return {name: getattr(row, name) for name in sorted(texts - MEASURED | begin)}


@invariant(slow=True)
def ids_at_event_level_lead_to_rows(case: Case) -> None:
    for name, references in REFERENCES.items():
        ids = case.columns(name)["id"]
        assert len(set(ids)) == len(ids), name
        for column, target in references.items():
            values = {value for value in case.columns(name)[column] if value is not None}
            known = set(case.columns(target)["id"])
            if (name, column) == ("host_rows", "thread_id"):
                known |= _mirrored(case)
            assert values <= known, (name, column)


def _mirrored(case: Case) -> set[int]:
    """Threads of calls that a device mirrors, which are no rows of `threads`."""
    return set(np.flatnonzero(case.analysis.host.device_threads).tolist())


@invariant(slow=True)
def names_are_those_of_the_rows_referred_to(case: Case) -> None:
    modules, events = case.columns("modules"), case.columns("events")
    paths = dict(zip(modules["id"], modules["path"], strict=True))
    names = dict(zip(events["id"], events["name"], strict=True))
    for table in ("device_events", "host_rows", "node_evaluations", "events"):
        columns = case.columns(table)
        assert [paths.get(number) for number in columns["module_id"]] == columns["module"], table
    for table in ("device_events", "host_rows"):
        columns = case.columns(table)
        assert [names[number] for number in columns["id"]] == columns["name"], table


@invariant(slow=True)
def device_events_sum_to_kinds_and_kernels(case: Case) -> None:
    columns = case.columns("device_events")
    time, kinds = np.array(columns["duration_us"]), np.array(columns["kind"])
    for kind in KINDS:
        expected = case.data.totals.device_us_by_kind.get(kind, 0.0)
        assert time[kinds == kind].sum() == pytest.approx(expected), kind
    ids = np.array(columns["kernel_id"])
    for kernel in case.data.kernels:
        assert time[ids == kernel.id].sum() == pytest.approx(kernel.total_us), kernel.name


@invariant(slow=True)
def node_evaluations_sum_to_nodes(case: Case) -> None:
    columns = case.columns("node_evaluations")
    time, ids = np.array(columns["self_host_us"]), np.array(columns["name_id"])
    for node in case.data.nodes:
        assert time[ids == node.id].sum() == pytest.approx(node.host_us), node.name
        assert np.count_nonzero(ids == node.id) == node.count, node.name
    assert time.sum() == pytest.approx(case.data.coverage.backward_host_us or 0.0)


@invariant(slow=True)
def gaps_name_their_syncs_and_sum_to_what_these_cost(case: Case) -> None:
    columns = case.columns("gaps")
    sync_of = dict(zip(columns["id"], columns["sync_id"], strict=True))
    length = dict(zip(columns["id"], columns["duration_us"], strict=True))
    for sync in case.data.syncs:
        assert {sync_of[gap] for gap in sync.gap_ids} <= {sync.id}
        caused = sum(length[gap] for gap, by in sync_of.items() if by == sync.id)
        assert caused == pytest.approx(sync.device_idle_us or 0.0)
        if sync.device_idle_us is not None:
            assert sum(length[gap] for gap in sync.gap_ids) == pytest.approx(sync.device_idle_us)
    named = sum(len(sync.gap_ids) for sync in case.data.syncs)
    assert sum(sync is not None for sync in sync_of.values()) == named


@invariant()
def gaps_sum_to_the_idle_time_of_their_step(case: Case) -> None:
    columns = case.columns("gaps")
    step, time = np.array(columns["step_id"], float), np.array(columns["duration_us"])
    for row in case.data.steps:
        assert time[step == row.id].sum() == pytest.approx(row.device_idle_us or 0.0), row.name


@invariant(slow=True)
def syncs_of_a_step_are_charged_for_gaps_of_that_step(case: Case) -> None:
    report = case.report_of(case.analysis.steps.name[-1])
    columns = report.table("gaps").to_columns()
    length = dict(zip(columns["id"], columns["duration_us"], strict=True))
    for sync in report.data.syncs:
        idle = sum(length[gap] for gap in sync.gap_ids)
        assert idle == pytest.approx(sync.device_idle_us or 0.0)


@invariant(slow=True)
def tables_of_a_step_hold_that_step(case: Case) -> None:
    step = case.analysis.steps.name[0]
    report = case.report_of(step)
    for name in ("device_events", "host_rows", "node_evaluations", "gaps"):
        table, every = report.table(name).to_columns(), case.columns(name)
        assert set(table["step"]) <= {step}, name
        assert table["id"] == [
            number for number, of in zip(every["id"], every["step"], strict=True) if of == step
        ], name
