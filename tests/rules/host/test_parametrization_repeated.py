"""`parametrization-repeated`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.cpu import call, findings, node, operator, step

RULE = "parametrization-repeated"
WEIGHT = "cell.parametrizations.weight"


def computed(start: float, seq: int, trained: bool = True) -> list[dict[str, Any]]:
    """A call of 200 us, with a node of 100 us that its only operator made."""
    numbers = {"Sequence number": seq} if trained else {}
    return [
        call(WEIGHT, start, 200, "ParametrizationList"),
        operator("aten::_weight_norm", start + 10, 150, **numbers),
        *(node("WeightNormBackward0", 4900 - 150 * seq, 100, seq) if trained else []),
    ]


def test_all_calls_but_the_first_are_charged_with_their_backward(tmp_path: Path) -> None:
    rows = [each for i in range(4) for each in computed(1100 + 300 * i, 5 + i)]
    (finding,) = findings(tmp_path, [step(5000), *rows])[RULE]
    assert (finding.where, finding.count) == (WEIGHT, 3)
    assert finding.cost_us_per_step == finding.gain_us_per_step == 3 * (200 + 100)
    assert finding.evidence.startswith("1 parametrized tensor computed 4 times in 1 step, 3 of")


@pytest.mark.parametrize(
    "between",
    [
        node("AddBackward0", 1350, 20, 4),
        [operator("Optimizer.step#SGD.step", 1350, 20)],
        [operator("aten::add", 1350, 20)],
    ],
)
def test_what_is_between_two_calls(tmp_path: Path, between: list[dict[str, Any]]) -> None:
    """A backward, an update, or neither."""
    rows = [*computed(1100, 5), *between, *computed(1400, 6)]
    found = RULE in findings(tmp_path, [step(5000), *rows])
    assert found == (between[0]["name"] == "aten::add")


def test_a_call_without_gradients_has_no_value_for_one_with(tmp_path: Path) -> None:
    rows = [*computed(1100, 5, trained=False), *computed(1400, 6)]
    assert RULE not in findings(tmp_path, [step(5000), *rows])


def test_another_class(tmp_path: Path) -> None:
    rows = [each for i in range(4) for each in computed(1100 + 300 * i, 5 + i)]
    for each in rows:
        each["name"] = each["name"].replace("ParametrizationList", "Linear")
    assert RULE not in findings(tmp_path, [step(5000), *rows])
