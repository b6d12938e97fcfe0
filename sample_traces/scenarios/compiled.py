"""A transformer without torch.compile, with it, and with Python in the middle of it."""

from __future__ import annotations

import torch

from sample_traces import models
from sample_traces.scenario import Expected, Scenario, Setting, Training, Variant


class Checked(models.Gpt):
    """A Gpt that looks at a value, for which it leaves compiled code."""

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Score the next token at each position."""
        x = self.embed(tokens) + self.places
        x = self.run(self.blocks[0], x)
        if not torch.isfinite(x).all():
            raise FloatingPointError("the first block returns what is not finite")
        for block in self.blocks[1:]:
            x = self.run(block, x)
        scores: torch.Tensor = self.head(self.norm(x))
        return scores


def _build(setting: Setting, kind: type[models.Gpt], *, compiled: bool) -> Training:
    vocabulary, length = setting.pick(8192, 256), setting.pick(256, 64)
    model = kind(vocabulary, setting.pick(512, 128), setting.pick(6, 2), length)
    model.to(setting.device)
    if compiled:
        model.compile(dynamic=False)
    batch = models.tokens(setting, setting.pick(16, 4), length, vocabulary)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    step = models.training_step(model, optimizer, lambda: batch, models.token_loss)
    return Training(step, model)


COMPILED = Scenario(
    "compiled",
    "a transformer without torch.compile, against compiled and compiled with a graph break",
    (
        Variant("eager", lambda setting: _build(setting, models.Gpt, compiled=False)),
        Variant("compiled", lambda setting: _build(setting, models.Gpt, compiled=True)),
        Variant(
            "graph_break",
            lambda setting: _build(setting, Checked, compiled=True),
            (Expected(("graph-break",), needs_device=False),),
        ),
    ),
    seconds=240,
    tolerance=1e-3,
    on_cpu="Modules inside compiled code have their times, by the recorder's map of the compiled "
    "graphs. With a graph break one compiled region runs inside another.",
)
