"""The comparison of two drawn traces, every number counted in the picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import msgspec
import pytest
from comparison.drawn import AFTER, BEFORE, report

from tb_hookview.comparison.compare import compare
from tb_hookview.comparison.document import comparison_document
from tb_hookview.document.document import Lines
from tb_hookview.document.plain import plain_text
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.schema import Comparison, Pair, ReportData

Numbers = tuple[float | None, float | None, float | None]


@pytest.fixture
def before(tmp_path: Path) -> ReportData:
    return report(tmp_path, BEFORE, "before.json")


@pytest.fixture
def after(tmp_path: Path) -> ReportData:
    return report(tmp_path, AFTER, "after.json")


@pytest.fixture
def comparison(before: ReportData, after: ReportData) -> Comparison:
    return compare(before, after)


def numbers(pair: Pair) -> Numbers:
    return (pair.base, pair.other, pair.change)


def all_numbers(pairs: dict[str, Pair]) -> dict[str, Numbers]:
    """Those that are not 0 on both sides."""
    return {name: numbers(pair) for name, pair in pairs.items() if pair.base or pair.other}


def test_numbers_are_means_of_the_steps(comparison: Comparison) -> None:
    """Two steps of 80 us together, and one of 83 us."""
    assert numbers(comparison.step_us) == (40, 83, 43)
    assert comparison.speedup == 40 / 83
    assert numbers(comparison.forward_us) == (16, 39, 23)
    assert numbers(comparison.backward_us) == (10, 21, 11)
    assert numbers(comparison.backward_unattributed_us) == (5, 11, 6)
    assert numbers(comparison.syncs) == (0.5, 1, 0.5)
    assert numbers(comparison.sync_blocked_us) == (5.5, 15, 9.5)
    assert numbers(comparison.device_busy_us) == (24, 50, 26)
    assert numbers(comparison.device_idle_us) == (16, 33, 17)
    assert numbers(comparison.kernels_omitted_us) == (0, 0, 0)
    assert (comparison.measure, comparison.schema) == ("device", 1)


def test_a_finding_that_happens_once_is_no_cost_per_step(tmp_path: Path) -> None:
    picture = """
        main ops    [aten::add                                                                 ]
        main calls  [launch corr=1][load                                       ][launch corr=2 ]
        gpu  kernel    [a corr=1 ]                                                 [b corr=2]
        """
    names = {"load": "cuModuleLoadData", "launch": "cudaLaunchKernel"}
    rows = grid.events(picture, names)
    base, other = (
        build_report(load(grid.write(tmp_path / f"{name}.json", events))).data
        for name, events in (
            ("base", rows),
            ("other", [row for row in rows if row["name"] != "cuModuleLoadData"]),
        )
    )
    lines = [
        line
        for part in comparison_document(compare(base, other)).parts
        if isinstance(part, Lines)
        for line in part.texts
    ]
    (gone,) = (line for line in lines if line.startswith("no longer found: Kernels are loaded"))
    assert gone.endswith(", cost 45.0 us once")


def test_parts_are_means_of_the_steps(comparison: Comparison) -> None:
    assert list(comparison.phases_us) == ["forward", "backward", "optimizer", "data", "other"]
    assert all_numbers(comparison.phases_us) == {
        "forward": (25, 56, 31),
        "backward": (13, 25, 12),
        "other": (2, 2, 0),
    }
    assert all_numbers(comparison.idle_us) == {
        "sync": (5.5, 15, 9.5),
        "launch": (10.5, 17, 6.5),
        "unknown": (0, 1, 1),
    }
    assert numbers(comparison.idle_us["allocator"]) == (0, 0, 0)


def test_a_kind_of_device_work_that_one_side_lacks_takes_no_time_there(
    before: ReportData, after: ReportData
) -> None:
    kinds = {"matrix": (11, 27, 16), "other": (15, 21, 6), "copy": (0, 12, 12)}
    assert all_numbers(compare(before, after).device_us_by_kind) == kinds
    swapped = {kind: (other, base, -change) for kind, (base, other, change) in kinds.items()}
    assert all_numbers(compare(after, before).device_us_by_kind) == swapped


def test_each_side_names_its_trace_and_steps(comparison: Comparison) -> None:
    base, other = comparison.base, comparison.other
    assert (Path(base.path).name, Path(other.path).name) == ("before.json", "after.json")
    assert (base.steps, base.step_names) == (2, ["ProfilerStep#1", "ProfilerStep#2"])
    assert (other.steps, other.step_names) == (1, ["ProfilerStep#1"])


def test_modules_stand_by_what_changed_most(
    comparison: Comparison, before: ReportData, after: ReportData
) -> None:
    rows = comparison.modules
    assert [(row.path, row.status) for row in rows] == [
        ("new", "appeared"),
        ("a", "changed"),
        ("b", "changed"),
        ("gone", "vanished"),
    ]
    assert [numbers(row.forward_us) for row in rows] == [
        (None, 12, 12),
        (5.5, 16, 10.5),
        (5.5, 11, 5.5),
        (5, None, -5),
    ]
    assert [numbers(row.backward_us) for row in rows] == [
        (None, 0, 0),
        (0, 0, 0),
        (5, 10, 5),
        (0, None, 0),
    ]
    assert [numbers(row.syncs) for row in rows[:2]] == [(None, 0, 0), (0.5, 1, 0.5)]
    assert [numbers(row.sync_blocked_us) for row in rows[:2]] == [(None, 0, 0), (5.5, 15, 9.5)]
    assert [numbers(row.sync_idle_us) for row in rows[:2]] == [(None, 0, 0), (5.5, 15, 9.5)]
    assert {row.module_class for row in rows} == {"Linear"}
    paths = [(row.base_path, row.other_path) for row in rows]
    assert paths == [(None, "new"), ("a", "a"), ("b", "b"), ("gone", None)]
    check_ids(rows, [row.id for row in before.modules], [row.id for row in after.modules])


def check_ids(rows: list[Any], base: list[Any], other: list[Any]) -> None:
    """Each row of both reports is in one row, whose id is made of theirs."""
    assert sorted(row.base_id for row in rows if row.base_id is not None) == sorted(base)
    assert sorted(row.other_id for row in rows if row.other_id is not None) == sorted(other)
    for row in rows:
        sides = ("" if side is None else str(side) for side in (row.base_id, row.other_id))
        assert row.id == "|".join(sides)


def test_a_module_that_is_the_same_stands_last(before: ReportData) -> None:
    """However much its forward and backward are: neither changed."""
    first, *rest = before.modules
    work = first.forward
    longer = msgspec.structs.replace(work, self_compute_us=work.self_compute_us + 2)
    other = [*rest[:1], msgspec.structs.replace(first, forward=longer), *rest[1:]]
    rows = compare(before, msgspec.structs.replace(before, modules=other)).modules
    assert [row.status for row in rows] == ["changed", "same", "same"]
    assert numbers(rows[0].forward_us) == (5.5, 6.5, 1)


def test_kernels_stand_by_what_changed_most(
    comparison: Comparison, before: ReportData, after: ReportData
) -> None:
    """`k` is there twice: a matrix product of the forward, another kernel of the backward."""
    rows = comparison.kernels
    assert [(row.name, row.kind, row.event, row.status) for row in rows] == [
        ("Memcpy DtoD (Device -> Device)", "copy", "copy", "appeared"),
        ("n", "matrix", "kernel", "appeared"),
        ("k", "matrix", "kernel", "changed"),
        ("s", "other", "kernel", "changed"),
        ("j", "matrix", "kernel", "vanished"),
        ("k", "other", "kernel", "same"),
    ]
    assert [numbers(row.total_us) for row in rows] == [
        (None, 12, 12),
        (None, 11, 11),
        (5.5, 16, 10.5),
        (5, 11, 6),
        (5.5, None, -5.5),
        (10, 10, 0),
    ]
    assert [numbers(row.count) for row in rows] == [
        (None, 1, 1),
        (None, 1, 1),
        (0.5, 1, 0.5),
        (0.5, 1, 0.5),
        (0.5, None, -0.5),
        (1, 1, 0),
    ]
    check_ids(rows, [row.id for row in before.kernels], [row.id for row in after.kernels])


def test_syncs_of_one_call_site(comparison: Comparison) -> None:
    (row,) = comparison.sync_sites
    assert (row.cause, row.status) == ("sync-scalar-item", "changed")
    assert numbers(row.count) == (0.5, 1, 0.5)
    assert numbers(row.blocked_us) == (5.5, 15, 9.5)
    assert numbers(row.device_idle_us) == (5.5, 15, 9.5)
    site = row.base_site
    assert site is not None
    assert (site.module, site.module_id, site.operator) == ("a", 0, "aten::item")
    assert (site.node, site.frame) == (None, None)
    assert (row.other_site, row.id) == (site, f"{row.base_id}|{row.other_id}")


def test_findings_stand_by_what_changed_most(comparison: Comparison, after: ReportData) -> None:
    rows = comparison.findings
    places = [(row.rule, row.status, row.other_where, row.other_module) for row in rows]
    assert places == [
        ("sync-scalar-item", "appeared", "a, aten::item", "a"),
        ("device-layout-copies", "appeared", "new, cudaMemcpyAsync", "new"),
    ]
    assert [numbers(row.cost_us) for row in rows] == [(None, 15, 15), (None, 12, 12)]
    for row, finding in zip(rows, after.findings, strict=True):
        gain = finding.gain_us_per_step
        assert numbers(row.gain_us) == (None, gain, gain)
        assert (row.title, row.fix) == (finding.title, finding.fix)
        assert (row.base_where, row.base_module, row.base_module_id) == (None, None, None)
        assert row.other_module_id == finding.module_id
    check_ids(rows, [], [finding.id for finding in after.findings])


def test_a_finding_of_the_base_alone(before: ReportData, after: ReportData) -> None:
    row, _ = compare(after, before).findings
    assert (row.status, row.base_where, row.base_module) == ("vanished", "a, aten::item", "a")
    assert (row.other_where, row.other_module, row.other_module_id) == (None, None, None)
    assert (row.base_module_id, row.base_id) == (0, after.findings[0].id)
    assert numbers(row.cost_us) == (15, None, -15)


def test_a_report_and_itself_differ_in_nothing(after: ReportData) -> None:
    comparison = compare(after, after)
    tables = (comparison.modules, comparison.sync_sites, comparison.kernels, comparison.findings)
    assert {row.status for table in tables for row in table} == {"same"}
    assert comparison.speedup == 1


def host_rows(picture: str) -> str:
    return "\n".join(line for line in picture.splitlines() if not line.strip().startswith("gpu"))


def test_on_a_trace_of_the_host_alone_both_sides_are_measured_on_the_host(
    tmp_path: Path, before: ReportData
) -> None:
    other = report(tmp_path, host_rows(AFTER), "host.json")
    comparison = compare(before, other)
    assert comparison.measure == compare(other, before).measure == "host"
    assert numbers(comparison.forward_us) == (25, 56, 31)
    assert numbers(comparison.backward_us) == (11, 22, 11)
    assert numbers(comparison.backward_unattributed_us) == (3.5, 7, 3.5)
    assert numbers(comparison.device_busy_us) == (24, None, None)
    assert {pair.change for pair in comparison.idle_us.values()} == {None}
    assert numbers(comparison.idle_us["sync"]) == (5.5, None, None)
    assert numbers(comparison.kernels_omitted_us) == (0, None, None)
    found = {row.path: numbers(row.forward_us) for row in comparison.modules}
    assert found == {
        "a": (15, 39, 24),
        "b": (7.5, 15, 7.5),
        "gone": (4, None, -4),
        "new": (None, 6, 6),
    }
    assert numbers(compare(other, other).step_us) == (83, 83, 0)


def test_without_steps_there_is_no_step_to_compare(before: ReportData) -> None:
    none = compare(before, msgspec.structs.replace(before, steps=[]))
    assert (none.speedup, numbers(none.step_us)) == (None, (40, None, None))
    assert numbers(none.forward_us) == (16, 32, 16)


@pytest.mark.parametrize(("share", "shown"), [(0.96, False), (0.94, True)])
def test_an_estimate_without_recording_stands_beside_steps_that_it_slowed(
    before: ReportData, after: ReportData, share: float, shown: bool
) -> None:
    quick = msgspec.structs.replace(before.verdict, unrecorded_step_us=share * 40)
    as_long = msgspec.structs.replace(after.verdict, unrecorded_step_us=83)
    found = compare(
        msgspec.structs.replace(before, verdict=quick),
        msgspec.structs.replace(after, verdict=as_long),
    )
    expected = (share * 40, 83, 83 - share * 40) if shown else (None, None, None)
    assert numbers(found.unrecorded_step_us) == pytest.approx(expected)
    text = plain_text(comparison_document(found))
    assert ("step, without the profiler (estimate)" in text) == shown


def test_a_module_whose_changes_cancel_stands_last(tmp_path: Path) -> None:
    """Forward 10 us longer and backward 10 us shorter is no effect; 3 us longer is one."""
    base = report(
        tmp_path,
        """
        main ops  [a               ] [b     ]
        main ops   [aten::mm seq=4]
        auto ops                                          [mm' seq=4 F=1          ]
        """,
    )
    other = report(
        tmp_path,
        """
        main ops  [a                         ] [b        ]
        main ops   [aten::mm seq=4]
        auto ops                                          [mm' seq=4 F=1]
        """,
    )
    rows = compare(base, other).modules
    changes = [(m.path, m.forward_us.change, m.backward_us.change) for m in rows]
    assert changes == [("b", 3, 0), ("a", 10, -10)]


def test_causes_that_one_step_lacks_are_not_known(tmp_path: Path) -> None:
    whole = report(
        tmp_path,
        """
        main notes  [s1                ][s2                ]
        main calls   [L corr=1]     [L corr=2]
        gpu  kernel      [k corr=1]          [k corr=2]
        """,
    )
    first, second = whole.steps
    partly = msgspec.structs.replace(
        whole, steps=[first, msgspec.structs.replace(second, idle=None)]
    )
    assert compare(partly, partly).idle_us == {}
    assert {pair.other for pair in compare(whole, partly).idle_us.values()} == {None}


def test_two_findings_of_one_rule_and_place_are_each_their_own(tmp_path: Path) -> None:
    """The second check is one for NaN, which its evidence says."""
    picture = """
        main ops    [aten::is_nonzero   ] [aten::isnan][aten::any][aten::is_nonzero   ]
        main calls    [wait           ]                              [wait           ]
        """
    events = grid.events(picture, {"wait": "cudaStreamSynchronize"})
    twice = build_report(load(grid.write(tmp_path / "t.json", events))).data
    where = [finding.where for finding in twice.findings if finding.rule == "sync-bool-branch"]
    assert where == ["not in a module, aten::is_nonzero"] * 2
    assert {row.status for row in compare(twice, twice).findings} == {"same"}


def test_a_forward_alone_is_measured_on_the_device(tmp_path: Path) -> None:
    """The module's host time is the same on both sides, as in analyze's modules by device time."""
    base = """
        main notes [a                ]
        main calls  [L corr=1]
        gpu  kernel               [k corr=1]
        """
    other = base.replace("[k corr=1]", "[k corr=1          ]")
    sides = report(tmp_path, base, "base.json"), report(tmp_path, other, "other.json")
    comparison = compare(*sides)
    assert comparison.measure == "device"
    assert [numbers(row.forward_us) for row in comparison.modules] == [(10, 20, 10)]


def test_traces_without_steps_have_nothing_per_step(tmp_path: Path) -> None:
    pictures = ("\n".join(picture.splitlines()[2:]) for picture in (BEFORE, AFTER))
    base, other = (report(tmp_path, picture) for picture in pictures)
    shown = repr(comparison_document(compare(base, other)).parts)
    assert "per step" not in shown.lower()
    assert "Sums over the whole trace" in shown
    with_steps = repr(comparison_document(compare(report(tmp_path, BEFORE), other)).parts)
    assert "Per step: mean" in with_steps
    assert "time per step)" in with_steps
