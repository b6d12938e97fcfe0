"""`sync-loop`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rules.drawn import NAMES
from rules.eager import findings, operators, row

RULE = "sync-loop"


def iteration(start: float, *reads: str) -> list[dict[str, Any]]:
    """A comparison that launches a kernel, and then operators that each read a value."""
    rows = operators([("aten::eq", "k")], start=start, kernel=2, delay=6)
    for number, name in enumerate(reads):
        begin = start + 20 * (number + 1)
        ids = {"correlation": int(begin) * 1000}
        rows += [
            row("cpu_op", name, begin, 18),
            row("cuda_runtime", NAMES["copy"], begin + 1, 3, **ids),
            row("cuda_runtime", NAMES["wait"], begin + 5, 5, correlation=int(begin) * 1000 + 1),
            row("gpu_memcpy", NAMES["D2P"], begin + 6, 2) | {"pid": 0, "tid": 7, "args": ids},
        ]
    return rows


def loop(iterations: int, *reads: str, period: float = 100) -> list[dict[str, Any]]:
    """Equal iterations, and a product after them."""
    begun = [1000 + period * number for number in range(iterations)]
    rows = [each for start in begun for each in iteration(start, *reads)]
    return rows + operators([("aten::mm", "mm")], start=1000 + period * iterations)


READS = ("aten::index", "aten::is_nonzero")


def test_iterations_that_each_wait_in_two_operators(tmp_path: Path) -> None:
    found = findings(tmp_path, loop(40, *READS))
    (finding,) = found[RULE]
    assert finding.where == "a loop around aten::index"
    assert "39 iterations of the same operators" in finding.evidence
    assert "with 78 syncs in " in finding.evidence
    (single,) = found["sync-bool-branch"]
    assert finding.gain_us_per_step is not None
    assert single.gain_us_per_step is not None
    assert finding.gain_us_per_step > 2 * single.gain_us_per_step


def test_each_gap_is_in_the_cost_of_the_loop_alone(tmp_path: Path) -> None:
    rows = [each for number in range(40) for each in iteration(1000 + 100 * number, *READS)]
    found = findings(tmp_path, rows, iteration(5000, "aten::index"))
    (single,) = found["sync-bool-branch"]
    assert single.cost_us_per_step == 0
    assert "all of it in the cost of other findings" in single.evidence


@pytest.mark.parametrize(
    "rows",
    [loop(32, *READS), loop(40, "aten::index"), loop(40, *READS, period=2100)],
    ids=["few iterations", "one operator that waits", "long iterations"],
)
def test_what_is_none(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    assert RULE not in findings(tmp_path, rows)


@pytest.mark.parametrize("name", ["MulBackward0", "Optimizer.step#SGD.step", "cudaGraphLaunch"])
def test_steps_of_a_training_or_of_a_generation(tmp_path: Path, name: str) -> None:
    kind = {"M": "cpu_op", "O": "user_annotation", "c": "cuda_runtime"}[name[0]]
    rows = [row(kind, name, 1065 + 100 * number, 10) for number in range(40)]
    assert RULE not in findings(tmp_path, [*loop(40, *READS), *rows])


def test_turns_of_different_operators(tmp_path: Path) -> None:
    """Only those count whose sequence repeats."""
    rows = [row("cpu_op", f"aten::a{number}", 1065 + 100 * number, 5) for number in range(20)]
    assert RULE not in findings(tmp_path, [*loop(40, *READS), *rows])
    assert RULE in findings(tmp_path, [*loop(60, *READS), *rows])


@pytest.mark.parametrize("together", [3, 4])
def test_a_few_turns_at_a_time(tmp_path: Path, together: int) -> None:
    """As where the code around them repeats, and no loop is in it."""
    between = range(1, 90 // together)
    rows = [row("cpu_op", "aten::b", 985 + 100 * together * number, 5) for number in between]
    assert (RULE in findings(tmp_path, [*loop(90, *READS), *rows])) == (together == 4)
