"""Rows that are found again: syncs, kernels, modules and findings that moved or changed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from comparison.drawn import AFTER, BEFORE, report

from tb_hookview.comparison.compare import compare
from tb_hookview.schema import Finding, KernelsOmitted, Module, ReportData, Sync

replace = msgspec.structs.replace
STEPS = 2
FRAMES = ["torch/tensor.py(3): item", "train.py(10): loop"]


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> ReportData:
    return report(tmp_path_factory.mktemp("before"), BEFORE)


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> ReportData:
    return report(tmp_path_factory.mktemp("after"), AFTER)


# Syncs


def sync_row(template: ReportData, first: dict[str, Any], second: dict[str, Any]) -> Any:
    """The one row of two reports with one sync each, which has these fields."""
    (sync,) = template.syncs
    sides = [
        replace(template, syncs=[replace(sync, stack=FRAMES)]),
        replace(template, syncs=[replace(sync, stack=FRAMES)]),
    ]
    for index, fields in enumerate((first, second)):
        sides[index] = replace(template, syncs=[replace(sides[index].syncs[0], **fields)])
    (row,) = compare(*sides).sync_sites
    return row


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, "same"),
        ({"stack": [FRAMES[0], "train.py(12): loop"]}, "same"),
        ({"stack": ["torch/other.py(3): item", FRAMES[1]]}, "same"),
        ({"stack": [FRAMES[0], "train.py(10): other"]}, "moved"),
        ({"stack": ["train.py(3): other"]}, "moved"),
        ({"stack": []}, "moved"),
        ({"module": "b", "module_id": 1}, "moved"),
        ({"module": None, "module_id": None}, "moved"),
        ({"duration_us": 31.0}, "changed"),
        ({"device_idle_us": 1.0}, "changed"),
    ],
)
def test_a_sync_is_found_again(before: ReportData, fields: dict[str, Any], status: str) -> None:
    row = sync_row(before, {}, fields)
    assert row.status == status
    assert row.base_site.frame == FRAMES[1]
    assert (row.base_site.module, row.base_site.operator) == ("a", "aten::item")
    assert sync_row(before, fields, {}).status == status


def test_numbers_of_a_sync_are_means_of_the_steps(before: ReportData) -> None:
    row = sync_row(before, {"device_idle_us": None}, {"duration_us": 31.0, "device_idle_us": 4.0})
    assert (row.blocked_us.base, row.blocked_us.other, row.blocked_us.change) == (5.5, 15.5, 10)
    assert (row.device_idle_us.base, row.device_idle_us.other) == (None, 2)


@pytest.mark.parametrize("stack", [["torch/tensor.py(3): item"], []])
def test_a_sync_whose_frames_are_all_of_torch_has_the_innermost(
    before: ReportData, stack: list[str]
) -> None:
    row = sync_row(before, {"stack": stack}, {"stack": stack})
    assert row.base_site.frame == (stack[0] if stack else None)
    assert row.status == "same"


@pytest.mark.parametrize("path", ["/lib/torch/x.py", r"C:\lib\torch\x.py", "functorch/x.py"])
def test_frames_of_torch_are_not_the_call_site(before: ReportData, path: str) -> None:
    row = sync_row(before, {"stack": [f"{path}(1): f", FRAMES[1]]}, {})
    assert row.base_site.frame == FRAMES[1]
    own = sync_row(before, {"stack": ["mytorch/x.py(1): f", FRAMES[1]]}, {})
    assert own.base_site.frame == "mytorch/x.py(1): f"


def test_a_sync_of_another_cause_is_another_row(before: ReportData) -> None:
    (sync,) = before.syncs
    other = replace(before, syncs=[replace(sync, cause="sync-explicit", id=7)])
    rows = compare(before, other).sync_sites
    assert {(row.cause, row.status, row.id) for row in rows} == {
        ("sync-scalar-item", "vanished", f"{sync.id}|"),
        ("sync-explicit", "appeared", "|7"),
    }
    sites = {row.status: (row.base_site is None, row.other_site is None) for row in rows}
    assert sites == {"vanished": (False, True), "appeared": (True, False)}


def test_sync_sites_stand_by_what_changed_most(before: ReportData) -> None:
    """By time; where that is equal, by how often."""
    (sync,) = before.syncs

    def syncs(**times: tuple[float, ...]) -> ReportData:
        made = [
            replace(sync, operator=operator, duration_us=time)
            for operator, each in times.items()
            for time in each
        ]
        return replace(before, syncs=made)

    rows = compare(
        syncs(same=(8.0,), shorter=(20.0, 20.0), often=(6.0,), oftener=(6.0,), longer=(1.0,)),
        syncs(same=(8.0,), shorter=(10.0,), often=(3.0,) * 2, oftener=(2.0,) * 3, longer=(9.0,)),
    ).sync_sites
    assert [row.base_site and row.base_site.operator for row in rows] == [
        "shorter",
        "longer",
        "oftener",
        "often",
        "same",
    ]
    assert [row.blocked_us.change for row in rows] == [-15, 4, 0, 0, 0]
    assert [row.count.change for row in rows] == [-0.5, 0, 1, 0.5, 0]


def test_a_sync_moves_along_with_its_module(before: ReportData) -> None:
    """Module `a` is `module.a` in the other report: what is in it is where it was."""
    (sync,) = before.syncs
    modules = [replace(module, path=f"module.{module.path}") for module in before.modules]
    moved = replace(before, modules=modules, syncs=[replace(sync, module="module.a")])
    (row,) = compare(before, moved).sync_sites
    assert row.status == "same"


# Kernels


def test_a_kernel_beyond_a_table_that_was_cut_is_not_said_to_be_new(before: ReportData) -> None:
    first, *rest = before.kernels
    gone = replace(before, kernels=rest)
    (vanished,) = [k for k in compare(before, gone).kernels if k.status != "same"]
    assert (vanished.name, vanished.status) == (first.name, "vanished")
    cut = replace(gone, kernels_omitted=KernelsOmitted(1, first.count, first.total_us))
    for base, other in ((before, cut), (cut, before)):
        comparison = compare(base, other)
        (unlisted,) = [k for k in comparison.kernels if k.status != "same"]
        assert (unlisted.status, unlisted.total_us.change) == ("unlisted", None)
        assert unlisted.count.change is None
        omitted = comparison.kernels_omitted_us
        assert {omitted.base, omitted.other} == {0, first.total_us / STEPS}
    # The table that has it was cut, not the one that lacks it.
    (vanished,) = [
        k
        for k in compare(replace(before, kernels_omitted=cut.kernels_omitted), gone).kernels
        if k.status != "same"
    ]
    assert vanished.status == "vanished"


@pytest.mark.parametrize(
    ("change", "status"), [(1e-9, "same"), (2e-6, "changed"), (-2e-6, "changed"), (3.0, "changed")]
)
def test_rounding_is_no_change(before: ReportData, change: float, status: str) -> None:
    first, *rest = before.kernels
    longer = replace(first, total_us=first.total_us + STEPS * change)
    rows = compare(before, replace(before, kernels=[*rest, longer])).kernels
    assert [row.status for row in rows if row.base_id == first.id] == [status]


def test_a_kernel_that_runs_more_often_in_the_same_time_changed(before: ReportData) -> None:
    first, *rest = before.kernels
    more = replace(first, count=first.count + 1)
    rows = compare(before, replace(before, kernels=[*rest, more])).kernels
    assert {row.name: row.status for row in rows if row.base_id == first.id} == {
        first.name: "changed"
    }


# Modules


def having(template: ReportData, modules: list[str]) -> ReportData:
    """A report of modules "class path"."""
    return replace(template, modules=[named(template.modules[0], text) for text in modules])


def named(module: Module, text: str) -> Module:
    module_class, path = text.split(" ")
    return replace(module, path=path, module_class=module_class)


@pytest.mark.parametrize(
    ("base", "other", "expected"),
    [
        (["Net ", "Linear fc"], ["DDP ", "Net module", "Linear module.fc"], {"fc": "module.fc"}),
        (["Linear fc"], ["Linear _orig_mod.fc"], {"fc": "_orig_mod.fc"}),
        (["Linear head.fc"], ["Linear tail.fc"], {"head.fc": "tail.fc"}),
        (["Linear a.fc", "Linear b.fc"], ["Linear c.b.fc"], {"a.fc": None, "b.fc": "c.b.fc"}),
        (["Linear c.b.fc"], ["Linear a.fc", "Linear b.fc"], {"c.b.fc": "b.fc"}),
        (["Linear x.a.fc", "Linear y.fc"], ["Linear z.fc", "Linear w.a.fc"],
         {"x.a.fc": "w.a.fc", "y.fc": "z.fc"}),
        (["ReLU body.0"], ["ReLU head.0"], {"body.0": None}),
        (["ReLU body.0.act"], ["ReLU head.1.act"], {"body.0.act": "head.1.act"}),
        (["ReLU body.0.1"], ["ReLU head.0.1"], {"body.0.1": None}),
        (["ReLU body.in.0"], ["ReLU head.in.0"], {"body.in.0": "head.in.0"}),
        (["ReLU act"], ["GELU act"], {"act": "act"}),
        (["ReLU body.act"], ["GELU head.act"], {"body.act": None}),
        (["ReLU act", "Linear act"], ["Linear act", "ReLU act"], {"act": "act"}),
        (["Linear Linear_7", "Linear Linear_9"], ["Linear Linear_1", "Linear Linear_2"],
         {"Linear_7": "Linear_1", "Linear_9": "Linear_2"}),
        (["Linear Linear_7", "ReLU ReLU_8"], ["ReLU ReLU_1", "Linear Linear_2"],
         {"Linear_7": "Linear_2", "ReLU_8": "ReLU_1"}),
        (["Linear Linear_1"], ["Linear Linear_0", "Linear Linear_1"], {"Linear_1": "Linear_1"}),
        (["Linear Linear_0"], ["Linear fc"], {"Linear_0": None}),
        (["Linear fc", "Linear Linear_3"], ["Linear Linear_8"], {"Linear_3": "Linear_8"}),
        (["ReLU 0"], ["ReLU module.0"], {"0": "module.0"}),
        (["Linear Linear_x"], ["Linear deep.Linear_x"], {"Linear_x": "deep.Linear_x"}),
        ([], ["Linear fc"], {}),
        (["Linear fc"], [], {"fc": None}),
    ],
)  # fmt: skip
def test_modules_are_found_again(
    before: ReportData, base: list[str], other: list[str], expected: dict[str, str]
) -> None:
    rows = compare(having(before, base), having(before, other)).modules
    found = {row.base_path: row.other_path for row in rows if row.base_path is not None}
    assert expected.items() <= found.items()
    assert len(rows) == len(base) + sum(row.base_path is None for row in rows)
    assert [row.module_class for row in rows if row.other_path is None] == [
        text.split(" ")[0] for text in base if found.get(text.split(" ")[1], "") is None
    ]
    matched = sorted(row.other_path for row in rows if row.other_path is not None)
    assert matched == sorted(text.split(" ")[1] for text in other)


@pytest.mark.parametrize(
    ("base", "other", "status"),
    [
        ("Linear fc", "Linear module.fc", "same"),
        ("Linear fc", "Linear _fsdp_wrapped_module._checkpoint_wrapped_module.fc", "same"),
        ("Linear Linear_1", "Linear Linear_2", "same"),
        ("Linear fc", "Linear model.fc", "moved"),
        ("Linear Linear_1", "Linear deep.Linear_1", None),
    ],
)
def test_a_wrapper_and_a_new_number_are_no_move(
    before: ReportData, base: str, other: str, status: str | None
) -> None:
    rows = compare(having(before, [base]), having(before, [other])).modules
    assert [row.status for row in rows] == ([status] if status else ["vanished", "appeared"])


# Findings


def changed(base: list[Finding], other: list[Finding], template: ReportData) -> list[Any]:
    sides = (replace(template, findings=list(findings)) for findings in (base, other))
    return compare(*sides).findings


def test_findings_are_found_again(after: ReportData) -> None:
    finding = after.findings[0]
    cost = finding.cost_us_per_step or 0.0

    def status(*findings: Finding) -> list[tuple[str, float | None]]:
        rows = changed([finding], list(findings), after)
        return [(row.status, row.cost_us.change) for row in rows]

    assert cost == 15
    assert status(finding) == [("same", 0.0)]
    assert status(replace(finding, cost_us_per_step=20.0)) == [("changed", 5.0)]
    assert status(replace(finding, gain_us_per_step=20.0)) == [("changed", 0.0)]
    assert status(replace(finding, where="elsewhere")) == [("moved", 0.0)]
    assert status(replace(finding, cost_us_per_step=None)) == [("same", None)]
    assert status(replace(finding, rule="other", where="there")) == [
        ("vanished", -cost),
        ("appeared", cost),
    ]
    assert status() == [("vanished", -cost)]


def test_of_two_findings_of_a_rule_that_of_the_same_module_is_found_again(
    after: ReportData,
) -> None:
    finding = after.findings[0]

    def in_module(module: str | None, where: str, cost: float) -> Finding:
        number = None if module is None else ["a", "b"].index(module)
        located = replace(finding, module=module, module_id=number, where=where)
        return replace(located, cost_us_per_step=cost)

    rows = changed(
        [in_module("a", "a, f", 1), in_module("b", "b, f", 2), in_module(None, "f", 3)],
        [in_module("b", "b, g", 12), in_module("a", "a, g", 5), in_module(None, "g", 3)],
        after,
    )
    assert [(row.base_where, row.other_where, row.cost_us.change) for row in rows] == [
        ("b, f", "b, g", 10),
        ("a, f", "a, g", 4),
        ("f", "g", 0),
    ]
    assert [(row.base_module, row.other_module) for row in rows] == [
        ("b", "b"),
        ("a", "a"),
        (None, None),
    ]


def test_a_sync_without_known_idle_time(before: ReportData) -> None:
    """What costs an unknown time on one side alone changes by an unknown time."""
    (sync,) = before.syncs
    unknown: Sync = replace(sync, device_idle_us=None)
    (row,) = compare(replace(before, syncs=[unknown]), replace(before, syncs=[])).sync_sites
    assert (row.device_idle_us.base, row.device_idle_us.change) == (None, None)
    assert (row.blocked_us.base, row.blocked_us.other, row.blocked_us.change) == (5.5, None, -5.5)
