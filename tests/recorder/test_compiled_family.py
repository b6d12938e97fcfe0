"""Wrapping and recording change nothing of what is compiled, over drawn models."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import compiled_family
from support.forked_python import run_python

SAMPLE, ALL, TOGETHER = 16, 96, 8
"""Models in the quick tests, in all, and in one process."""
TESTS = Path(__file__).parents[1]
IMPORTED = ("torch", "torch._inductor", "torch._inductor.compile_fx")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=[pytest.mark.slow] if first >= SAMPLE else [])
        for first in range(0, ALL, TOGETHER)
    ],
)
def test_dynamo_makes_the_same_with_and_without_us(first):
    """The same graphs (keys of caches are made of them), breaks, frames, guards, and bits."""
    program = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from support import compiled_family
for seed in range({first}, {first + TOGETHER}):
    compiled_family.check(seed)
"""
    done = run_python("-c", program, imported=IMPORTED)
    assert done.returncode == 0, done.stderr


def test_the_count_notices_one_hook(monkeypatch):
    def hooked(module, **_):
        module.register_forward_pre_hook(lambda *_: None)
        return module

    case = compiled_family.case(0)._replace(style="within", order="wrap, compile", hooked=False)
    without = compiled_family.run(case, ours=False)
    monkeypatch.setattr("tb_hookview.wrap", hooked)
    assert compiled_family.run(case, ours=True)["seen"] != without["seen"]
