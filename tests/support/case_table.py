"""Prints what the recorder was checked on, as the table of benchmarks/results/recorder_checks.md.

    python tests/support/case_table.py

For each case: whether outputs, gradients and buffers are equal bit for bit, and the part of the
backward host time that the report gives to the module to which the truth gives it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from support import autograd_cases, library_cases, module_cases
from support.attribution import judge
from support.harmless import assert_harmless
from support.module_cases import Case

import tb_hookview as hookview
from tb_hookview.recorder import faults

CASES = {**library_cases.CASES, **module_cases.CASES, **autograd_cases.CASES}


def row(label: str, case: Case) -> str:
    """One line of the table."""
    torch.manual_seed(0)
    faults._warned.clear()
    model = case.make()
    same = outcome(lambda: assert_harmless(model, case.run, case.profile))
    hookview.unwrap(model)
    verdict = judge(case.make(), case.run, case.profile)
    return f"| {label} | {same} | {100 * verdict.agreeing:.1f}% | {100 * verdict.inside:.1f}% |"


def outcome(check: Callable[[], object]) -> str:
    try:
        check()
    except AssertionError:
        return "**differs**"
    return "equal"


def main() -> None:
    warnings.simplefilter("ignore")
    lines = [row(label, case) for label, case in CASES.items()]
    header = "| case | outcome | as the truth says | of modules |\n| --- | --- | ---: | ---: |"
    sys.stdout.write("\n".join([header, *lines]) + "\n")


if __name__ == "__main__":
    main()
