"""A pytest plugin for runs on mutants: time limit, order of tests, no shrinking, shared fixtures.

Loaded by name (`-p noticing`) into the processes that mutmut runs.
"""

from __future__ import annotations

import json
import resource
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from mutmut.mutation.trampoline import get_mutant_under_test
from mutmut.state import state

# The same examples for each mutant, and no time spent on the smallest one that fails.
settings.register_profile(
    "noticing",
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
)
PROCESSOR_SECONDS = 20
"""What the tests of a mutant may use; the slowest modules need a third of it."""
_reached: dict[Any, set[str]] = {}
"""Functions that the set-up of a fixture called."""


def pytest_sessionstart() -> None:
    """Limit the processor time of a mutant: beyond it the process dies of SIGXCPU."""
    if "__mutmut_" in get_mutant_under_test():
        resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS + 1))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run fast tests first; mutmut's order is that of a set."""
    durations = Path("mutmut-stats.json")
    if durations.exists():
        seconds = json.loads(durations.read_text())["duration_by_test"]
        items.sort(key=lambda item: seconds.get(item.nodeid, 0.0))


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
