"""One module by itself: its numbers are those of the report, cut finer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import numpy as np
import pytest
from analysis.owners import NAMES
from support.loaded import loaded

from tb_hookview import markers
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import select
from tb_hookview.errors import NotFoundError, UsageError
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.report.module import detail as module_calls
from tb_hookview.report.module import detail as module_detail
from tb_hookview.report.tables.modules import module_rows
from tb_hookview.schema import Module, ModuleDetail, ReportData

TRACES = (
    "tracelens_mi300_resnet_checkpointing_ddp",
    "hta_sampled_rank-0",
    "tracelens_h100_bert_small",
    pytest.param("hta_v100_training", marks=pytest.mark.slow),
)
RECORDED = Path(__file__).parents[2] / "data" / "recorder_v1.pt.trace.json.gz"
SIDES = ("forward", "backward", "recompute")


@pytest.fixture(
    scope="module",
    params=[*TRACES, RECORDED],
    ids=lambda name: name.name if isinstance(name, Path) else name,
)
def analysis(request: pytest.FixtureRequest) -> Analysis:
    name = request.param
    return load(name) if isinstance(name, Path) else loaded(name)


@pytest.fixture(scope="module")
def report(analysis: Analysis) -> ReportData:
    return build_report(analysis).data


def total(rows: Any, name: str) -> Any:
    return pytest.approx(sum(getattr(row, name) for row in rows), abs=1e-6)


def with_rest(rows: list[Any], omitted: Any) -> list[Any]:
    return rows if omitted is None else [*rows, omitted]


def assert_agrees(detail: ModuleDetail, module: Module) -> None:
    """Kernels sum to device time, nodes to the backward's, calls to both sides'."""
    kernels = with_rest(detail.kernels, detail.kernels_omitted)
    for side in SIDES:
        work = getattr(module, side)
        if work is None or work.device_us is None:
            continue
        parts = [getattr(kernel, side) for kernel in kernels]
        assert work.device_us == total(parts, "device_us")
        assert work.self_device_us == total(parts, "self_device_us")
        if detail.kernels_omitted is None:
            counted = [getattr(k, side).count for k in detail.kernels if k.event == "kernel"]
            assert work.kernels == sum(counted)
    nodes = with_rest(detail.nodes, detail.nodes_omitted)
    for name in ("host_us", "device_us", "self_host_us", "self_device_us"):
        if getattr(module.backward, name) is not None:
            assert getattr(module.backward, name) == total(nodes, name)
    calls = detail.calls
    assert calls.count == module.calls == sum(row.calls for row in calls.rows)
    for side in SIDES[:2]:
        for name in ("host_us", "compute_us"):
            known = getattr(getattr(module, side), name)
            if known is not None:
                assert known == total([*calls.rows, calls.unplaced], f"{side}_{name}")
    collectives = [getattr(module, side).communication_us for side in SIDES[:2]]
    if None not in collectives:
        assert sum(collectives) == total([*calls.rows, calls.unplaced], "communication_us")


def test_every_module_agrees_with_its_row_of_the_report(
    analysis: Analysis, report: ReportData
) -> None:
    for module in report.modules:
        assert_agrees(module_detail.module_detail(analysis, module.path), module)


def test_a_step_agrees_with_the_report_of_the_step(analysis: Analysis) -> None:
    steps = [analysis.steps.name[-1]]
    for module in module_rows(select(analysis, steps)):
        assert_agrees(module_detail.module_detail(analysis, module.path, steps), module)


def test_ids_are_those_of_the_report_and_of_the_trace(
    analysis: Analysis, report: ReportData
) -> None:
    kernels = {(row.name, row.kind, row.event): row.id for row in report.kernels}
    nodes = {row.name: row.id for row in report.nodes}
    starts = analysis.trace.events.start
    for module in report.modules:
        detail = module_detail.module_detail(analysis, module.path)
        for kernel in detail.kernels:
            assert kernels[kernel.name, kernel.kind, kernel.event] == kernel.id
        for node in detail.nodes:
            assert nodes[node.name] == node.id
        for call in [*detail.calls.rows, *detail.calls.slowest.values()]:
            assert int(starts[call.id]) / 1000 == call.start_us
        for rows in (detail.kernels, detail.nodes, detail.calls.rows):
            assert len({row.id for row in rows}) == len(rows)


@pytest.mark.parametrize("measure", module_calls.MEASURES)
def test_bars_are_the_calls_or_the_means_of_some(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch, measure: str
) -> None:
    paths = list(analysis.modules.path[:40])
    single = {}
    for path in paths:
        rows = module_detail.module_detail(analysis, path).calls.rows
        costs = [getattr(row, measure) for row in rows]
        single[path] = [] if None in costs else costs
    bars = module_detail.module_bars(analysis, paths, measure)
    assert bars == {path: pytest.approx(costs) for path, costs in single.items()}
    monkeypatch.setattr(module_calls, "MOST_BARS", 2)
    for path, means in module_detail.module_bars(analysis, paths, measure).items():
        half = len(single[path]) // 2
        parts = (single[path][:half], single[path][half:])
        assert means == pytest.approx([np.mean(part) for part in parts if part], abs=1e-3)


def test_bars_are_not_asked_for_without_end(analysis: Analysis) -> None:
    with pytest.raises(UsageError, match="no more than"):
        module_detail.module_bars(analysis, [""] * 101, "forward_host_us")
    with pytest.raises(UsageError, match="measure"):
        module_detail.module_bars(analysis, [], "forward")


def test_what_is_left_out_is_counted(
    analysis: Analysis, report: ReportData, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module_detail, "MOST_KERNELS", 2)
    monkeypatch.setattr(module_detail, "MOST_NODES", 1)
    for module in report.modules:
        detail = module_detail.module_detail(analysis, module.path)
        assert len(detail.kernels) <= 2
        assert len(detail.nodes) <= 1
        assert_agrees(detail, module)


def test_many_calls_are_told_in_bins(
    analysis: Analysis, report: ReportData, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = max(report.modules, key=lambda row: row.calls)
    single = module_detail.module_detail(analysis, module.path).calls
    monkeypatch.setattr(module_calls, "MOST_SINGLE", 1)
    monkeypatch.setattr(module_calls, "BINS", 2)
    detail = module_detail.module_detail(analysis, module.path)
    many = module.calls > 1
    assert (single.binned, detail.calls.binned) == (False, many)
    assert len(detail.calls.rows) == (2 if many else module.calls)
    assert detail.calls.slowest == single.slowest
    assert_agrees(detail, module)


def test_calls_are_those_around_the_operators_that_made_the_nodes(analysis: Analysis) -> None:
    """The slow way: row by row from each node's forward_op to the call."""
    call_tree, nodes = analysis.call_tree, analysis.nodes
    forward_op = nodes.forward_op
    for module in range(0, len(analysis.modules), 5):
        calls = set(np.flatnonzero(analysis.module_calls.module == module).tolist())
        expected: dict[float, float] = {}
        for node, row in enumerate(forward_op.tolist()):
            owner = int(analysis.attribution.node_module[node])
            while row >= 0 and row not in calls:
                row = int(call_tree.parent[row])
            if row < 0 or not module <= owner < int(analysis.modules.end[module]):
                continue
            start = int(call_tree.start[row]) / 1000
            expected[start] = expected.get(start, 0) + int(analysis.node_parts.time[node]) / 1000
        calls = module_detail.module_detail(analysis, analysis.modules.path[module]).calls
        found = {row.start_us: row.backward_host_us for row in calls.rows}
        for start, host in expected.items():
            if start in found:  # what recomputation made is placed by time
                assert found[start] >= host - 1e-6


def test_where_each_step_calls_a_module_once_its_call_is_the_step() -> None:
    """Recomputation, gradients and all: whatever the backward of a step did is its call's."""
    analysis = loaded("tracelens_mi300_resnet_checkpointing_ddp")
    steps = [module_rows(select(analysis, [step])) for step in analysis.steps.name]
    once = [row for row in zip(*steps, strict=True) if all(module.calls == 1 for module in row)]
    assert len(once) > 60
    for modules in once:
        rows = module_detail.module_detail(analysis, modules[0].path).calls.rows
        for side in SIDES[:2]:
            for name in ("host_us", "compute_us"):
                by_step = [getattr(getattr(module, side), name) for module in modules]
                assert [getattr(row, f"{side}_{name}") for row in rows] == pytest.approx(by_step)


def detail_of(folder: Path, picture: str, path: str, **root: Any) -> ModuleDetail:
    traced = grid.events(picture, NAMES)
    analysis = load(grid.write(folder / "t.json", traced, **root))
    return module_detail.module_detail(analysis, path)


def test_each_call_has_its_own_backward(tmp_path: Path) -> None:
    detail = detail_of(
        tmp_path,
        """
        main ops   [fc      ]   [fc      ]
        main ops    [mm seq=1]   [mm seq=2]
        back ops                              [mm' seq=2 F=1] [mm' seq=1 F=1       ]
        back calls                             [launch corr=7] [launch corr=8]
        gpu kernel                                [gemm corr=7]  [gemm corr=8      ]
        """,
        "fc",
    )
    rows = detail.calls.rows
    assert [row.start_us for row in rows] == [1011, 1024]
    assert [row.backward_host_us for row in rows] == [22, 15]
    assert [row.backward_compute_us for row in rows] == [19, 13]
    assert [(row.backward_start_us, row.backward_duration_us) for row in rows] == [
        (1054, 22),
        (1038, 15),
    ]
    assert detail.calls.slowest["backward_compute_us"] == rows[0]
    assert "forward_compute_us" not in detail.calls.slowest
    (gemm,) = detail.kernels
    assert (gemm.name, gemm.kind, gemm.backward.count) == ("gemm", "matrix", 2)


def test_what_several_calls_share_is_in_none(tmp_path: Path) -> None:
    """One gradient for both calls of the first step; the second has one call."""
    detail = detail_of(
        tmp_path,
        """
        main ops   [fc] [fc]                 [fc]
        back ops              [acc' F=1   ]        [acc' F=1]
        back ops               [owns_fc]            [owns_fc]
        """,
        "fc",
    )
    assert [row.backward_host_us for row in detail.calls.rows] == [0, 0, 10]
    assert detail.calls.unplaced.backward_host_us == 13


def test_parameters_are_those_of_the_manifest(tmp_path: Path) -> None:
    listed = [
        {"path": "", "class": "Net", "parameters": 2, "bytes": 8, "trainable": False},
        {"path": "fc", "class": "Linear", "parameters": 10, "bytes": 40, "trainable": True},
        {"path": "fc.odd", "parameters": True, "bytes": -1},
        {"path": "relu", "class": "ReLU", "parameters": 3, "bytes": 12},
    ]
    shared = [{"path": "fc", "parameter": "w", "owner": "", "owner_parameter": "v"}, 5]
    manifest = {"version": 1, "roots": [""], "modules": listed, "shared": shared}
    picture = "main ops [fc ]"
    found = detail_of(tmp_path, picture, "fc", **{markers.MANIFEST_KEY: manifest}).parameters
    assert found is not None
    assert (found.count, found.bytes, found.self_count, found.self_bytes) == (10, 40, 10, 40)
    assert found.trainable
    assert [(s.parameter, s.owner, s.owner_parameter) for s in found.shared] == [("w", "", "v")]
    root = detail_of(tmp_path, picture, "", **{markers.MANIFEST_KEY: manifest}).parameters
    assert root is not None
    assert (root.count, root.self_count, root.trainable) == (15, 2, False)
    assert detail_of(tmp_path, picture, "fc").parameters is None


def test_unknown_names_are_said(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no module 'nothing'"):
        detail_of(tmp_path, "main ops [fc ]", "nothing")
