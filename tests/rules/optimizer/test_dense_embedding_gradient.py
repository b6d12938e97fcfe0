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


def made_dense(update: str, dims: list[Any]) -> list[dict[str, Any]]:
    shaped = [operator("aten::to_dense", 3000, 400), operator(update, 3600, 500)]
    for row, given in zip(shaped, ([[100, 8]], dims), strict=True):
        row["args"] |= {"Input Dims": given, "Input type": ["float"] * len(given)}
    return [
        *rows(0)[:3],
        *node("EmbeddingBackward0", 2000, 120, 7),
        operator("aten::embedding_sparse_backward", 2010, 100),
        shaped[0],
        operator("Optimizer.step#SGD.step", 3500, 700),
        shaped[1],
    ]


@pytest.mark.parametrize(
    ("update", "dims", "updated"),
    [
        ("aten::add_", [[100, 8], [100, 8]], 500),
        ("aten::add_", [[8, 8], [8, 8]], 0),
        ("aten::_fused_sgd_", [[[100, 8], [100, 2]], [[100, 8], [100, 2]]], 400),
    ],
    ids=["its update", "another's", "one of all"],
)
def test_a_sparse_gradient_that_is_made_dense(
    tmp_path: Path, update: str, dims: list[Any], updated: float
) -> None:
    (finding,) = findings(tmp_path, made_dense(update, dims))[RULE]
    assert finding.module == "embed"
    assert finding.gain_us_per_step == pytest.approx(400 + updated)
    assert "SparseAdam" in finding.fix


def test_without_shapes_the_update_is_not_in_the_figures(tmp_path: Path) -> None:
    some = made_dense("aten::add_", [[100, 8]])
    for row in some:
        row["args"].pop("Input Dims", None)
    (finding,) = findings(tmp_path, some)[RULE]
    assert finding.gain_us_per_step == 400
    assert "update" not in finding.evidence
    assert "not in the figures" in finding.caveats[0]


def test_what_was_dense_before_is_not_made_dense(tmp_path: Path) -> None:
    some = [row for row in made_dense("aten::add_", [[100, 8]]) if "sparse" not in row["name"]]
    assert RULE not in findings(tmp_path, some)


@pytest.mark.parametrize(("parameters", "thread"), [(["cuda:0"], "main"), ([], "autograd")])
def test_a_device_that_was_not_recorded(tmp_path: Path, parameters: list[str], thread: str) -> None:
    """Its backward has a thread of its own, which shows it where no parameter does."""
    forward, backward = rows(400)[:3], rows(400)[3:]
    moved = [{**row, "tid": thread} for row in backward]
    found = findings(tmp_path, [*forward, *moved], device={"parameters": parameters})
    assert RULE not in found
