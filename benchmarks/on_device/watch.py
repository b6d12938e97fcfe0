"""A watched training on the device: its gradients, and times of blocks next to a recording's."""

from __future__ import annotations

import copy
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

import tb_hookview as hookview
from sample_traces import models

from .results import Results

_STEPS = 60


class Repeated(nn.Module):
    """A block that computes three times what it returns."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Keep the shape."""
        y: torch.Tensor = self.block(x) + self.block(x) + self.block(x)
        return y / 3


def blocks(results: Results) -> dict[str, Any]:
    """Medians of each block's forward and backward, us: watched, and by a recording of steps."""
    model, step_of = _training(results)
    twin = copy.deepcopy(model)
    step, plain = step_of(model), step_of(twin)
    with tempfile.TemporaryDirectory() as folder:
        with hookview.watch(folder, model=model, first=None, blocks_every=1) as watch:
            for _ in range(_STEPS):
                step()
                watch.step()
        rows = _rows(Path(folder))
        for _ in range(_STEPS):
            plain()
        equal = all(
            torch.equal(a, b) for a, b in zip(model.parameters(), twin.parameters(), strict=True)
        )
        hookview.wrap(model)
        with hookview.profile(folder) as _:
            for _ in range(3):
                step()
        hookview.unwrap(model)
        report = hookview.analyze(next(Path(folder).glob("*.pt.trace.json.gz"))).data
    recorded = {each.path: each for each in report.modules}
    header, steps = rows[0], rows[len(rows) // 2 :]
    timed = [row for row in steps if row.get("forward") and row.get("backward")]
    return {
        "clock": header.get("clock"),
        "parameters equal bit for bit": equal,
        "rows": len(rows) - 1,
        "step_us": _median(row["duration_us"] for row in steps),
        "phases": {
            name: _median(row.get(name) for row in steps)
            for name in ("forward_us", "backward_us", "after_backward_us", "optimizer_us")
        },
        "blocks": {
            name: {
                way: [
                    _median(row[way][number] for row in timed),
                    _recorded(recorded.get(name), way),
                ]
                for way in ("forward", "backward")
            }
            for number, name in enumerate(header["blocks"])
        },
    }


def _recorded(module: Any, way: str) -> float | None:
    time = module and getattr(module, way).device_us
    return None if time is None else time / 3


def _median(values: Any) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def _rows(folder: Path) -> list[dict[str, Any]]:
    (path,) = folder.glob("*.steps.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def _training(results: Results) -> tuple[nn.Module, Callable[[nn.Module], Callable[[], Any]]]:
    setting = results.setting
    torch.manual_seed(0)
    vocabulary, length = setting.pick(4096, 64), setting.pick(512, 16)
    model = models.Gpt(vocabulary, setting.pick(1024, 64), setting.pick(8, 3), length)
    model.blocks[1] = Repeated(model.blocks[1])
    model.to(setting.device)
    batch = models.tokens(setting, setting.pick(8, 2), length, vocabulary)

    def step_of(model: nn.Module) -> Callable[[], Any]:
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, foreach=True)
        return models.training_step(
            model, optimizer, lambda: batch, models.token_loss, models.bf16(setting)
        )

    return model, step_of


if __name__ == "__main__":
    shared = Results("watch", __doc__)
    sys.exit(shared.measure({"blocks": partial(blocks, shared)}))
