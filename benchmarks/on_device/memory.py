"""Peak of a training step by module, next to the peak that the allocator and its snapshot say."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import msgspec
import torch

import tb_hookview as hookview
from sample_traces import models
from sample_traces.recording import record
from sample_traces.scenario import Recording, Training

from .results import MOST_BYTES, Results


def peaks(results: Results) -> dict[str, Any]:
    """Bytes at the peak: of the report, by module and class, and of the allocator."""
    setting = results.setting
    torch.manual_seed(0)
    vocabulary, length = setting.pick(8192, 256), setting.pick(512, 64)
    model = models.Gpt(vocabulary, setting.pick(1024, 128), setting.pick(8, 2), length)
    given = models.tokens(setting, setting.pick(8, 4), length, vocabulary)
    optimizer = torch.optim.AdamW(model.to(setting.device).parameters(), fused=setting.cuda)
    step = models.training_step(
        model, optimizer, lambda: given, models.token_loss, models.bf16(setting)
    )
    for _ in range(3):
        step()
    found: dict[str, Any] = {"allocator": _allocators(step) if setting.cuda else None}
    wanted = Recording(2, stacks=False, memory=True)
    folder = results.traces / "memory.gpt"
    record(Training(step, model), folder, wanted, 2 * MOST_BYTES)
    report = hookview.analyze(folder)
    found["report"] = msgspec.to_builtins(report.data.memory_peaks)
    found["modules"] = msgspec.to_builtins(report.data.memory_modules)
    peak = max(
        (each.allocated_bytes for each in report.data.memory_peaks or [] if each.step is None),
        default=None,
    )
    if found["allocator"] and peak:
        found["error"] = {key: peak / value - 1 for key, value in found["allocator"].items()}
    return found


def _allocators(step: Any) -> dict[str, int]:
    """The largest number of allocated bytes in a step, as two parts of torch say it."""
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    torch.cuda.memory._record_memory_history(max_entries=1_000_000)
    step()
    torch.cuda.synchronize()
    snapshot = torch.cuda.memory._snapshot()
    torch.cuda.memory._record_memory_history(enabled=None)
    live = highest = before
    for event in snapshot["device_traces"][torch.cuda.current_device()]:
        if event["action"] == "alloc":
            live += event["size"]
        elif event["action"] == "free_completed":
            live -= event["size"]
        highest = max(highest, live)
    return {"max_memory_allocated": torch.cuda.max_memory_allocated(), "snapshot": highest}


if __name__ == "__main__":
    shared = Results("memory", __doc__)
    sys.exit(shared.measure({"peaks": partial(peaks, shared)}))
