"""Nothing changes in the models that people train, and every node goes to its module."""

from __future__ import annotations

import pytest
from support.attribution import assert_attributed
from support.harmless import assert_harmless
from support.library_cases import CHECKPOINTING, GOOGLENET, LANGUAGE, LANGUAGE_MODELS, VISION


@pytest.mark.slow
@pytest.mark.parametrize("case", VISION)
def test_vision(case):
    make, run, _ = VISION[case]
    model = make()
    trace = assert_harmless(model, run)
    if case == GOOGLENET:
        assert trace.paths("forward")["aux1"] == trace.paths("forward")["aux2"] == 1
    for bare in (False, True):
        verdict = assert_attributed(model, run, bare=bare)
        assert verdict.nodes > 50
        assert len(verdict.wanted) > 20


@pytest.mark.parametrize("checkpointing", CHECKPOINTING)
@pytest.mark.parametrize("family", LANGUAGE_MODELS)
def test_language(family, checkpointing):
    make, run, _ = LANGUAGE[f"transformers {family}{checkpointing}"]
    model = make()
    trace = assert_harmless(model, run)
    transformers = pytest.importorskip("transformers")
    layer = transformers.modeling_layers.GradientCheckpointingLayer
    layers = tuple(f"{path}." for path, m in model.named_modules() if isinstance(m, layer))
    calls = {n for path, n in trace.paths("forward").items() if path.startswith(layers)}
    assert max(calls) == (2 if checkpointing else 1)
    head = model.get_output_embeddings()
    (path,) = (path for path, module in model.named_modules() if module is head)
    owned = [m for m, _ in trace.marks("gradient") if (m.path, m.parameter) == (path, "weight")]
    tied = head.weight is model.get_input_embeddings().weight
    assert tied == (family != "Llama")
    assert len(owned) == (0 if tied else 1)
    for bare in (False, True):
        assert assert_attributed(model, run, bare=bare).nodes > 50
