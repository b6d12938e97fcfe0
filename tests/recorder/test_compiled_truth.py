"""Modules in compiled regions against a truth by shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from support.compiled_models import MODELS, served, true_modules
from support.compiling import OTHERS, recording
from support.recording import Trace

from tb_hookview.recorder.compiled import installation

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not installation.is_supported(), reason="modules in compiled regions need torch 2.10"
    ),
]


EVENTS = {
    "mlp": [2, 3],
    "swapped": [2, 3],
    "nested": [2, 3],
    "tied": [6, 11],
    "conv": [4, 5],
    "transformer": [18, 35],
    "checkpoints": [10, 27],
    "autocast": [2, 3],
}
"""Events of products and convolutions in a step, forward and backward; torch 2.13."""


def truth(name: str, trace: Trace) -> dict[str, Any]:
    """Compare the events of a recorded step with the modules that their operands name."""
    known, model = MODELS[name], MODELS[name].make()
    found: dict[str, Any] = {"right": [0, 0], "wrong": [], "near": 0}
    for each in served(trace):
        true = true_modules(model, known, each.event)
        if len(each.modules) == 1 and each.modules[0] in true:
            found["right"][each.backward] += 1
            found["near"] += sum(each.how)
        else:
            found["wrong"].append([each.event.name, each.modules, sorted(true)])
    return found


@pytest.mark.parametrize("name", EVENTS)
def test_every_product_and_convolution_has_its_module_cold_and_warm(
    session_folder: Path, name: str
) -> None:
    cold = recording(session_folder, "second" if name in OTHERS else "first", name)
    warm = recording(session_folder, "third", name)
    assert cold.miss > 0 or name in SAME_GRAPH
    assert (warm.hit > 0, warm.miss) == (True, 0)
    for each in (cold, warm):
        trace = Trace(each.path)
        assert trace.compiled["missing"] == []
        found = truth(name, trace)
        assert (found["wrong"], found["near"]) == ([], 0)
        assert min(found["right"]) >= 2
        if torch.__version__.startswith("2.13."):
            assert found["right"] == EVENTS[name]


SAME_GRAPH = ("swapped", "nested")


@pytest.mark.parametrize("name", SAME_GRAPH)
def test_another_process_has_a_model_of_the_same_graph(session_folder: Path, name: str) -> None:
    """It is served what the first model left; above: it has its own modules."""
    assert recording(session_folder, "second", name).hit > 0
