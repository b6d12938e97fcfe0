"""Gradients bit for bit, attribution and waits of a vision transformer with patch dropout."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import msgspec

import tb_hookview as hookview
from sample_traces import gpu_checks
from sample_traces.recording import record
from sample_traces.scenario import Recording
from sample_traces.scenarios.patch_dropout import PATCH_DROPOUT

from .results import MOST_BYTES, Results

_MODEL = "timm vision transformer, patch dropout"


def gradients(results: Results) -> Any:
    """Loss, gradients and buffers plain, wrapped and recorded."""
    with gpu_checks.as_deterministic_as_can_be():
        model, loss_of = gpu_checks.GRADIENT_MODELS[_MODEL](results.setting)
        return gpu_checks.compare(model.to(results.setting.device).train(), loss_of)


def recording(results: Results) -> dict[str, Any]:
    """Attributed backward time, syncs and findings of a recorded step."""
    variant = PATCH_DROPOUT.variants[0]
    folder = results.traces / f"smoke.{variant.name}"
    assert variant.build is not None
    with variant.conditions(results.setting):
        training = variant.build(results.setting)
        record(training, folder, Recording(3, stacks=True), 4 * MOST_BYTES)
    report = hookview.analyze(folder)
    print(report, flush=True)
    data = report.data
    return {
        "coverage": msgspec.to_builtins(data.coverage),
        "syncs": msgspec.to_builtins(data.syncs),
        "cuda_syncs": len(report.cuda_syncs),
        "findings": [(each.rule, each.module) for each in data.findings],
        "warnings": msgspec.to_builtins(data.trace.warnings),
    }


if __name__ == "__main__":
    shared = Results("smoke", __doc__)
    sys.exit(
        shared.measure(
            {"gradients": partial(gradients, shared), "recording": partial(recording, shared)}
        )
    )
