"""The comparison of two reports: what is the same, what mirrors, what adds up."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import grid
import msgspec
import pytest
from shared_traces import shared_trace

import tb_hookview
from tb_hookview import markers
from tb_hookview.comparison.compare import compare
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.schema import Comparison, KernelsOmitted, Module, Pair, ReportData, own_syncs

replace = msgspec.structs.replace
NAMES = (
    "hta_compare_base",
    "hta_compare_test",
    "hta_v100_training",
    "hta_cpu_only",
    "hta_mi250_minitoy",
    "tracelens_h100_bert_small",
    "tracelens_mi300_bert_small",
    "kineto_resnet50_num_workers_0",
)
NEAR = 1e-3
DRAWN = {
    "a": markers.encode("forward", "a", "Linear"),
    "b": markers.encode("forward", "b", "Linear"),
    "mm'": "autograd::engine::evaluate_function: MmBackward0",
    "s1": "ProfilerStep#1",
    "s2": "ProfilerStep#2",
    "launch": "cudaLaunchKernel",
}
_ONE_SIDED = {"id", "path", "title", "fix", "speedup", "phases_us", "idle_us"}
MIRRORED = {"appeared": "vanished", "vanished": "appeared"}


@pytest.fixture(scope="module")
def reports() -> dict[str, ReportData]:
    return {name: tb_hookview.analyze(shared_trace(name)).data for name in NAMES}


@pytest.fixture(scope="module")
def pairs(reports: dict[str, ReportData]) -> list[tuple[ReportData, ReportData]]:
    return list(product(reports.values(), repeat=2))


def pairs_in(value: Any) -> Iterator[Pair]:
    """Every pair of numbers in a comparison, wherever it is."""
    if isinstance(value, Pair):
        yield value
    elif isinstance(value, msgspec.Struct):
        yield from (
            pair for part in msgspec.structs.asdict(value).values() for pair in pairs_in(part)
        )
    elif isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        yield from (pair for part in parts for pair in pairs_in(part))


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
    if isinstance(value, msgspec.Struct):
        return mirrored(msgspec.structs.asdict(value))
    if isinstance(value, dict):
        swap = {"base": "other", "other": "base"}
        parts = {
            "_".join(swap.get(word, word) for word in key.split("_")): mirrored(part)
            for key, part in value.items()
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
    assert of(comparison.sync_blocked_us) == pytest.approx(blocked, abs=NEAR)
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
        assert parts == pytest.approx(comparison.sync_blocked_us.change, abs=NEAR)


def test_waits_are_found_again_below_another_line_and_in_another_module(
    reports: dict[str, ReportData],
) -> None:
    report = reports["hta_v100_training"]
    sync = own_syncs(report.syncs)[0]

    def having(**fields: object) -> ReportData:
        return replace(report, syncs=[replace(sync, **fields)])

    def row(base: ReportData, other: ReportData) -> Any:
        (found,) = compare(base, other).sync_sites
        return found

    frames = ["torch/tensor.py(3): item", "train.py(10): loop"]
    before = having(stack=frames)
    below = row(before, having(stack=[frames[0], "train.py(12): loop"]))
    assert below.status == "same"
    assert below.base_site.frame == "train.py(10): loop"
    assert row(before, having(stack=["train.py(3): other"])).status == "moved"
    longer = row(before, having(stack=frames, duration_us=sync.duration_us + 60.0))
    assert (longer.status, longer.blocked_us.change) == ("changed", pytest.approx(10.0))
    rows = compare(before, having(cause="sync-explicit")).sync_sites
    assert {found.status for found in rows} == {"appeared", "vanished"}


def test_a_kernel_beyond_a_table_that_was_cut_is_not_said_to_be_new(
    reports: dict[str, ReportData],
) -> None:
    report = reports["hta_mi250_minitoy"]
    first, *rest = report.kernels
    gone = replace(report, kernels=rest)
    (vanished,) = [k for k in compare(report, gone).kernels if k.status != "same"]
    assert (vanished.name, vanished.status) == (first.name, "vanished")
    cut = replace(gone, kernels_omitted=KernelsOmitted(1, first.count, first.total_us))
    (unlisted,) = [k for k in compare(report, cut).kernels if k.status != "same"]
    assert (unlisted.status, unlisted.total_us.change) == ("unlisted", None)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (["Net ", "Linear fc"], ["DDP ", "Net module", "Linear module.fc"], {"fc": "module.fc"}),
        (["Linear fc"], ["Linear _orig_mod.fc"], {"fc": "_orig_mod.fc"}),
        (["Linear head.fc"], ["Linear tail.fc"], {"head.fc": "tail.fc"}),
        (["Linear a.fc", "Linear b.fc"], ["Linear c.b.fc"], {"a.fc": None, "b.fc": "c.b.fc"}),
        (["ReLU body.0"], ["ReLU head.0"], {"body.0": None}),
        (["ReLU act"], ["GELU act"], {"act": "act"}),
        (["Linear Linear_7", "Linear Linear_9"], ["Linear Linear_1", "Linear Linear_2"],
         {"Linear_7": "Linear_1", "Linear_9": "Linear_2"}),
        (["Linear Linear_0"], ["Linear fc"], {"Linear_0": None}),
    ],
)  # fmt: skip
def test_modules_are_found_again(
    reports: dict[str, ReportData], before: list[str], after: list[str], expected: dict[str, str]
) -> None:
    template = reports["hta_v100_training"]

    def having(modules: list[str]) -> ReportData:
        made = [named(template.modules[0], text) for text in modules]
        return replace(template, modules=made)

    rows = compare(having(before), having(after)).modules
    found = {row.base_path: row.other_path for row in rows if row.base_path is not None}
    assert expected.items() <= found.items()
    assert len(rows) == len(before) + sum(row.base_path is None for row in rows)


def named(module: Module, text: str) -> Module:
    module_class, path = text.split(" ")
    return replace(module, path=path, module_class=module_class)


def test_a_wrapper_and_a_new_number_are_no_move(reports: dict[str, ReportData]) -> None:
    template = reports["hta_v100_training"]

    def status(before: str, after: str) -> str:
        sides = [
            replace(template, modules=[named(template.modules[0], text)])
            for text in (before, after)
        ]
        (row,) = compare(*sides).modules
        return row.status

    assert status("Linear fc", "Linear module.fc") == "same"
    assert status("Linear Linear_1", "Linear Linear_2") == "same"
    assert status("Linear fc", "Linear model.fc") == "moved"


def test_findings_are_found_again(reports: dict[str, ReportData]) -> None:
    report = reports["hta_v100_training"]
    finding = report.findings[0]
    dearer = replace(finding, cost_us_per_step=(finding.cost_us_per_step or 0) + 5)

    def status(*findings: object) -> list[tuple[str, float | None]]:
        sides = (
            replace(report, findings=[finding]),
            replace(report, findings=list(findings)),
        )
        return [(row.status, row.cost_us.change) for row in compare(*sides).findings]

    assert status(finding) == [("same", 0.0)]
    assert status(dearer) == [("changed", pytest.approx(5.0))]
    assert status(replace(finding, where="elsewhere")) == [("moved", 0.0)]
    assert status() == [("vanished", pytest.approx(-(finding.cost_us_per_step or 0)))]


def test_without_a_device_its_numbers_are_not_known(reports: dict[str, ReportData]) -> None:
    comparison = compare(reports["hta_cpu_only"], reports["hta_v100_training"])
    assert comparison.device_busy_us.base is None
    assert comparison.device_busy_us.change is None
    assert all(pair.change is None for pair in comparison.idle_us.values())
    assert comparison.measure == "host"


def drawn(folder: Path, picture: str) -> ReportData:
    return build_report(load(grid.write(folder / "t.json", grid.events(picture, DRAWN)))).data


def test_a_module_whose_changes_cancel_stands_last(tmp_path: Path) -> None:
    """Opposite changes of forward and backward cancel out; 3 us more do not."""
    base = drawn(
        tmp_path,
        """
        main ops  [a               ] [b     ]
        main ops   [aten::mm seq=4]
        auto ops                                          [mm' seq=4 F=1          ]
        """,
    )
    other = drawn(
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
    whole = drawn(
        tmp_path,
        """
        main notes  [s1                ][s2                ]
        main calls   [launch corr=1]     [launch corr=2]
        gpu  kernel      [k corr=1]          [k corr=2]
        """,
    )
    first, second = whole.steps
    partly = replace(whole, steps=[first, replace(second, idle=None)])
    assert compare(partly, partly).idle_us == {}
    assert {pair.other for pair in compare(whole, partly).idle_us.values()} == {None}
