"""Nothing changes in the models that people train: real libraries, small sizes, random weights."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from support import torchvision_ops
from support.attribution import assert_attributed
from support.harmless import assert_harmless, classify, sum_backward
from torch import nn

torchvision_ops.declare()
timm = pytest.importorskip("timm", reason="timm is not installed")
torchvision = pytest.importorskip("torchvision", reason="torchvision is not installed")

# Names as the libraries have them; the sizes keep a whole comparison within a second or two.
TIMM: dict[str, dict[str, Any]] = {
    "swin_tiny_patch4_window7_224": {
        "img_size": 64, "window_size": 4, "embed_dim": 24, "depths": (1, 2), "num_heads": (2, 4),
        "drop_path_rate": 0.2,
    },
    "convnext_atto": {"depths": (1, 1, 1, 1), "dims": (8, 16, 24, 32), "drop_path_rate": 0.2},
    "tinynet_e": {"drop_path_rate": 0.2},
}  # fmt: skip
TORCHVISION = ["densenet121", "mobilenet_v3_small"]
SIZES: dict[str, dict[str, Any]] = {
    "Bert": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
             "intermediate_size": 64},
    "GPT2": {"n_embd": 32, "n_layer": 2, "n_head": 2},
    "T5": {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2,
           "decoder_start_token_id": 0},
    "Llama": {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
              "num_key_value_heads": 1, "intermediate_size": 64},
}  # fmt: skip
LANGUAGE_MODELS = {
    "Bert": "BertForMaskedLM",
    "GPT2": "GPT2LMHeadModel",
    "T5": "T5ForConditionalGeneration",
    "Llama": "LlamaForCausalLM",
}


@pytest.mark.parametrize("name", TIMM)
def test_timm(name):
    model = timm.create_model(name, num_classes=10, **TIMM[name])
    assert_harmless(model, classify(64))
    assert assert_attributed(model, classify(64)) > 50


@pytest.mark.parametrize("name", TORCHVISION)
def test_torchvision(name):
    model = torchvision.models.get_model(name, num_classes=10)
    assert_harmless(model, classify(64))
    assert assert_attributed(model, classify(64)) > 50


def test_torchvision_googlenet_with_its_auxiliary_outputs():
    model = torchvision.models.googlenet(num_classes=10, aux_logits=True, init_weights=False)
    trace = assert_harmless(model, sum_backward(2, 3, 64, 64))
    assert trace.paths("forward")["aux1"] == trace.paths("forward")["aux2"] == 1
    assert assert_attributed(model, sum_backward(2, 3, 64, 64)) > 50


def test_torchvision_segmentation():
    model = torchvision.models.segmentation.lraspp_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=3
    )
    assert_harmless(model, sum_backward(2, 3, 64, 64))
    assert assert_attributed(model, sum_backward(2, 3, 64, 64)) > 50


@pytest.mark.parametrize("checkpointing", [None, "reentrant", "non-reentrant"])
@pytest.mark.parametrize("family", LANGUAGE_MODELS)
def test_transformers(family, checkpointing):
    transformers = pytest.importorskip("transformers", reason="it needs Python 3.11 or newer")
    config = getattr(transformers, f"{family}Config")(
        vocab_size=50, use_cache=False, **SIZES[family]
    )
    model = getattr(transformers, LANGUAGE_MODELS[family])(config).train()
    if checkpointing:
        model.activation_checkpointing_enable({"use_reentrant": checkpointing == "reentrant"})
    trace = assert_harmless(model, predict_tokens)
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
    assert assert_attributed(model, predict_tokens) > 50


def predict_tokens(model: nn.Module) -> object:
    tokens = torch.randint(50, (2, 7))
    output = model(input_ids=tokens, labels=tokens)
    output.loss.backward()
    return output
