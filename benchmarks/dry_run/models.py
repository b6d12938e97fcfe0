"""Models of public libraries, with random weights and small inputs, and how each is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from sample_traces.libraries import load

from . import detection

Loss = Callable[[nn.Module, int], torch.Tensor]
CLASSES, BATCH, VOCABULARY, LENGTH = 10, 2, 128, 16


class Trained(NamedTuple):
    """A model, and the loss of one step on a device."""

    library: str
    name: str
    make: Callable[[], nn.Module]
    loss: Loss


def _images(size: int) -> torch.Tensor:
    # Pinned and not blocking, as a loader brings them: what syncs is then the model's.
    return torch.randn(BATCH, 3, size, size).pin_memory().to("cuda", non_blocking=True)


def _device(values: torch.Tensor) -> torch.Tensor:
    return values.pin_memory().to("cuda", non_blocking=True)


def _classes(most: int = CLASSES) -> torch.Tensor:
    return _device(torch.randint(most, (BATCH,)))


def _classify(size: int, model: nn.Module, _step: int) -> torch.Tensor:
    out = model(_images(size))
    out = getattr(out, "logits", out)
    return F.cross_entropy(out[0] if isinstance(out, (list, tuple)) else out, _classes())


_CLASSIFIERS = {
    **dict.fromkeys(("alexnet", "vgg11_bn", "resnet18", "resnet50", "resnext50_32x4d"), 64),
    **dict.fromkeys(("wide_resnet50_2", "densenet121", "squeezenet1_1", "mobilenet_v2"), 64),
    **dict.fromkeys(("mobilenet_v3_small", "mobilenet_v3_large", "mnasnet0_5"), 64),
    **dict.fromkeys(("shufflenet_v2_x0_5", "efficientnet_b0", "efficientnet_v2_s"), 64),
    **dict.fromkeys(("regnet_y_400mf", "regnet_x_400mf", "convnext_tiny", "swin_t"), 64),
    **dict.fromkeys(("swin_v2_t", "googlenet"), 64),
    "inception_v3": 299,
    "vit_b_16": 224,
    "maxvit_t": 224,
}


def _torchvision() -> Iterator[Trained]:
    for name, size in _CLASSIFIERS.items():
        yield Trained("torchvision", name, partial(_classifier, name), partial(_classify, size))
    for name in ("fcn_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"):
        yield Trained("torchvision", name, partial(_segmenter, name), _segment)
    for name in (
        *("fasterrcnn_mobilenet_v3_large_320_fpn", "maskrcnn_resnet50_fpn"),
        *("retinanet_resnet50_fpn", "fcos_resnet50_fpn", "ssdlite320_mobilenet_v3_large"),
        "keypointrcnn_resnet50_fpn",
    ):
        yield Trained("torchvision", name, partial(_detector, name), _detect)
    for name in ("r3d_18", "mc3_18"):
        yield Trained("torchvision", name, partial(_video, name), _watch)
    yield Trained("torchvision", "raft_small", _raft, _flow)


def _classifier(name: str) -> nn.Module:
    more = {"init_weights": False} if name in {"googlenet", "inception_v3"} else {}
    return _vision().get_model(name, num_classes=CLASSES, **more)  # type: ignore[no-any-return]


def _vision() -> Any:
    return load("torchvision.models")


def _segmenter(name: str) -> nn.Module:
    make = getattr(_vision().segmentation, name)
    return make(weights=None, weights_backbone=None, num_classes=CLASSES)  # type: ignore[no-any-return]


def _segment(model: nn.Module, _step: int) -> torch.Tensor:
    out = model(_images(64))["out"]
    return F.cross_entropy(out, _device(torch.randint(CLASSES, (BATCH, 64, 64))))


def _detector(name: str) -> nn.Module:
    make = getattr(_vision().detection, name)
    detection.operators()
    sizes = {} if name.startswith("ssd") else {"min_size": 128, "max_size": 128}
    return make(weights=None, weights_backbone=None, num_classes=2, **sizes)  # type: ignore[no-any-return]


def _detect(model: nn.Module, _step: int) -> torch.Tensor:
    boxes = torch.tensor([[4.0, 4.0, 60.0, 50.0], [30.0, 20.0, 90.0, 100.0]])
    target = {"boxes": boxes, "labels": torch.ones(2, dtype=torch.int64)}
    if "mask" in type(model).__name__.lower():
        target["masks"] = torch.ones(2, 128, 128, dtype=torch.uint8)
    if "keypoint" in type(model).__name__.lower():
        target["keypoints"] = torch.full((2, 17, 3), 40.0)
    targets = [{name: _device(value) for name, value in target.items()} for _ in range(BATCH)]
    losses = model(list(_images(128)), targets)
    return sum(losses.values(), torch.zeros((), device="cuda"))


def _video(name: str) -> nn.Module:
    return getattr(_vision().video, name)(num_classes=CLASSES)  # type: ignore[no-any-return]


def _watch(model: nn.Module, _step: int) -> torch.Tensor:
    clip = _device(torch.randn(BATCH, 3, 14, 64, 64))
    return F.cross_entropy(model(clip), _classes())


def _raft() -> nn.Module:
    return _vision().optical_flow.raft_small()  # type: ignore[no-any-return]


def _flow(model: nn.Module, _step: int) -> torch.Tensor:
    flows = model(_images(128), _images(128), num_flow_updates=2)
    return sum((flow.abs().mean() for flow in flows), torch.zeros((), device="cuda"))


_TIMM: dict[str, dict[str, Any]] = {
    "vit_tiny_patch16_224": {"img_size": 64},
    "deit_tiny_distilled_patch16_224": {"img_size": 64},
    "beit_base_patch16_224": {"img_size": 64, "depth": 2},
    "eva02_tiny_patch14_224": {"img_size": 56},
    "cait_xxs24_224": {"img_size": 64, "depth": 2},
    "xcit_nano_12_p16_224": {"img_size": 64},
    "swin_tiny_patch4_window7_224": {"img_size": 64, "window_size": 4},
    "mixer_s32_224": {"img_size": 64},
    "gmlp_ti16_224": {"img_size": 64},
    "coat_lite_tiny": {"img_size": 64},
    "levit_128s": {"img_size": 224},
}
_TIMM_PLAIN = (
    *("resnet26", "resnetv2_50", "seresnet50", "ecaresnet26t", "res2net50_26w_4s"),
    *("resnest14d", "dla34", "hrnet_w18_small", "vovnet39a", "cspresnet50", "convnext_atto"),
    *("convnextv2_atto", "efficientnetv2_rw_t", "tinynet_e", "ghostnet_100"),
    *("mobilenetv4_conv_small", "mobileone_s0", "repvgg_a0", "edgenext_xx_small", "fastvit_t8"),
    *("poolformer_s12", "nfnet_l0", "rexnet_100", "lcnet_050", "inception_next_tiny"),
    "pvt_v2_b0",
)


_TIMM_SIZE: dict[str, Any] = {}
"""Those take any size."""


def _timm() -> Iterator[Trained]:
    for name, options in {**_TIMM, **dict.fromkeys(_TIMM_PLAIN, _TIMM_SIZE)}.items():
        yield Trained(
            "timm",
            name,
            partial(_of_timm, name, options),
            partial(_classify, options.get("img_size", 64)),
        )


def _of_timm(name: str, options: dict[str, Any]) -> nn.Module:
    return load("timm").create_model(name, num_classes=CLASSES, **options)  # type: ignore[no-any-return]


_SMALL = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "emb_dim"), 32),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 2),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 2),
    **dict.fromkeys(("intermediate_size", "d_ff", "encoder_ffn_dim", "decoder_ffn_dim"), 64),
    **dict.fromkeys(("num_key_value_heads",), 2),
    "head_dim": 16, "d_kv": 16, "embedding_size": 32, "word_embed_proj_dim": 32,
    "num_local_experts": 4, "num_experts": 4, "moe_intermediate_size": 32,
    "vocab_size": VOCABULARY, "max_position_embeddings": 64, "n_positions": 64,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 0,
    "use_cache": False, "attention_window": 8, "ffn_dim": 64, "hidden_dim": 64,
}  # fmt: skip
_LANGUAGE = (
    *("gpt2", "llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "qwen3", "gemma", "gemma2"),
    *("phi", "phi3", "gpt_neox", "opt", "bloom", "falcon", "mpt", "olmo"),
    *("stablelm", "starcoder2", "cohere", "granite", "mamba", "persimmon", "xglm"),
)
_MASKED = (
    *("bert", "roberta", "distilbert", "electra", "albert", "mpnet", "deberta-v2", "ernie"),
    *("camembert", "xlm-roberta", "squeezebert", "nystromformer", "longformer", "fnet"),
)
_SEQUENCES = ("t5", "bart", "mbart", "pegasus", "marian", "switch_transformers", "longt5")


def _transformers() -> Iterator[Trained]:
    for head, families in (
        ("AutoModelForCausalLM", _LANGUAGE),
        ("AutoModelForMaskedLM", _MASKED),
        ("AutoModelForSeq2SeqLM", _SEQUENCES),
    ):
        for family in families:
            yield Trained("transformers", family, partial(_language, family, head), _predict)
    for family in ("vit", "beit", "convnext", "mobilevit", "segformer", "resnet"):
        make = partial(_language, family, "AutoModelForImageClassification")
        yield Trained("transformers", f"{family} (images)", make, _classify_labels)


def _language(family: str, head: str) -> nn.Module:
    transformers = load("transformers")
    kind = transformers.CONFIG_MAPPING[family]
    known = kind().to_dict()
    options = {name: value for name, value in _SMALL.items() if name in known}
    if "Seq2Seq" in head:
        options["decoder_start_token_id"] = 0
    if "images" in head or "Image" in head:
        options = {"image_size": 64, "num_labels": CLASSES}
        options |= {"num_hidden_layers": 2} if "num_hidden_layers" in known else {}
    return getattr(transformers, head).from_config(kind(**options)).train()  # type: ignore[no-any-return]


def _predict(model: nn.Module, _step: int) -> torch.Tensor:
    ids = torch.randint(3, VOCABULARY, (BATCH, LENGTH))
    mask = torch.ones_like(ids)
    mask[1, LENGTH - 4 :] = 0
    given = {"input_ids": ids, "attention_mask": mask, "labels": ids}
    if "Mamba" in type(model).__name__ or "FNet" in type(model).__name__:
        del given["attention_mask"]
    return model(**{name: _device(value) for name, value in given.items()}).loss  # type: ignore[no-any-return]


def _classify_labels(model: nn.Module, _step: int) -> torch.Tensor:
    return model(pixel_values=_images(64), labels=_classes()).loss  # type: ignore[no-any-return]


def _diffusers() -> Iterator[Trained]:
    blocks = {"block_out_channels": (16, 32), "norm_num_groups": 8, "layers_per_block": 1}
    down = {"down_block_types": ("DownBlock2D", "AttnDownBlock2D")}
    up = {"up_block_types": ("AttnUpBlock2D", "UpBlock2D")}
    for name, scheduler in (
        ("UNet2DModel, DDPM", "DDPMScheduler"),
        ("UNet2DModel, DDIM", "DDIMScheduler"),
        ("UNet2DModel, flow matching", "FlowMatchEulerDiscreteScheduler"),
    ):
        options = {"sample_size": 16, **blocks, **down, **up, "attention_head_dim": 8}
        make = partial(_of_diffusers, "UNet2DModel", options)
        yield Trained("diffusers", name, make, partial(_denoise, scheduler))
    options = {"sample_size": 8, "cross_attention_dim": 16, "attention_head_dim": 8, **blocks}
    options |= {"down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D")}
    options |= {"up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D")}
    make = partial(_of_diffusers, "UNet2DConditionModel", options)
    yield Trained("diffusers", "UNet2DConditionModel", make, _conditioned)
    options = {"num_attention_heads": 2, "attention_head_dim": 16, "num_layers": 2}
    options |= {"sample_size": 8, "in_channels": 4, "norm_num_groups": 8}
    make = partial(_of_diffusers, "DiTTransformer2DModel", options)
    yield Trained("diffusers", "DiTTransformer2DModel", make, _with_classes)
    encoder = {"block_out_channels": (16, 32), "norm_num_groups": 8}
    encoder |= {"down_block_types": ("DownEncoderBlock2D",) * 2}
    encoder |= {"up_block_types": ("UpDecoderBlock2D",) * 2}
    make = partial(_of_diffusers, "AutoencoderKL", encoder)
    yield Trained("diffusers", "AutoencoderKL", make, _reconstruct)


def _of_diffusers(name: str, options: dict[str, Any]) -> nn.Module:
    return getattr(load("diffusers"), name)(**options).train()  # type: ignore[no-any-return]


def _denoise(scheduler: str, model: nn.Module, _step: int) -> torch.Tensor:
    schedule = getattr(load("diffusers"), scheduler)()
    clean = _images(16)
    noise = torch.randn_like(clean)
    if hasattr(schedule, "add_noise"):
        times = torch.randint(1000, (BATCH,), device="cuda")
        noisy = schedule.add_noise(clean, noise, times)
    else:
        times = schedule.timesteps[torch.randint(1000, (BATCH,))].to("cuda")
        noisy = schedule.scale_noise(clean, times, noise)
    return F.mse_loss(model(noisy, times).sample, noise)


def _conditioned(model: nn.Module, _step: int) -> torch.Tensor:
    latents = torch.randn(BATCH, 4, 8, 8, device="cuda")
    text = torch.randn(BATCH, 7, 16, device="cuda")
    times = torch.randint(1000, (BATCH,), device="cuda")
    return F.mse_loss(model(latents, times, text).sample, latents)


def _with_classes(model: nn.Module, _step: int) -> torch.Tensor:
    latents = torch.randn(BATCH, 4, 8, 8, device="cuda")
    times = torch.randint(1000, (BATCH,), device="cuda")
    out = model(latents, timestep=times, class_labels=_classes()).sample
    return out[:, :4].square().mean()


def _reconstruct(model: nn.Module, _step: int) -> torch.Tensor:
    image = _images(32)
    return F.mse_loss(model(image, sample_posterior=True).sample, image)


def models() -> list[Trained]:
    """All of them."""
    return [*_torchvision(), *_timm(), *_transformers(), *_diffusers()]
