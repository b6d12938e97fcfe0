"""Wrapping and recording change nothing of what is compiled, over drawn models."""

from __future__ import annotations

import pytest
import torch
from support import compiled_family

SAMPLE, ALL = 16, 216


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "seed",
    [
        *range(SAMPLE),
        *(pytest.param(n, marks=pytest.mark.slow) for n in range(SAMPLE, ALL)),
    ],
)
def test_dynamo_makes_the_same_with_and_without_us(seed):
    """The same graphs, breaks, frames and guards, compiled as often, and the same bits."""
    case = compiled_family.case(seed)
    without, with_us = (compiled_family.run(case, ours=ours) for ours in (False, True))
    expected, results = without.pop("results"), with_us.pop("results")
    for name, value in without.items():
        assert with_us[name] == value, f"{name} of {case}"
    assert len(results) == len(expected)
    assert all(map(torch.equal, results, expected))


def test_the_count_notices_one_hook(monkeypatch):
    def hooked(module, **_):
        module.register_forward_pre_hook(lambda *_: None)
        return module

    case = compiled_family.case(0)._replace(style="within", order="wrap, compile", hooked=False)
    without = compiled_family.run(case, ours=False)
    monkeypatch.setattr("tb_hookview.wrap", hooked)
    assert compiled_family.run(case, ours=True)["seen"] != without["seen"]
