"""The checks of the recorder that are meant for a GPU, here on the CPU."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sample_traces import gpu_checks, measured, validate
from sample_traces.scenario import Setting

SMALL = Setting(torch.device("cpu"), small=True)


@pytest.mark.slow
def test_gradients_are_compared_bit_for_bit():
    *_, found = gpu_checks.gradients(SMALL)
    assert found.keys() == gpu_checks.GRADIENT_MODELS.keys()
    compared = [each for each in found.values() if "equal" in each]
    assert len(compared) >= 6
    for each in compared:
        assert each["equal"], each["different"]
        assert each["tensors"] > 8


class Counting(nn.Module):
    """Computes something else each time that a profiler records it."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x * self.weight * (1 + torch.autograd._profiler_enabled())


def test_a_difference_is_found():
    found = gpu_checks.compare(Counting(), lambda model: model(torch.ones(2)).sum())
    assert not found["equal"]
    assert "auto: gradient of weight" in found["different"]
    assert not any(name.startswith("wrapped") for name in found["different"])


class Unsteady(nn.Linear):
    """Differs from itself."""

    calls = 0

    def forward(self, x):
        Unsteady.calls += 1
        return super().forward(x) * Unsteady.calls


def test_a_model_that_differs_from_itself_is_not_compared():
    found = gpu_checks.compare(Unsteady(2, 2), lambda model: model(torch.ones(2)).sum())
    assert found == {"skipped": "differs from itself without the recorder"}


def test_each_module_is_timed_alone_and_found_in_the_report(tmp_path):
    check = gpu_checks.attribution(SMALL, tmp_path)
    chain, _ = gpu_checks.make_chain(SMALL)
    assert [row["path"] for row in check["modules"]] == [name for name, _ in chain.named_children()]
    assert all(row["alone_ms"] > 0 for row in check["modules"])
    measured.write(tmp_path, {"version": 1, "scenarios": {}, "checks": {"attribution": check}})
    rows = validate.attribution_rows(tmp_path)
    assert len(rows) == len(check["modules"])
    assert all(said > 0 for _, _, _, said in rows)


def test_timing_modules_alone_leaves_no_gradient():
    torch.manual_seed(0)
    chain, pixels = gpu_checks.make_chain(SMALL)
    rows = gpu_checks.backward_times(chain, pixels, SMALL, repeats=1)
    assert all(parameter.grad is None for parameter in chain.parameters())
    assert len(rows) == len(chain)


@pytest.mark.slow
def test_overhead_times_every_way():
    *_, found = gpu_checks.overhead(SMALL, quick=True)
    for times in found.values():
        if "skipped" not in times:
            assert times.keys() == gpu_checks.WAYS.keys()
            assert all(each["step_ms"] > 0 for each in times.values())
