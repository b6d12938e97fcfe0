"""`ensemble-loop`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.cpu import call, findings, node, operator, step

RULE = "ensemble-loop"
MEMBERS = 4


def member(
    number: int, *, products: int = 1, second: str = "aten::relu", between: str = ""
) -> list[dict[str, Any]]:
    """A linear layer and an operator, 100 us; a node of 60 us with some products."""
    begin, back = 1100 + 200 * number, 3000 - 100 * number
    numbers = {"Sequence number": 5 + number}
    return [
        call(f"members.{number}", begin, 100, "Member"),
        operator("aten::linear", begin + 10, 40),
        operator("aten::addmm", begin + 20, 20, **numbers),
        operator(second, begin + 60, 20),
        *([operator(between, begin + 120, 10)] if between else []),
        *node("AddmmBackward0", back, 60, 5 + number),
        *[operator("aten::mm", back + 10 + 20 * each, 15) for each in range(products)],
    ]


def ensemble(folder: Path, members: int = MEMBERS, **options: Any) -> list[Any]:
    rows = [each for number in range(members) for each in member(number, **options)]
    listed = [
        {"path": f"members.{number}", "class": "Member", "parameters": 9}
        for number in range(members)
    ]
    return findings(folder, [step(4000), *rows], modules=listed)[RULE]


def test_members_that_all_get_data(tmp_path: Path) -> None:
    (finding,) = ensemble(tmp_path)
    assert finding.where == "members.0 to members.3"
    assert finding.cost_us_per_step == MEMBERS * (100 + 60)
    assert finding.gain_us_per_step == pytest.approx(MEMBERS * (100 + 60) * 3 / 4)
    assert finding.evidence.startswith("4 modules of class Member run one after another")


def test_losses_between_them(tmp_path: Path) -> None:
    assert ensemble(tmp_path, between="aten::mse_loss")


@pytest.mark.parametrize(
    "options",
    [
        {"products": 2},
        {"second": "aten::add"},
        {"between": "aten::index_select"},
        {"between": "aten::detach"},
        {"members": 3},
    ],
    ids=["layers in a row", "two inputs", "rows of its own", "detached layers", "few"],
)
def test_what_is_none(tmp_path: Path, options: dict[str, Any]) -> None:
    assert not ensemble(tmp_path, **options)
