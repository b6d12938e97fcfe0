"""The tables at event level: their content, and references between their ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import numpy as np
import pytest
from shared_traces import shared_trace
from support.loaded import loaded

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import select
from tb_hookview.errors import UsageError
from tb_hookview.loading import analyze, load
from tb_hookview.report.build import build_report
from tb_hookview.report.result import Report
from tb_hookview.schema import KINDS
from tb_hookview.tables.catalogue import CATALOGUE, event_table

TRACES = [
    "hta_mi250_minitoy_training",
    "hta_sampled_rank-0",
    "hta_cpu_only",
    "tracelens_h100_qwen",
]
COMPUTED = [name for name, entry in CATALOGUE.items() if entry.computed]


@pytest.fixture(params=TRACES, scope="module")
def analysis(request: pytest.FixtureRequest) -> Analysis:
    return loaded(request.param)


@pytest.fixture(scope="module")
def report(analysis: Analysis) -> Report:
    return build_report(analysis)


@pytest.fixture(scope="module")
def columns(report: Report) -> dict[str, dict[str, list[Any]]]:
    return {name: table.to_columns() for name, table in report.tables().items()}


Columns = dict[str, dict[str, list[Any]]]
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


def test_ids_are_unique_and_lead_to_rows(columns: Columns) -> None:
    for name, references in REFERENCES.items():
        ids = columns[name]["id"]
        assert len(set(ids)) == len(ids), name
        for column, target in references.items():
            values = {value for value in columns[name][column] if value is not None}
            assert values <= set(columns[target]["id"]), (name, column)


def test_names_are_those_of_the_rows_referred_to(columns: Columns) -> None:
    paths = dict(zip(columns["modules"]["id"], columns["modules"]["path"], strict=True))
    events = dict(zip(columns["events"]["id"], columns["events"]["name"], strict=True))
    for name in ("device_events", "host_rows", "node_evaluations", "events"):
        table = columns[name]
        assert [paths.get(number) for number in table["module_id"]] == table["module"]
    for name in ("device_events", "host_rows"):
        assert [events[number] for number in columns[name]["id"]] == columns[name]["name"]


def test_device_events_sum_to_the_report(columns: Columns, report: Report) -> None:
    table = columns["device_events"]
    time = np.array(table["duration_us"])
    kinds = np.array(table["kind"])
    for kind in KINDS:
        expected = report.data.totals.device_us_by_kind.get(kind, 0.0)
        assert time[kinds == kind].sum() == pytest.approx(expected)
    ids = np.array(table["kernel_id"])
    for kernel in report.data.kernels:
        assert time[ids == kernel.id].sum() == pytest.approx(kernel.total_us)


def test_node_evaluations_sum_to_the_report(columns: Columns, report: Report) -> None:
    table = columns["node_evaluations"]
    time, ids = np.array(table["self_host_us"]), np.array(table["name_id"])
    for node in report.data.nodes:
        assert time[ids == node.id].sum() == pytest.approx(node.host_us)
        assert np.count_nonzero(ids == node.id) == node.count
    assert time.sum() == pytest.approx(report.data.coverage.backward_host_us)


def test_gaps_sum_to_what_syncs_cost(columns: Columns, report: Report) -> None:
    table = columns["gaps"]
    for sync in report.data.syncs:
        caused = [
            us
            for us, by in zip(table["duration_us"], table["sync_id"], strict=True)
            if by == sync.id
        ]
        assert sum(caused) == pytest.approx(sync.device_idle_us or 0.0)


def test_frames_hold_the_same_values(report: Report, columns: Columns) -> None:
    pandas = pytest.importorskip("pandas", reason="needs pandas: pip install pandas")
    pytest.importorskip("polars", reason="needs polars: pip install polars")
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install pyarrow")
    for name in COMPUTED:
        table = report.table(name)
        frame = table.to_pandas()
        for column, values in columns[name].items():
            known = frame[column].notna()
            assert frame[column][known].tolist() == [v for v in values if v is not None]
            assert (~known).tolist() == [value is None for value in values]
            assert not pandas.api.types.is_object_dtype(frame[column]), (name, column)
        assert table.to_arrow().to_pydict() == columns[name]
        assert table.to_polars().to_dict(as_series=False) == columns[name]


def test_rows_are_typed(report: Report) -> None:
    for name in COMPUTED:
        table = report.table(name)
        if len(table):
            row, entry = table[0], CATALOGUE[name]
            assert isinstance(row, entry.row_type)
            assert next(iter(table)) == row == table[:2][0]
            assert table[-1].id == table.to_columns()["id"][-1]


def test_tables_of_a_step_hold_that_step(analysis: Analysis, columns: Columns) -> None:
    step = analysis.steps.name[0]
    for name in ("device_events", "host_rows", "node_evaluations", "gaps"):
        table = event_table(name, lambda: select(analysis, [step])).to_columns()
        every = columns[name]
        assert set(table["step"]) <= {step}
        assert table["id"] == [
            number for number, of in zip(every["id"], every["step"], strict=True) if of == step
        ]


def test_a_report_from_the_cache_loads_the_analysis_when_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOKVIEW_CACHE", str(tmp_path / "cache"))
    path = shared_trace("hta_mi250_minitoy_training")
    first = analyze(path).tables()
    again = analyze(path).tables()
    for name in COMPUTED:
        assert first[name].to_columns() == again[name].to_columns()


def test_a_report_without_its_trace_says_so(tmp_path: Path) -> None:
    report = analyze(grid.write(tmp_path / "t.json", grid.events("main ops [a ]")))
    with pytest.raises(UsageError, match="without its trace"):
        len(Report(report.data).table("gaps"))


def test_an_empty_trace_has_empty_tables(tmp_path: Path) -> None:
    report = analyze(grid.write(tmp_path / "t.json", []))
    for name in COMPUTED:
        table = report.table(name)
        assert len(table) == 0
        assert list(table.to_columns()) == [column.name for column in table.columns]
        assert table.to_pandas().empty


def test_selection_is_shared_by_the_tables_of_one_call(tmp_path: Path) -> None:
    analysis = load(grid.write(tmp_path / "t.json", grid.events("main ops [a ]")))
    asked: list[int] = []

    def count() -> Any:
        asked.append(1)
        return select(analysis, None)

    for table in Report(build_report(analysis).data, count).tables().values():
        len(table)
    assert len(asked) == 1
