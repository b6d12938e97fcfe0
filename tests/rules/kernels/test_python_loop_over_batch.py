"""`python-loop-over-batch`."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.eager import ADD, findings, operators, row

RULE = "python-loop-over-batch"
TURN = [("aten::select", ""), ("aten::mul", ADD), ("aten::add", ADD)]
END = [("aten::stack", "CatArrayBatchedCopy")]
AFTER = [("aten::mm", "gemm")] * 3


def test_a_loop_over_samples(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, operators(TURN * 10 + END + AFTER))[RULE]
    assert "10 times in a row" in finding.evidence
    assert finding.where == "not in a module, a loop around aten::select"
    # The gap before the first kernel begins with its launch.
    assert finding.cost_us_per_step == pytest.approx(7 + 9 * 36 + 10 * 16)


def test_another_loop_after_it(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, operators((TURN * 12 + END) * 2 + AFTER))[RULE]
    assert finding.count == 2


@pytest.mark.parametrize(
    "calls",
    [
        TURN * 9 + END,
        TURN * 10 + AFTER,
        (TURN + AFTER[:1]) * 5 + TURN * 5 + END,
        TURN[1:] * 10 + END,
        [("aten::select", ""), ("aten::mul", "")] * 10 + END,
    ],
    ids=["too few", "nothing gathered", "of two kinds", "takes no samples", "on the CPU"],
)
def test_what_is_no_such_loop(tmp_path: Path, calls: list[tuple[str, str]]) -> None:
    assert RULE not in findings(tmp_path, operators(calls + AFTER))


def test_turns_in_different_modules(tmp_path: Path) -> None:
    some = operators(TURN * 10 + END + AFTER)
    modules = [row("user_annotation", f"block {i}", 999.5 + 60 * i, 59.9) for i in range(10)]
    assert RULE not in findings(tmp_path, some, modules)
