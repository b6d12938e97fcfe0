"""Every autograd node goes to the module that made it, wherever a backward runs.

Also under a bare profiler, where the trace has no marks before and after a module's backward.
"""

from __future__ import annotations

import pytest
from support import autograd_cases, module_cases
from support.attribution import assert_attributed

CASES = {**module_cases.CASES, **autograd_cases.CASES}


KNOWN = {
    "`autograd.grad` for the parameters": "no gradient is accumulated, and none is marked",
}


def params(known: dict[str, str]) -> list[object]:
    return [
        pytest.param(
            case,
            marks=[pytest.mark.xfail(strict=True, reason=known[case])] if case in known else [],
        )
        for case in CASES
    ]


@pytest.mark.parametrize("case", params(KNOWN))
def test_the_report_agrees_with_the_truth(case):
    make, run, profile = CASES[case]
    assert_attributed(make(), run, profile)


@pytest.mark.parametrize("case", params(KNOWN))
def test_the_report_agrees_with_the_truth_under_a_bare_profiler(case):
    make, run, profile = CASES[case]
    assert_attributed(make(), run, profile, bare=True)
