"""Chooses K of N labelled samples, by torch.nonzero or with fixed shapes.

Both draw one random score for each sample and keep the labelled ones with the highest scores.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from sample_traces import models
from sample_traces.measuring import Clock, time_calls
from sample_traces.scenario import Expected, Scenario, Setting, Training, Variant

Choose = Callable[[torch.Tensor, torch.Tensor, int], tuple[torch.Tensor, torch.Tensor]]
_BATCH = 32
_CHOSEN = 256


def choose_nonzero(
    labels: torch.Tensor, scores: torch.Tensor, count: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Choose at most `count` of the samples with a label, by their positions.

    Labels (n,) are positive where a sample has one; scores (n,). Returns positions (m,) with
    m = min(count, labelled), and a mask (m,) that is all true.
    """
    labelled = torch.nonzero(labels > 0).squeeze(1)
    best = scores[labelled].topk(min(count, labelled.shape[0])).indices
    chosen = labelled[best]
    return chosen, torch.ones_like(chosen, dtype=torch.bool)


def choose_static(
    labels: torch.Tensor, scores: torch.Tensor, count: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same with shapes that do not depend on values, over the last dimension.

    Labels and scores (..., n). Returns positions (..., count), and a mask of the same shape that
    is true for the first min(count, labelled), the others being positions of no meaning.
    """
    mask = labels > 0
    labelled = torch.count_nonzero(mask, dim=-1)
    best = torch.where(mask, scores, -1.0).topk(count).indices
    return best, torch.arange(count, device=labels.device) < labelled[..., None]


class Sampler(nn.Module):
    """Chooses samples to train on."""

    def __init__(self, choose: Choose, count: int) -> None:
        super().__init__()
        self.choose = choose
        self.count = count

    def forward(self, labels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return positions and which of them count."""
        scores = torch.rand(labels.shape, device=labels.device)
        return self.choose(labels, scores, self.count)


class SampledClassifier(nn.Module):
    """Classifies features (n, width) and returns the loss of the samples chosen."""

    def __init__(self, sampler: Sampler, width: int) -> None:
        super().__init__()
        self.sampler = sampler
        self.layers = models.Perceptron(width, width, 2, 16)

    def forward(self, features: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the mean loss of the samples that were chosen."""
        chosen, counts = self.sampler(labels)
        # A sampler is asked before the expensive part, so only what was chosen is computed.
        each = F.cross_entropy(self.layers(features[chosen]), labels[chosen], reduction="none")
        return torch.where(counts, each, 0.0).sum() / counts.sum()


def make_labels(setting: Setting, *shape: int) -> torch.Tensor:
    """Return labels 0 to 15; one in a hundred samples has one."""
    labels = torch.randint(1, 16, shape, device=setting.device, dtype=torch.int32)
    return torch.where(torch.rand(shape, device=setting.device) < 0.01, labels, 0)


def _build(setting: Setting, choose: Choose) -> Training:
    count, width = setting.pick(100_000, 4000), setting.pick(256, 32)
    model = SampledClassifier(Sampler(choose, _CHOSEN), width).to(setting.device)
    features = torch.randn(count, width, device=setting.device)
    labels = make_labels(setting, count).long()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss: torch.Tensor = model(features, labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Training(step, model)


def _grid(setting: Setting, seconds: float) -> Iterator[dict[str, Any]]:
    """Time both ways for each N, alone and for a batch, uncompiled and compiled.

    Stops when the seconds are over. Milliseconds are those of one call for a batch of 1, and of the
    whole batch for one of 32: a loop over `choose_nonzero`, one call of `choose_static`.
    """
    end = time.monotonic() + seconds
    sizes = setting.pick([10**power for power in range(3, 8)], [1000, 10_000])
    for compiled, size, batch in itertools.product((False, True), sizes, (1, _BATCH)):
        for way in ("nonzero", "static"):
            row = {"n": size, "batch": batch, "compiled": compiled, "way": way}
            if time.monotonic() > end:
                yield {**row, "ms": None, "why": "out of time"}
                continue
            try:
                yield {**row, **_timed(setting, **row)}
            except RuntimeError as error:
                yield {**row, "ms": None, "why": str(error).splitlines()[0][:200]}


def _timed(setting: Setting, *, n: int, batch: int, compiled: bool, way: str) -> dict[str, Any]:
    choose: Choose = choose_nonzero if way == "nonzero" else choose_static
    if compiled:
        if (batch, way) == (1, "nonzero"):  # each N again: code compiled for another is no use
            torch.compiler.reset()
        # One length that never changes, or any number of them.
        choose = torch.compile(choose, dynamic=False if way == "static" else None)
    labels = make_labels(setting, batch, n)

    def call() -> None:
        scores = torch.rand(labels.shape, device=setting.device)
        if batch == 1:
            choose(labels[0], scores[0], _CHOSEN)
        elif way == "static":
            choose(labels, scores, _CHOSEN)
        else:
            for row, row_scores in zip(labels, scores, strict=True):
                choose(row, row_scores, _CHOSEN)

    times = time_calls(call, Clock(setting.device), seconds=setting.pick(0.4, 0.05), at_least=5)
    return {"ms": round(statistics.median(times), 5), "calls": len(times)}


VARIABLE_SHAPE_SAMPLER = Scenario(
    "variable_shape_sampler",
    f"{_CHOSEN} of N labelled samples chosen by nonzero, against fixed shapes",
    (
        Variant(
            "before",
            lambda setting: _build(setting, choose_nonzero),
            (Expected(("sync-nonzero-variable-shape",), "sampler"),),
        ),
        Variant("after", lambda setting: _build(setting, choose_static)),
    ),
    seconds=150,
    tolerance=1e-3,
    further=_grid,
)
