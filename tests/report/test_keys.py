"""Ids of rows: unique, the same for any selected steps, and their references."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import numpy as np
import pytest
from support.loaded import loaded, reported

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.report.result import Report
from tb_hookview.report.tables.streams import stream_rows
from tb_hookview.schema import ReportData, Sync
from tb_hookview.schema.describe.fields import fields
from tb_hookview.tables.catalogue import CATALOGUE
from tb_hookview.tables.events.keys import stream_ids

TRACES = [
    "hta_mi250_minitoy_training",
    "hta_sampled_rank-0",
    "hta_cpu_only",
    "tracelens_h100_qwen",
    pytest.param("hta_v100_training", marks=pytest.mark.slow),
]
TABLES = [name for name, entry in CATALOGUE.items() if not entry.computed]
MEASURED = {"severity", "evidence"}
"""Texts that say how much there was in the selected steps."""


@pytest.fixture(params=TRACES, scope="module")
def trace(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def analysis(trace: str) -> Analysis:
    return loaded(trace)


@pytest.fixture(scope="module")
def report(trace: str) -> Report:
    return reported(trace)


def rows_of(report: ReportData) -> dict[str, list[Any]]:
    return {table: getattr(report, table) for table in TABLES}


def identity(row: Any) -> dict[str, Any]:
    """What is the same of a row in every selection: its texts, and when it began."""
    texts = {of.name for of in fields(type(row)) if of.type is str and of.name in dir(row)}
    begin = {"start_us"} & set(type(row).__struct_fields__)
    return {name: getattr(row, name) for name in sorted(texts - MEASURED | begin)}


def test_ids_are_unique(report: Report) -> None:
    for rows in rows_of(report.data).values():
        assert len({row.id for row in rows}) == len(rows)


def test_ids_are_the_same_whatever_steps_are_selected(analysis: Analysis, report: Report) -> None:
    whole = rows_of(report.data)
    steps = analysis.steps.name
    for chosen in {steps[0], steps[-1]}:
        for table, rows in rows_of(build_report(analysis, [chosen]).data).items():
            known = {row.id: row for row in whole[table]}
            both = [row for row in rows if row.id in known]  # what costs little may be cut
            assert bool(both) == bool(rows), table
            for row in both:
                assert identity(row) == identity(known[row.id]), table


def test_references_lead_to_the_rows_named(report: Report) -> None:
    modules = {row.id: row.path for row in report.modules}
    steps = {row.id: row.name for row in report.steps}
    threads = {row.id: row.thread for row in report.threads}
    streams = {row.id: (row.device, row.stream) for row in report.streams}
    for module in report.modules:
        assert modules.get(module.parent_id) == module.parent
    for row in report.data.breakdown:
        assert steps[row.step_id] == row.step
    for sync in report.syncs:
        assert modules.get(sync.module_id) == sync.module
        assert steps.get(sync.step_id) == sync.step
        assert threads[sync.thread_id] == sync.thread
        if (event := sync.waited_for) is not None:
            assert streams[event.stream_id] == (event.device_id, event.stream)
    for finding in report.findings:
        assert modules.get(finding.module_id) == finding.module


def test_event_ids_are_rows_of_the_trace(analysis: Analysis, report: Report) -> None:
    trace = analysis.trace

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


def test_findings_name_the_syncs_they_explain(report: Report) -> None:
    syncs: dict[int, Sync] = {sync.id: sync for sync in report.syncs}
    causes = {sync.cause for sync in report.syncs}
    for finding in report.findings:
        explained = [syncs[number] for number in finding.sync_ids]
        assert {sync.cause for sync in explained} <= {finding.rule}
        assert {sync.module_id for sync in explained} <= {finding.module_id}
        if finding.rule in causes and finding.rule.startswith("sync-"):
            assert [sync.start_us for sync in explained][:20] == finding.examples


def test_depth_counts_the_modules_above(report: Report) -> None:
    modules = {row.id: row for row in report.modules}
    for row in modules.values():
        above = 0 if row.parent_id is None else modules[row.parent_id].depth + 1
        assert row.depth == above


def test_streams_of_a_thread_with_several_devices_differ(tmp_path: Path) -> None:
    events = grid.events("gpu kernel [a ] [b ]")
    for device, event in enumerate(e for e in events if e.get("cat") == "kernel"):
        event["args"] = {**event.get("args", {}), "device": device}
    analysis = load(grid.write(tmp_path / "t.json", events))
    ids = stream_ids(analysis)
    assert len(np.unique(ids)) == 2
    rows = stream_rows(select(analysis, None))
    assert [(row.device, row.id) for row in rows] == [("0", ids[0]), ("1", ids[1])]


def test_a_sync_names_the_gaps_it_caused(report: Report) -> None:
    table = report.table("gaps").to_columns()
    gaps = dict(zip(table["id"], table["sync_id"], strict=True))
    by_id = dict(zip(table["id"], table["duration_us"], strict=True))
    for sync in report.data.syncs:
        assert {gaps[gap] for gap in sync.gap_ids} <= {sync.id}
        if sync.device_idle_us is not None:
            total = sum(by_id[gap] for gap in sync.gap_ids)
            assert total == pytest.approx(sync.device_idle_us)
    assert sum(sync is not None for sync in gaps.values()) == sum(
        len(sync.gap_ids) for sync in report.data.syncs
    )
