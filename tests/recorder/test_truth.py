"""Every autograd node goes to the module that made it, wherever a backward runs."""

from __future__ import annotations

import pytest
from support import autograd_cases, module_cases
from support.attribution import assert_attributed

CASES = {**module_cases.CASES, **autograd_cases.CASES}


KNOWN = {
    "`autograd.grad` for the parameters": "no gradient is accumulated, and none is marked",
}


def marked(case: str) -> object:
    known = [pytest.mark.xfail(strict=True, reason=KNOWN[case])] if case in KNOWN else []
    return pytest.param(case, marks=known)


@pytest.mark.parametrize("case", map(marked, CASES))
def test_the_report_agrees_with_the_truth(case):
    make, run, profile = CASES[case]
    assert_attributed(make(), run, profile)
