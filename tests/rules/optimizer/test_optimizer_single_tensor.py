"""`optimizer-single-tensor`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.cpu import call, node, operator, repeated, step
from rules.cpu import findings as on_cpu
from rules.eager import ADD, findings, operators, row

RULE = "optimizer-single-tensor"
STEP = row("user_annotation", "Optimizer.step#SGD.step", 990, 900)
UPDATES = [("aten::mul_", ADD), ("aten::add_", ADD)] * 12


def test_one_parameter_after_the_other(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, operators(UPDATES), [STEP])[RULE]
    assert finding.count == 24
    assert finding.cost_us_per_step == pytest.approx(7 + 23 * 16)


def test_a_kernel_that_is_loaded_is_no_time_of_every_step(tmp_path: Path) -> None:
    """The first launch takes 5 ms."""
    rows = operators(UPDATES)
    first, call, *others = rows
    for each in others:
        each["ts"] += 5000
    first["dur"] += 5000
    call["dur"] += 5000
    annotation = STEP | {"dur": STEP["dur"] + 5000}
    (finding,) = findings(tmp_path, rows, [annotation])[RULE]
    assert "the host spends 897 us in Optimizer.step" in finding.evidence


def test_the_profilers_own_time_is_not_the_hosts(tmp_path: Path) -> None:
    request = row("overhead", "Activity Buffer Request", 1800, 80, thread="-1")
    (finding,) = findings(tmp_path, operators(UPDATES), [STEP, request])[RULE]
    assert "the host spends 820 us in Optimizer.step" in finding.evidence


def test_a_device_that_is_busy_meanwhile(tmp_path: Path) -> None:
    backward = operators([("aten::mm", "gemm")], start=900, kernel=900, stream=9)
    (finding,) = findings(tmp_path, backward, operators(UPDATES), [STEP])[RULE]
    assert finding.severity == "info"


def test_some_operators_take_lists(tmp_path: Path) -> None:
    some = operators([*UPDATES, ("aten::_foreach_add_", "multi_tensor_apply_kernel")])
    assert RULE not in findings(tmp_path, some, [STEP])


def test_few_parameters(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, operators(UPDATES[:18]), [STEP])


def test_operators_outside_of_the_step(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, operators(UPDATES, start=2000), [STEP])


def test_an_optimizer_of_one_vector(tmp_path: Path) -> None:
    lbfgs = row("user_annotation", "Optimizer.step#LBFGS.step", 990, 900)
    assert RULE not in findings(tmp_path, operators(UPDATES), [lbfgs])


def on_host(names: list[str], count: int = 24, optimizer: str = "AdamW") -> list[dict[str, Any]]:
    parts = [
        part for i, name in enumerate(names) for part in repeated(name, count, 2000 + 500 * i, 9)
    ]
    annotation = row("user_annotation", f"Optimizer.step#{optimizer}.step", 1990, 1500)
    return [step(2490), operator("aten::mm", 1001, 900), annotation, *parts]


def test_a_cpu_runs_several_operators_for_each_parameter(tmp_path: Path) -> None:
    found = on_cpu(tmp_path, on_host(["aten::mul_", "aten::lerp_", "aten::addcdiv_"]))
    (finding,) = found[RULE]
    assert finding.cost_us_per_step == 3 * 24 * 8
    assert finding.gain_us_per_step == pytest.approx(24 * 8)
    assert finding.fix.startswith("Pass fused=True")
    assert finding.evidence.endswith("Optimizer.step takes 1.50 ms per step, 60% of it")


def test_the_closure_that_an_optimizer_calls_is_no_time_of_it(tmp_path: Path) -> None:
    closure = call("fc", 1991, 8, "Linear")
    rows = [*on_host(["aten::mul_", "aten::lerp_"]), closure, operator("aten::mm", 1992, 6)]
    (finding,) = on_cpu(tmp_path, rows)[RULE]
    assert finding.evidence.endswith("Optimizer.step takes 1.49 ms per step, 60% of it")


@pytest.mark.parametrize(
    ("names", "count"), [(["aten::mul_"], 10), (["aten::mul_", "aten::_fused_adamw_"], 24)]
)
def test_a_cpu_with_few_or_fused_updates(tmp_path: Path, names: list[str], count: int) -> None:
    assert RULE not in on_cpu(tmp_path, on_host(names, count))


def test_a_cpu_with_an_optimizer_of_one_vector(tmp_path: Path) -> None:
    assert RULE not in on_cpu(tmp_path, on_host(["aten::mul_", "aten::add_"], optimizer="LBFGS"))


def test_the_steps_of_an_optimizer_with_a_fused_form_count_alone(tmp_path: Path) -> None:
    other = row("user_annotation", "Optimizer.step#RMSprop.step", 1590, 300)
    rows = [*on_host(["aten::mul_", "aten::lerp_"]), other, *repeated("aten::div_", 24, 1600, 9)]
    (finding,) = on_cpu(tmp_path, rows)[RULE]
    assert finding.count == 48


def test_an_optimizer_around_one_with_a_fused_form(tmp_path: Path) -> None:
    around = row("user_annotation", "Optimizer.step#ZeroRedundancyOptimizer.step", 980, 950)
    (finding,) = findings(tmp_path, operators(UPDATES), [around, STEP])[RULE]
    assert "fused=True, or" in finding.fix


@pytest.mark.parametrize("optimizer", ["RMSprop", "NAdam", "Mine"])
def test_a_cpu_with_an_optimizer_that_has_no_fused_form(tmp_path: Path, optimizer: str) -> None:
    rows = on_host(["aten::mul_", "aten::add_"], optimizer=optimizer)
    assert RULE not in on_cpu(tmp_path, rows)


def test_a_device_with_an_optimizer_that_has_no_fused_form(tmp_path: Path) -> None:
    named = row("user_annotation", "Optimizer.step#RMSprop.step", 990, 900)
    (fused,) = findings(tmp_path, operators(UPDATES), [STEP])[RULE]
    (lists,) = findings(tmp_path, operators(UPDATES), [named])[RULE]
    assert "fused=True" in fused.fix
    assert lists.fix.startswith("Pass foreach=True")


def test_optimizers_that_step_in_hooks_of_gradients(tmp_path: Path) -> None:
    """12 of one parameter each, in the nodes that end with its gradient."""
    rows = [step(2490), operator("aten::mm", 1001, 900)]
    for i in range(12):
        at = 1950 + 100 * i
        rows += node("torch::autograd::AccumulateGrad", at, 90, i)
        rows += [row("user_annotation", "Optimizer.step#AdamW.step", at + 10, 60)]
        rows += repeated("aten::mul_", 1, at + 20, 20) + repeated("aten::add_", 1, at + 40, 20)
    found = on_cpu(tmp_path, rows)
    (finding,) = found[RULE]
    assert finding.count == 24
    assert finding.cost_us_per_step == 24 * 19
    assert finding.evidence.endswith("Optimizer.step takes 720 us per step, 29% of it")


def test_copies_and_collectives_are_no_updates(tmp_path: Path) -> None:
    """They neither count nor cost: the idle time before them stays."""
    copies = [("aten::copy_", "Memcpy DtoD (Device -> Device)")] * 12
    gathers = [("c10d::_allgather_base_", "ncclDevKernel_AllGather_RING_LL(x)")] * 4
    others = operators([*copies, *gathers], start=1600, period=16)
    (finding,) = findings(tmp_path, operators(UPDATES), others, [STEP])[RULE]
    assert finding.count == 24
    assert finding.cost_us_per_step == pytest.approx(7 + 23 * 16)
    assert finding.evidence.startswith("24 kernels")


@pytest.mark.parametrize(("start", "found"), [(1000, False), (1600, True)])
def test_kernels_of_compiled_code_are_no_updates(tmp_path: Path, start: int, found: bool) -> None:
    """Compiled code that calls half of the 24 updates, and that is next to them."""
    compiled = row("cpu_op", "Torch-Compiled Region: 0/0", start - 5, 280)
    more = operators([("aten::mm", "gemm")] * 12, start=1600)
    assert (RULE in findings(tmp_path, operators(UPDATES), more, [STEP, compiled])) is found


@pytest.mark.parametrize(("count", "found"), [(20, True), (30, False)])
def test_a_step_that_is_mostly_compiled(tmp_path: Path, count: int, found: bool) -> None:
    region = row("cpu_op", "Torch-Compiled Region: 0/0", 1490, 390)
    fused = operators([("triton_poi_fused_add_0",) * 2] * count, start=1500, period=12)
    assert (RULE in findings(tmp_path, operators(UPDATES), fused, [STEP, region])) is found
