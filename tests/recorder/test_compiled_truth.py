"""Modules in compiled regions against a truth by shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.compiling import run

from tb_hookview.recorder.compiled import installation

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not installation.is_supported(), reason="modules in compiled regions need torch 2.10"
    ),
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


EVENTS = {
    "mlp": [2, 3],
    "swapped": [2, 3],
    "nested": [2, 3],
    "tied": [6, 11],
    "conv": [4, 5],
    "transformer": [18, 35],
    "checkpoints": [10, 28],
    "autocast": [2, 3],
}
"""Events of products and convolutions in a step, forward and backward; torch 2.13."""


def assert_right(answer: dict[str, Any]) -> None:
    for name, found in answer["found"].items():
        assert found["wrong"] == [], name
        assert found["missing"] == [], name
        assert found["near"] == 0, name
        assert min(found["right"]) >= 2, name


def test_every_product_and_convolution_has_its_module_cold_and_warm(cache):
    names = list(EVENTS)
    cold = run(cache, "truth", "with", *names)
    assert cold["miss"] > 0
    assert_right(cold)
    warm = run(cache, "truth", "with", *reversed(names))
    assert (warm["hit"] > 0, warm["miss"]) == (True, 0)
    assert_right(warm)
    assert warm["found"] == {name: cold["found"][name] for name in names}


def test_another_process_has_a_model_of_the_same_graph(cache):
    """It is served what the first model left, and must have its own modules or none."""
    run(cache, "truth", "with", "mlp")
    other = run(cache, "truth", "with", "swapped", "nested")
    assert other["hit"] > 0
    for found in other["found"].values():
        assert found["wrong"] == []
        assert found["missing"] or min(found["right"]) >= 2
