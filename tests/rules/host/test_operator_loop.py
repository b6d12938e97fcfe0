"""`operator-loop`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.cpu import call, findings, node, operator, repeated, step
from rules.eager import row

RULE = "operator-loop"
LOOP = repeated("aten::mul", 40, 2000, 10)


def test_a_loop_in_a_module_with_its_backward(tmp_path: Path) -> None:
    loop = [{**each, "args": {"Sequence number": 5 + i}} for i, each in enumerate(LOOP)]
    back = [part for i in range(40) for part in node("MulBackward0", 4000 + 20 * i, 19, 44 - i)]
    rows = [step(4000), call("blocks.2", 1990, 500), *loop, *back]
    (finding,) = findings(tmp_path, rows)[RULE]
    assert finding.where == "blocks.2, a loop around aten::mul"
    assert finding.cost_us_per_step == 399 + 40 * 19
    assert finding.gain_us_per_step == pytest.approx(finding.cost_us_per_step * 39 / 40, abs=1)


def test_values_are_read_one_by_one(tmp_path: Path) -> None:
    reads = [operator("aten::item", 2004 + 10 * i, 4) for i in range(40)]
    selects = [operator("aten::select", 2000 + 10 * i, 3) for i in range(40)]
    (finding,) = findings(tmp_path, [step(4000), *selects, *reads])[RULE]
    assert finding.where == "a loop around aten::item"
    assert finding.fix.startswith("Read all values at once, with one tolist()")


def test_as_many_turns_as_values_are_read(tmp_path: Path) -> None:
    """Of two operators for each, for one."""
    reads = [operator("aten::item", 2007 + 10 * i, 2) for i in range(40)]
    selects = [operator("aten::select", 2000 + 5 * i, 2) for i in range(80)]
    (finding,) = findings(tmp_path, [step(4000), *selects, *reads])[RULE]
    assert finding.evidence.startswith("aten::item up to 40 times in a row")


def test_values_are_read_as_a_tensor_is_iterated_over(tmp_path: Path) -> None:
    """Which unbinds it: a list in place of tensors saves that, too."""
    unbind = [operator("aten::unbind", 1800, 199)]
    selects = [operator("aten::select", 1801 + 4 * i, 3) for i in range(40)]
    reads = [operator("aten::item", 2000 + 10 * i, 4) for i in range(40)]
    (finding,) = findings(tmp_path, [step(4000), *unbind, *selects, *reads])[RULE]
    assert finding.where == "a loop around aten::item"
    assert finding.cost_us_per_step == pytest.approx(200 + 394)


def test_large_operators_between_loops_are_in_none(tmp_path: Path) -> None:
    """Though their name repeats, too."""
    small = [each for i in range(4) for each in repeated("aten::mul", 40, 2000 + 4000 * i, 10)]
    large = [each for i in range(4) for each in repeated("aten::linear", 10, 2400 + 4000 * i, 300)]
    (finding,) = findings(tmp_path, [step(20_000), *small, *large])[RULE]
    assert finding.cost_us_per_step == pytest.approx(4 * 400, abs=10)


def test_a_module_is_called_again_and_again(tmp_path: Path) -> None:
    calls = [call("cell", 2000 + 10 * i, 9, "GRUCell") for i in range(40)]
    inside = repeated("aten::mm", 40, 2001, 10)
    net = call("", 1990, 500, "Net")
    (finding,) = findings(tmp_path, [step(4000), net, *calls, *inside])[RULE]
    assert finding.where == "(root), a loop around calls of cell"


def test_a_few_calls_in_each_of_several_steps(tmp_path: Path) -> None:
    """What follows in the next step is no iteration of the same loop."""
    rows = [step(1000, number, 1000 + 1000 * number) for number in range(4)]
    rows += [
        each for number in range(4) for each in repeated("aten::mul", 16, 1001 + 1000 * number, 60)
    ]
    assert RULE not in findings(tmp_path, rows)


@pytest.mark.parametrize("operators", [60, 10])
def test_long_turns_are_a_loop_where_they_are_operators(tmp_path: Path, operators: int) -> None:
    """As those of torch.func.grad are, for one sample after the other."""
    iterations = [
        operator(f"aten::part{part}", 1001 + 3000 * number + 50 * part, 49)
        for number in range(32)
        for part in range(operators)
    ]
    found = findings(tmp_path, [step(96_010), *iterations])
    assert (RULE in found) == (operators == 60)


@pytest.mark.parametrize("name", ["aten::set_", "aten::clone"], ids=["tensors", "parameters"])
def test_a_deep_copy_of_a_model(tmp_path: Path, name: str) -> None:
    rows = repeated(name, 40, 2001, 10)
    (finding,) = findings(tmp_path, [step(4000), *rows])[RULE]
    assert finding.fix.startswith("copy.deepcopy of a model")


@pytest.mark.parametrize("where", ["closure", "module"])
def test_a_deep_copy_of_a_small_model(tmp_path: Path, where: str) -> None:
    """As in a training step of Lightning, which the optimizer calls; a module has its reasons."""
    around = row("user_annotation", "Optimizer.step#Adam.step", 1900, 3000)
    rows = [around] if where == "closure" else [call("net", 1900, 3000)]
    rows += [operator("aten::clone", 2000 + 200 * i, 10) for i in range(12)]
    found = findings(
        tmp_path, [step(4000), *rows, call("fc", 4600, 100), operator("aten::mm", 4610, 80)]
    )
    assert [each.cost_us_per_step for each in found[RULE]] == [2210] * (where == "closure")


def test_updates_of_one_tensor_after_the_other_outside_of_modules(tmp_path: Path) -> None:
    """Of an average of weights, say; what takes long between the loops of two steps is none."""
    rows = [step(4000, number, 1000 + 4000 * number) for number in range(3)]
    for number in range(3):
        start = 2000 + 4000 * number
        rows += [operator("aten::mul_", start + 10 * i, 4) for i in range(40)]
        rows += [operator("aten::add_", start + 5 + 10 * i, 4) for i in range(40)]
        rows += [operator("aten::mm", start + 1000 + 300 * i, 280) for i in range(5)]
    (finding,) = findings(tmp_path, rows)[RULE]
    assert finding.where == "a loop around aten::mul_"
    assert finding.fix.startswith("Update all tensors in one call: torch._foreach_mul_")
    assert "backward" not in finding.evidence


def test_elements_of_one_tensor_are_set_one_after_the_other(tmp_path: Path) -> None:
    """As discounted returns are: there is no list of tensors to update."""
    rows = [operator("aten::select", 2000 + 10 * i, 4) for i in range(40)]
    rows += [operator("aten::copy_", 2005 + 10 * i, 4) for i in range(40)]
    (finding,) = findings(tmp_path, [step(4000), *rows])[RULE]
    assert finding.fix.startswith("Work on the whole tensor at once")


def test_the_backward_of_a_function_written_in_python(tmp_path: Path) -> None:
    forward = operator("aten::mul", 1100, 10, **{"Sequence number": 5})
    inside = repeated("aten::select", 40, 2005, 10)
    for name, found in (("RowScaleBackward", True), ("MulBackward0", False)):
        rows = [step(4000), call("scale", 1090, 30), forward, *node(name, 2000, 420, 5), *inside]
        assert (RULE in findings(tmp_path, rows)) is found


@pytest.mark.parametrize(
    "rows",
    [
        repeated("aten::mul", 31, 2000, 10),
        repeated("aten::mul", 40, 2000, 150),
        repeated("aten::_foreach_add_", 40, 2000, 4),
    ],
    ids=["few iterations", "long iterations", "a small share of the step"],
)
def test_what_is_none(tmp_path: Path, rows: list[dict[str, object]]) -> None:
    assert RULE not in findings(tmp_path, [step(8000), *rows])


def test_the_optimizer(tmp_path: Path) -> None:
    update = operator("Optimizer.step#SGD.step", 1990, 500)
    assert RULE not in findings(tmp_path, [step(4000), {**update, "cat": "user_annotation"}, *LOOP])


def test_a_device_that_was_not_recorded(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, [step(4000), *LOOP], device={"parameters": ["cuda:0"]})
