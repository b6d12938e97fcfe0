"""The comparison of two reports: what is the same, what mirrors, what adds up."""

from __future__ import annotations

from itertools import product
from typing import Any

import gallery
import msgspec
import pytest
from invariants.comparison import pairs_in
from shared_traces import shared_trace

import tb_hookview
from tb_hookview.comparison.compare import compare
from tb_hookview.comparison.document import comparison_document
from tb_hookview.schema import Comparison, Pair, ReportData, TraceWarning, own_syncs

replace = msgspec.structs.replace
NAMES = (
    "hta_compare_base",
    "hta_compare_test",
    "hta_sampled_rank-0",
    "hta_cpu_only",
    "hta_mi250_minitoy",
    "tracelens_h100_bert_small",
    "tracelens_mi300_bert_small",
    "param_dlrm_8_ranks/worker0",
)
NEAR = 1e-3
_ONE_SIDED = {"id", "path", "title", "fix", "speedup", "phases_us", "idle_us"}
MIRRORED = {"appeared": "vanished", "vanished": "appeared"}


@pytest.fixture(scope="module")
def reports() -> dict[str, ReportData]:
    return {name: tb_hookview.analyze(shared_trace(name)).data for name in NAMES}


@pytest.fixture(scope="module")
def pairs(reports: dict[str, ReportData]) -> list[tuple[ReportData, ReportData]]:
    return list(product(reports.values(), repeat=2))


def tables(comparison: Comparison) -> list[Any]:
    return [
        *comparison.modules,
        *comparison.sync_sites,
        *comparison.kernels,
        *comparison.findings,
    ]


def test_a_report_and_itself_differ_in_nothing(reports: dict[str, ReportData]) -> None:
    for report in reports.values():
        comparison = compare(report, report)
        assert {pair.change for pair in pairs_in(comparison)} <= {0.0, None}
        assert {row.status for row in tables(comparison)} <= {"same"}
        assert len(comparison.modules) == len(report.modules)
        assert comparison.speedup == 1


def test_rows_have_ids_and_those_of_both_reports(
    pairs: list[tuple[ReportData, ReportData]],
) -> None:
    for base, other in pairs:
        comparison = compare(base, other)
        for field, source in (
            ("modules", "modules"),
            ("sync_sites", "syncs"),
            ("kernels", "kernels"),
            ("findings", "findings"),
        ):
            rows = getattr(comparison, field)
            assert len({row.id for row in rows}) == len(rows)
            for side, report in (("base_id", base), ("other_id", other)):
                known = {row.id for row in getattr(report, source)}
                ids = [getattr(row, side) for row in rows]
                assert {number for number in ids if number is not None} <= known
            assert all(row.base_id is not None or row.other_id is not None for row in rows)


def test_references_of_the_comparison_lead_to_modules_of_each_side(
    pairs: list[tuple[ReportData, ReportData]],
) -> None:
    for base, other in pairs:
        comparison = compare(base, other)
        for side, report in (("base", base), ("other", other)):
            paths = {module.id: module.path for module in report.modules}
            for row in comparison.findings:
                module = getattr(row, f"{side}_module_id")
                assert paths.get(module) == getattr(row, f"{side}_module")
            for site in (getattr(row, f"{side}_site") for row in comparison.sync_sites):
                assert site is None or paths.get(site.module_id) == site.module


def mirrored(value: Any) -> Any:
    """A comparison with its sides exchanged, its tables in no order."""
    if isinstance(value, Pair):
        return (value.other, value.base, None if value.change is None else -value.change)
    if isinstance(value, dict):
        return {key: mirrored(part) for key, part in sorted(value.items())}
    if isinstance(value, msgspec.Struct):
        swap = {"base": "other", "other": "base"}
        parts = {
            "_".join(swap.get(word, word) for word in key.split("_")): mirrored(part)
            for key, part in msgspec.structs.asdict(value).items()
            # What one side is called by, and its inverse, have no mirror image.
            if key not in _ONE_SIDED
        }
        if "status" in parts:
            parts["status"] = MIRRORED.get(parts["status"], parts["status"])
        return dict(sorted(parts.items()))
    return sorted(map(mirrored, value), key=repr) if isinstance(value, list) else value


def plain(value: Any) -> Any:
    if isinstance(value, Pair):
        return (value.base, value.other, value.change)
    if isinstance(value, msgspec.Struct):
        parts = msgspec.structs.asdict(value)
        return plain({key: part for key, part in parts.items() if key not in _ONE_SIDED})
    if isinstance(value, dict):
        return {key: plain(part) for key, part in sorted(value.items())}
    return sorted(map(plain, value), key=repr) if isinstance(value, list) else value


def test_the_other_way_round_is_the_mirror_image(
    pairs: list[tuple[ReportData, ReportData]],
) -> None:
    for base, other in pairs:
        assert mirrored(compare(base, other)) == plain(compare(other, base))


def test_the_parts_are_those_of_the_reports(pairs: list[tuple[ReportData, ReportData]]) -> None:
    for base, other in pairs:
        comparison = compare(base, other)
        for side, report in (("base", base), ("other", other)):
            check_side(comparison, side, report)


def check_side(comparison: Comparison, side: str, report: ReportData) -> None:
    steps = len(report.steps)

    def total(rows: list[Any], field: str) -> float:
        return sum(getattr(getattr(row, field), side) or 0.0 for row in rows)

    def of(pair: Pair) -> float | None:
        value: float | None = getattr(pair, side)
        return value

    step = sum(row.duration_us for row in report.steps) / steps
    assert of(comparison.step_us) == pytest.approx(step)
    assert sum(of(pair) or 0 for pair in comparison.phases_us.values()) == pytest.approx(step)
    syncs = own_syncs(report.syncs)
    blocked = sum(sync.duration_us for sync in syncs) / steps
    known = report.totals.sync_count is not None
    assert of(comparison.sync_blocked_us) == (pytest.approx(blocked, abs=NEAR) if known else None)
    assert total(comparison.sync_sites, "blocked_us") == pytest.approx(blocked, abs=NEAR)
    assert total(comparison.sync_sites, "count") == pytest.approx(len(syncs) / steps)
    modules = total(comparison.modules, "backward_us")
    backward = modules + (of(comparison.backward_unattributed_us) or 0.0)
    assert backward == pytest.approx(of(comparison.backward_us) or 0.0, abs=NEAR)
    work = total(comparison.kernels, "total_us") + (of(comparison.kernels_omitted_us) or 0.0)
    kinds = sum(report.totals.device_us_by_kind.values()) / steps
    assert work == pytest.approx(kinds, abs=NEAR)
    assert sum(of(p) or 0 for p in comparison.device_us_by_kind.values()) == pytest.approx(kinds)
    idle = [of(pair) for pair in comparison.idle_us.values()]
    if None not in idle and idle:
        whole = of(comparison.device_idle_us)
        assert sum(part or 0.0 for part in idle) == pytest.approx(whole, abs=NEAR)


def test_what_changed_is_the_sum_of_its_parts(pairs: list[tuple[ReportData, ReportData]]) -> None:
    for base, other in pairs:
        comparison = compare(base, other)
        parts = sum(row.blocked_us.change or 0.0 for row in comparison.sync_sites)
        change = comparison.sync_blocked_us.change
        known = all(report.totals.sync_count is not None for report in (base, other))
        assert (change is not None) == known
        if change is not None:
            assert parts == pytest.approx(change, abs=NEAR)


def test_without_a_device_its_numbers_are_not_known(reports: dict[str, ReportData]) -> None:
    comparison = compare(reports["hta_cpu_only"], reports["hta_sampled_rank-0"])
    assert comparison.device_busy_us.base is None
    assert comparison.device_busy_us.change is None
    assert all(pair.change is None for pair in comparison.idle_us.values())
    assert comparison.measure == "host"


def test_findings_of_a_trace_without_a_known_bottleneck_are_not_said_to_be_all() -> None:
    report = tb_hookview.analyze(gallery.recording("memory_growth.whole")).data
    unknown = msgspec.structs.replace(
        report,
        findings=[],
        verdict=msgspec.structs.replace(report.verdict, bound="unknown"),
    )
    for base, other, side in ((unknown, report, "base"), (report, unknown, "other")):
        text = str(comparison_document(compare(base, other)))
        assert f"The {side} trace has no known bottleneck" in text
    alike = msgspec.structs.replace(report, findings=[])
    assert "no known bottleneck" not in str(comparison_document(compare(alike, report)))


def test_what_makes_figures_of_a_side_wrong_is_reported(reports: dict[str, ReportData]) -> None:
    base = next(iter(reports.values()))
    severe, note = (
        TraceWarning("lost-at-end", "lost-at-end", f"launches of {name}; too low", 1, name)
        for name in ("high", "low")
    )
    other = replace(base, trace=replace(base.trace, warnings=[severe, note]))
    found = compare(replace(base, trace=replace(base.trace, warnings=[note])), other)
    assert (found.base.warnings, found.other.warnings) == ([], ["launches of high"])
    first, *_ = comparison_document(found).parts
    assert first.texts[-1] == "warning, other: launches of high"
