"""What a dry run costs: its start, and steps of three models next to those of the CPU.

    python -m benchmarks.dry_run.speed [--steps N] [--write benchmarks/results/dry_run_checks.md]

Processor time (user and system) of one thread, the median of the steps after the first: a busy
machine does not change it much. The start is that of the block, after torch was imported.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn

from benchmarks.common.markdown import table
from sample_traces.libraries import load
from tb_hookview.dryrun import dry_run

BEGIN, END = "<!-- speed -->\n", "<!-- end of speed -->\n"
Step = Callable[[nn.Module, str], torch.Tensor]


def _images(model: nn.Module, device: str) -> torch.Tensor:
    images = torch.randn(2, 3, 224, 224, device=device)
    return F.cross_entropy(model(images), torch.zeros(2, dtype=torch.long, device=device))


def _tokens(model: nn.Module, device: str) -> torch.Tensor:
    ids = torch.randint(50257, (1, 256), device=device)
    return model(input_ids=ids, labels=ids).loss  # type: ignore[no-any-return]


def _gpt2() -> nn.Module:
    transformers = load("transformers")
    config = transformers.GPT2Config(use_cache=False)
    return transformers.GPT2LMHeadModel(config)  # type: ignore[no-any-return]


MODELS: dict[str, tuple[Callable[[], nn.Module], Step]] = {
    "ResNet-50, 2 images of 224": (lambda: load("torchvision.models").resnet50(), _images),
    "ViT-S/16, 2 images of 224": (
        lambda: load("timm").create_model("vit_small_patch16_224"),
        _images,
    ),
    "GPT-2 small, 256 tokens": (_gpt2, _tokens),
}


def _steps(make: Callable[[], nn.Module], step: Step, device: str, count: int) -> float:
    """Median processor seconds of a step."""
    torch.manual_seed(0)
    model = make().to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    seconds = []
    for _ in range(count + 1):
        began = time.process_time()
        optimizer.zero_grad()
        step(model, device).backward()
        optimizer.step()
        seconds.append(time.process_time() - began)
    return statistics.median(seconds[1:])


def start() -> tuple[float, float]:
    """Processor seconds to enter and leave a block, the first time and later."""
    seconds = []
    for _ in range(4):
        began = time.process_time()
        with dry_run():
            pass
        seconds.append(time.process_time() - began)
    return seconds[0], min(seconds[1:])


def _setting() -> str:
    kind = f"{os.cpu_count()} cores, {platform.machine().replace('_', '-')} virtual machine"
    return f"On {date.today()}, torch {torch.__version__.partition('+')[0]}, {kind}:"


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser("benchmarks.dry_run.speed", description=__doc__)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--write", type=Path, metavar="FILE")
    options = parser.parse_args()
    torch.set_num_threads(1)
    first, later = start()
    body = [["start of the block, the first", "", f"{first:.2f} s", ""]]
    body.append(["start of the block, a later one", "", f"{later:.2f} s", ""])
    for name, (make, step) in MODELS.items():
        cpu = _steps(make, step, "cpu", options.steps)
        with dry_run():
            dry = _steps(make, step, "cuda", options.steps)
        body.append([name, f"{cpu:.2f} s", f"{dry:.2f} s", f"{dry / cpu:.2f}"])
    text = table(["processor time", "CPU, per step", "dry run, per step", "ratio"], body)
    print(text)
    if options.write:
        page = options.write.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        after = rest.partition(END)[2]
        options.write.write_text(
            f"{before}{BEGIN}\n{_setting()}\n\n{text}\n\n{END}{after}", encoding="utf-8"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
