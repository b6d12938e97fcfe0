"""A pytest plugin for runs on mutants: no shrinking, and fixtures count for each of their tests.

Loaded by name (`-p noticing`) into the processes that mutmut runs.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import Phase, settings
from mutmut.state import state

# The same examples for each mutant, and no time spent on the smallest one that fails.
settings.register_profile(
    "noticing",
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
)
_reached: dict[Any, set[str]] = {}
"""Functions that the set-up of a fixture called."""


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Generator[None, object, object]:
    """Note what a fixture calls: mutmut sees it only for the first test of a shared fixture."""
    before = set(state()._stats)
    state()._stats.clear()
    try:
        return (yield)
    finally:
        _reached[fixturedef] = set(state()._stats)
        state()._stats.update(before)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: Any) -> None:
    """Count the calls of a test's fixtures as calls of the test."""
    for fixturedefs in item._fixtureinfo.name2fixturedefs.values():
        for fixturedef in fixturedefs:
            state()._stats.update(_reached.get(fixturedef, ()))
