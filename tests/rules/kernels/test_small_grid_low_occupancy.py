"""`small-grid-low-occupancy`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.eager import ADD, findings, operators

RULE = "small-grid-low-occupancy"


def kernels(name: str = ADD, count: int = 12, length: float = 4, **told: float) -> list[Any]:
    """Kernels with known blocks and occupancy."""
    rows = operators([("aten::add", name)] * count, kernel=length, period=50)
    for each in rows:
        if each["cat"] == "kernel":
            each["args"] |= {key.replace("_", " "): value for key, value in told.items()}
    return rows


def test_fewer_blocks_than_multiprocessors(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, kernels(blocks_per_SM=0.25))[RULE]
    assert finding.cost_us_per_step == pytest.approx(12 * 4 * 0.75)
    assert finding.gain_bound_us_per_step == pytest.approx(12 * 4 * 0.75 / 2)


def test_a_low_occupancy_is_reported_without_a_cost(tmp_path: Path) -> None:
    rows = kernels(length=30)
    for each in rows:
        if each["cat"] == "kernel":
            each["args"] |= {"blocks per SM": 4, "est. achieved occupancy %": 12}
    (finding,) = findings(tmp_path, rows)[RULE]
    assert (finding.severity, finding.cost_us_per_step) == ("info", 0)


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(kernels(blocks_per_SM=1), id="one block for each"),
        pytest.param(kernels(), id="not told"),
        pytest.param(kernels("ampere_sgemm_64x64", blocks_per_SM=0.1), id="products"),
        pytest.param(kernels(blocks_per_SM=0.1, count=10), id="a snippet"),
        pytest.param(
            [*kernels(blocks_per_SM=0.1), *operators([("aten::mul", ADD)], start=9000, kernel=900)],
            id="a small part",
        ),
    ],
)
def test_what_is_none(tmp_path: Path, rows: list[Any]) -> None:
    assert RULE not in findings(tmp_path, rows)
