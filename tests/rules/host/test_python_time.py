"""`python-time`."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from rules.cpu import ON_HOST, call, findings, operator, step
from rules.eager import row

from tb_hookview.analysis.selection import select
from tb_hookview.loading import load
from tb_hookview.markers import MANIFEST_KEY
from tb_hookview.rules.catalogue import RULES
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.cost_accounting import findings as cost_findings

RULE = "python-time"
ROWS = [
    step(10_000),
    operator("aten::mm", 1001, 1000),
    call("head", 2001, 5000, "Head"),
    operator("aten::add", 2010, 90),
    operator("aten::mul", 6900, 90),
    operator("aten::mm", 7001, 3990),
]


def test_a_module_in_which_no_operator_runs(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, ROWS)[RULE]
    assert (finding.module, finding.where) == ("head", "head, forward")
    assert finding.cost_us_per_step == finding.gain_us_per_step == 4800
    assert finding.evidence.startswith("for 4.80 ms per step, 48% of it, no operator ran: 1 time")


@pytest.mark.parametrize(
    ("time", "amount", "frees"),
    [(2200, -(100 << 20), True), (2200, -4096, False), (6000, -(100 << 20), False)],
    ids=["large", "small", "late"],
)
def test_large_tensors_are_freed(tmp_path: Path, time: int, amount: int, frees: bool) -> None:
    args = {"Device Type": 0, "Device Id": -1, "Addr": 1, "Bytes": amount}
    freed = {"ph": "i", "name": "[memory]", "pid": 77, "tid": "main", "ts": time, "args": args}
    (finding,) = findings(tmp_path, [*ROWS, freed])[RULE]
    assert (finding.where == "head, freeing of large tensors") is frees
    assert ("jemalloc" in finding.fix) is ("Freeing" in finding.title) is frees


def test_many_calls_of_modules_without_an_operator(tmp_path: Path) -> None:
    """It is what the recorder's marks take."""
    calls = [call(f"{number}", 1101 + 100 * number, 90, "Identity") for number in range(80)]
    rows = [step(10_000), operator("aten::mm", 1001, 90), *calls]
    assert RULE not in findings(tmp_path, [*rows, operator("aten::add", 9101, 1890)])


def test_no_module_and_no_name(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, [each for each in ROWS if "head" not in each["name"]])[RULE]
    assert finding.where == "between aten::add and aten::mul"
    assert finding.confidence == "medium"


@pytest.mark.parametrize(
    ("seen", "found"),
    [((0, 3, 6, 9), True), ((0, 2, 3, 9), False), ((3, 6), False)],
    ids=["every third", "at odd times", "twice"],
)
def test_what_recurs_after_some_steps_is_no_chance(
    tmp_path: Path, seen: tuple[int, ...], found: bool
) -> None:
    """Logging, for one: its time counts by the mean of the steps."""
    rows = []
    for number in range(11):
        start, more = 1000.0 + number * 9000, 4000 * (number in seen)
        rows.append(step(9000, number, start))
        rows.append(operator("aten::mm", start + 10, 4000))
        rows.append(operator("aten::add", start + 4020 + more, 9000 - 4040 - more))
    (finding,) = findings(tmp_path, rows)[RULE] or [None]
    assert (finding is not None) == found
    if finding:
        assert finding.gain_us_per_step == pytest.approx(1200, rel=0.02)
        assert finding.evidence.endswith("; every 3 steps")
        assert finding.confidence == "medium"


def test_what_is_in_every_step_does_not_come_every_second(tmp_path: Path) -> None:
    """However much longer it is in some."""
    rows = []
    for number in range(7):
        start, gap = 1000.0 + number * 9000, 3400 if number in (1, 3, 5) else 1600
        rows.append(step(9000, number, start))
        rows.append(operator("aten::mm", start + 10, 4000))
        rows.append(operator("aten::add", start + 4010 + gap, 9000 - 4020 - gap))
    (finding,) = findings(tmp_path, rows)[RULE]
    assert finding.evidence.endswith("3.40 ms at most")


def test_before_the_first_operator(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, [step(5000), operator("aten::mm", 3000, 2990)])[RULE]
    assert finding.where == "before the first operator of the step"
    assert "let DataLoader workers do so" in finding.fix


@pytest.mark.parametrize("workers", [True, False])
def test_an_iterator_of_the_loader_starts_workers(tmp_path: Path, workers: bool) -> None:
    """Right after the loader drew a seed, which it does without workers, too."""
    seed = [operator(f"aten::{name}", at, 90) for name, at in (("random_", 1001), ("item", 1101))]
    read = operator("aten::_local_scalar_dense", 1110, 50)
    iterator = "_MultiProcessingDataLoaderIter" if workers else "_SingleProcessDataLoaderIter"
    load = row("user_annotation", f"enumerate(DataLoader)#{iterator}.__next__", 4000, 900)
    rows = [step(5000), *seed, read, load, operator("aten::mm", 5000, 990)]
    (finding,) = findings(tmp_path, rows)[RULE]
    assert ("before the first batch of an iterator" in finding.where) == workers
    assert ("persistent_workers=True" in finding.fix) == workers


def test_a_trace_without_operators(tmp_path: Path) -> None:
    stepping = row("user_annotation", "Optimizer.step#SGD.step", 3000, 90)
    assert RULE not in findings(tmp_path, [step(5000), stepping])


def test_in_an_optimizer(tmp_path: Path) -> None:
    stepping = row("user_annotation", "Optimizer.step#AdamW.step", 2002, 4998)
    (finding,) = findings(tmp_path, [*ROWS[:2], stepping, *ROWS[3:]])[RULE]
    assert finding.where == "Optimizer.step#AdamW.step"
    assert finding.fix.startswith("Keep hooks and logging out of the optimizer's step.")


def test_in_a_closure_before_the_model_is_called(tmp_path: Path) -> None:
    stepping = row("user_annotation", "Optimizer.step#AdamW.step", 2002, 4998)
    rows = [*ROWS[:2], stepping, *ROWS[3:], call("head", 6800, 195, "Head")]
    (finding,) = findings(tmp_path, rows)[RULE]
    assert finding.where == "closure of Optimizer.step#AdamW.step"
    assert finding.fix.startswith("The optimizer calls it: with Lightning")


def test_in_an_optimizer_after_its_closure(tmp_path: Path) -> None:
    """Where the closure returns, no trace says."""
    stepping = row("user_annotation", "Optimizer.step#LBFGS.step", 1990, 5010)
    rows = [*ROWS[:2], stepping, call("head", 2000, 101, "Head"), *ROWS[3:]]
    (finding,) = findings(tmp_path, rows)[RULE]
    assert finding.where == "Optimizer.step#LBFGS.step, before or after its closure"
    assert finding.fix.startswith("It is a part of the closure that the optimizer calls, or of the")


@pytest.mark.parametrize("name", ["aten::sort", "enumerate(DataLoader)#It.__next__"])
def test_an_operator_or_a_loader(tmp_path: Path, name: str) -> None:
    kind = "cpu_op" if "::" in name else "user_annotation"
    assert RULE not in findings(tmp_path, [*ROWS, row(kind, name, 2101, 4790)])


def test_once_in_three_steps(tmp_path: Path) -> None:
    """Another process took the core."""
    rows = [step(10_000, number, 1000 + 10_000 * number) for number in range(4)]
    rows += [operator("aten::mm", 1001 + 10_000 * number, 9990) for number in (0, 2, 3)]
    rows += [operator("aten::mm", 11_001, 4000), operator("aten::mul", 16_000, 4990)]
    assert RULE not in findings(tmp_path, rows)


def test_a_device_that_was_not_recorded(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, ROWS, device={"parameters": ["cuda:0"]})


def test_what_ends_each_step_is_one_place_in_the_last_step_too(tmp_path: Path) -> None:
    rows = [step(10_000, number, 1000 + 10_000 * number) for number in range(3)]
    for begin in (1000, 11_000, 21_000):
        operators = (("aten::randn", 0, 2000), ("aten::mm", 2000, 3600), ("aten::add_", 5600, 400))
        rows += [operator(name, begin + start, length) for name, start, length in operators]
    (finding,) = (each for each in findings(tmp_path, rows)[RULE] if each.where.startswith("betw"))
    assert finding.where == "between aten::add_ and aten::randn"
    assert finding.cost_us_per_step == 4000


def test_what_ends_each_step_is_one_place_after_any_operator(tmp_path: Path) -> None:
    """As with gradient accumulation, where the optimizer ends every n-th step only."""
    rows = []
    for number, last in enumerate(("aten::add_", "aten::add_", "aten::detach", "aten::addcdiv_")):
        begin = 1000 + 10_000 * number
        rows += [step(10_000, number, begin), operator("aten::linear", begin, 5600)]
        rows += [operator(last, begin + 5600, 400)]
    (finding,) = findings(tmp_path, rows)[RULE]
    assert (finding.where, finding.confidence) == ("before aten::linear", "medium")
    assert (finding.count, finding.cost_us_per_step) == (3, 4000)
    assert finding.evidence.endswith("; after aten::add_, aten::detach or aten::addcdiv_")


@pytest.mark.parametrize("module", ["head", "", "other"])
def test_iterations_within_a_step_are_one_place_before_the_same_module(
    tmp_path: Path, module: str
) -> None:
    """Elsewhere the name of the next operator alone does not show that it begins an iteration."""
    rows = []
    for number in range(3):
        begin = 1000 + 10_000 * number
        rows += [step(10_000, number, begin), operator("aten::detach", begin + 1000, 1000)]
        rows += [operator("aten::add_", begin + 6000, 1000)]
        for start, path in ((begin, module and "head"), (begin + 5000, module)):
            rows += [call(path, start, 1000)] if path else []
            rows += [operator("aten::linear", start + 1, 998)]
    found = {
        each.where: round(each.cost_us_per_step or 0, -1) for each in findings(tmp_path, rows)[RULE]
    }
    apart = {
        "between aten::add_ and aten::linear": 3000,
        "between aten::detach and aten::linear": 3000,
    }
    assert found == ({"before aten::linear": 6000} if module == "head" else apart)


@pytest.mark.parametrize(
    ("after", "confidence"),
    [((2, 2, 2), "high"), ((2, 2, 5), "high"), ((1, 2, 5), "low"), ((2, 5, None), "low")],
    ids=["at one place", "at one in most", "at changing places", "in two of three steps"],
)
def test_slices_of_other_processes(
    tmp_path: Path, after: tuple[int | None, ...], confidence: str
) -> None:
    """The time after a number of the operators of an optimizer in each of three steps."""
    rows = []
    for number, place in enumerate((2, *after)):
        begin = 1000 + 10_000 * number
        rows.append(step(10_000, number, begin))
        rows.append(row("user_annotation", "Optimizer.step#SGD.step", begin, 9999))
        starts = [
            begin + 500 * each + 6000 * (place is not None and each >= place) for each in range(8)
        ]
        rows += [operator("aten::add_", start, 490) for start in starts]
        rows += [operator("aten::mm", begin + 4000, 5990)] if place is None else []
    (finding,) = findings(tmp_path, rows)[RULE]
    assert (finding.where, finding.confidence) == ("Optimizer.step#SGD.step", confidence)
    assert ("other processes may take the core" in finding.evidence) == (confidence == "low")
    assert ("seen in 2 of 3 steps only" in finding.evidence) == (None in after)


def test_a_chosen_step_is_compared_with_the_others(tmp_path: Path) -> None:
    rows = [step(10_000, number, 1000 + 10_000 * number) for number in range(4)]
    rows += [operator("aten::mm", 1001 + 10_000 * number, 9990) for number in (0, 2, 3)]
    rows += [operator("aten::mm", 11_001, 4000), operator("aten::mul", 16_000, 4990)]
    analysis = load(grid.write(tmp_path / "t.json", rows, **{MANIFEST_KEY: ON_HOST}))
    context = Context(select(analysis, ["1"]), RULES)
    (finding,) = (one.finding for one in cost_findings(context) if one.finding.rule == RULE)
    assert (finding.confidence, finding.count) == ("low", 1)
    assert "; seen in 1 of 3 steps only" in finding.evidence
