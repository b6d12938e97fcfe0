"""Models that people train: real libraries, small sizes, random weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from support import torchvision_ops
from support.harmless import classify, sum_backward
from support.module_cases import Case
from torch import nn

# Names as the libraries have them; the sizes keep a whole comparison within a second or two.
TIMM: dict[str, tuple[str, dict[str, Any]]] = {
    "VisionTransformer with patch dropout and drop path": ("vit_tiny_patch16_224", {
        "img_size": 64, "embed_dim": 48, "depth": 3, "num_heads": 4, "patch_drop_rate": 0.5,
        "drop_path_rate": 0.1,
    }),
    "Swin with drop path": ("swin_tiny_patch4_window7_224", {
        "img_size": 64, "window_size": 4, "embed_dim": 24, "depths": (1, 2), "num_heads": (2, 4),
        "drop_path_rate": 0.2,
    }),
    "ConvNeXt with drop path": ("convnext_atto", {
        "depths": (1, 1, 1, 1), "dims": (8, 16, 24, 32), "drop_path_rate": 0.2,
    }),
    "EfficientNet (TinyNet) with drop path": ("tinynet_e", {"drop_path_rate": 0.2}),
}  # fmt: skip
TORCHVISION = {
    "resnet18 (in-place ReLU, `+=`)": "resnet18",
    "densenet121": "densenet121",
    "mobilenet_v3_small": "mobilenet_v3_small",
}
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
CHECKPOINTING = {
    "": None,
    ", reentrant checkpoints": {"use_reentrant": True},
    ", checkpoints": {"use_reentrant": False},
}
GOOGLENET = "torchvision googlenet with auxiliary outputs"


def timm_model(name: str, sizes: dict[str, Any]) -> nn.Module:
    torchvision_ops.declare()
    timm = pytest.importorskip("timm", reason="timm is not installed")
    return timm.create_model(name, num_classes=10, **sizes)


def torchvision_models() -> Any:
    torchvision_ops.declare()
    return pytest.importorskip("torchvision", reason="torchvision is not installed").models


def torchvision_model(name: str) -> nn.Module:
    return torchvision_models().get_model(name, num_classes=10)


def googlenet() -> nn.Module:
    return torchvision_models().googlenet(num_classes=10, aux_logits=True, init_weights=False)


def segmentation() -> nn.Module:
    return torchvision_models().segmentation.lraspp_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=3
    )


def language_model(family: str, checkpointing: dict[str, bool] | None) -> nn.Module:
    torchvision_ops.declare()
    absent = "transformers is not installed; it needs Python 3.11 or newer"
    transformers = pytest.importorskip("transformers", reason=absent)
    configure = getattr(transformers, f"{family}Config")
    config = configure(vocab_size=50, use_cache=False, **SIZES[family])
    model = getattr(transformers, LANGUAGE_MODELS[family])(config).train()
    if checkpointing:
        # transformers 5.17 has it by the older name alone.
        old = getattr(model, "gradient_checkpointing_enable", None)
        (getattr(model, "activation_checkpointing_enable", None) or old)(checkpointing)
    return model


def predict_tokens(model: nn.Module) -> object:
    tokens = torch.randint(50, (2, 7))
    output = model(input_ids=tokens, labels=tokens)
    output.loss.backward()
    return output


def _case(make: Callable[..., nn.Module], *arguments: Any) -> Case:
    return Case(partial(make, *arguments), classify(64))


VISION: dict[str, Case] = {
    **{f"timm {label}": _case(timm_model, *which) for label, which in TIMM.items()},
    **{
        f"torchvision {label}": _case(torchvision_model, name)
        for label, name in TORCHVISION.items()
    },
    GOOGLENET: Case(googlenet, sum_backward(2, 3, 64, 64)),
    "torchvision segmentation (lraspp)": Case(segmentation, sum_backward(2, 3, 64, 64)),
}
LANGUAGE: dict[str, Case] = {
    f"transformers {family}{label}": Case(
        partial(language_model, family, checkpointing), predict_tokens
    )
    for family in LANGUAGE_MODELS
    for label, checkpointing in CHECKPOINTING.items()
}
CASES = {**VISION, **LANGUAGE}
