"""Half of the layers and half of the batch: predicted from the whole, and run."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import torch

import tb_hookview as hookview
from sample_traces import models
from sample_traces.measuring import Clock, summary, time_calls
from sample_traces.recording import record
from sample_traces.scenario import Recording, Training

from .results import MOST_BYTES, Results

_WHATS = ("layers", "batch")


def halves(results: Results, what: str) -> dict[str, Any]:
    """Step with all and with half of something, and the predicted one; milliseconds."""
    depth, batch = results.setting.pick(12, 4), results.setting.pick(16, 4)
    if what == "layers":
        sizes = (depth // 2, batch)
        question = {f"module:blocks.{number}": 0.0 for number in range(depth // 2, depth)}
    else:
        sizes = (depth, batch // 2)
        question = {"kernels": 0.5}
    before, after = f"halves.{what}.whole", f"halves.{what}.half"
    times = [_measured(results, before, depth, batch), _measured(results, after, *sizes)]
    answer = hookview.analyze(results.traces / before).whatif(scale=question)
    recorded = hookview.analyze(results.traces / after).whatif().step_us
    return {
        "question": question,
        "timed": times,
        "refused": answer.refused,
        "recorded_us": [answer.step_us, recorded],
        "replayed_us": answer.replayed_us,
        "predicted_us": answer.predicted_us,
        "error": answer.predicted_us / recorded - 1 if answer.predicted_us and recorded else None,
    }


def _measured(results: Results, name: str, depth: int, batch: int) -> dict[str, Any]:
    setting = results.setting
    torch.manual_seed(0)
    vocabulary, length = setting.pick(8192, 256), setting.pick(512, 64)
    model = models.Gpt(vocabulary, setting.pick(768, 128), depth, length).to(setting.device)
    given = models.tokens(setting, batch, length, vocabulary)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, foreach=True)
    step = models.training_step(
        model, optimizer, lambda: given, models.token_loss, models.bf16(setting)
    )
    times = summary([time_calls(step, Clock(setting.device), seconds=1.0, at_least=5)])
    record(Training(step, model), results.traces / name, Recording(4, stacks=False), MOST_BYTES)
    return times


if __name__ == "__main__":
    shared = Results("halves", __doc__)
    sys.exit(shared.measure({what: partial(halves, shared, what) for what in _WHATS}))
