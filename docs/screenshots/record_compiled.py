"""Records two models, eager and compiled, for the pictures of modules inside torch.compile.

python docs/screenshots/record_compiled.py FOLDER
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from support.torchvision_ops import declare

_LIBRARY = declare()

import timm  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel  # noqa: E402

import tb_hookview as hookview  # noqa: E402

_STEPS = 3


def vit() -> tuple[nn.Module, torch.Tensor]:
    """A ViT that drops half of its patches, the model of the original technique."""
    return timm.create_model("vit_tiny_patch16_224", depth=4, patch_drop_rate=0.5), torch.randn(
        2, 3, 224, 224
    )


def gpt2() -> tuple[nn.Module, torch.Tensor]:
    """A small GPT-2 with random weights."""
    config = GPT2Config(n_layer=4, n_embd=192, n_head=4, vocab_size=2000, n_positions=128)
    config.use_cache = False
    return GPT2LMHeadModel(config), torch.randint(0, 2000, (2, 128))


def main(folder: Path) -> None:
    """Record each model into a file of its own."""
    torch.set_num_threads(1)
    for make in (vit, gpt2):
        for compiled in (False, True):
            torch.manual_seed(0)
            torch._dynamo.reset()
            record(make, compiled, folder)


def record(make: Callable[[], tuple[nn.Module, torch.Tensor]], compiled: bool, to: Path) -> None:
    """Train for some steps, and record them."""
    model, x = make()
    call = torch.compile(model) if compiled else model
    hookview.wrap(call)
    for _ in range(2):
        step(call, x)
    name = f"{make.__name__}{'_compiled' if compiled else ''}"
    with hookview.profile(to / name) as profiler:
        for _ in range(_STEPS):
            step(call, x)
            profiler.step()
    (path,) = (to / name).glob("*.json.gz")
    path.rename(to / f"{name}.json.gz")
    (to / name).rmdir()


def step(model: Callable[[torch.Tensor], object], x: torch.Tensor) -> None:
    """One forward and backward."""
    found = model(x)
    output = found if isinstance(found, torch.Tensor) else found.logits  # type: ignore[attr-defined]
    output.square().mean().backward()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
