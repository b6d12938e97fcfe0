"""`dense-embedding-gradient`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.cpu import call, findings, node, operator, step

RULE = "dense-embedding-gradient"


def rows(fill: float) -> list[dict[str, Any]]:
    return [
        step(4000),
        call("embed", 1001, 30, "Embedding"),
        operator("aten::embedding", 1003, 20, **{"Sequence number": 7}),
        *node("EmbeddingBackward0", 2000, 820, 7),
        operator("aten::embedding_dense_backward", 2010, 800),
        operator("aten::zero_", 2011, fill),
    ]


def test_it_is_mostly_zeros(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, rows(400))[RULE]
    assert finding.module == "embed"
    assert finding.cost_us_per_step == finding.gain_us_per_step == 800
    assert "50% of it to fill zeros" in finding.evidence


def test_most_rows_are_used(tmp_path: Path) -> None:
    assert RULE not in findings(tmp_path, rows(50))


@pytest.mark.parametrize("parameters", [["cuda:0"], []])
def test_a_device_that_was_not_recorded(tmp_path: Path, parameters: list[str]) -> None:
    assert RULE not in findings(tmp_path, rows(400), device={"parameters": parameters})
