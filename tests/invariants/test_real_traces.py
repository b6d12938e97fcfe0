"""Every invariant, of a recorded trace of each run: one test a trace, which is read once."""

from __future__ import annotations

from pathlib import Path

import gallery
import pytest
import shared_traces
from invariants.case import Case
from invariants.registry import Of, broken, explained, invariants
from invariants.rules import documented

from tb_hookview.rules.catalogue import RULES

QUICK = gallery.kinds_of_traces(150_000)
"""Of these all is asked in well under a second."""


def param(path: Path) -> object:
    marks = [] if path in QUICK else [pytest.mark.slow]
    return pytest.param(path, id=gallery.label(path), marks=marks)


@pytest.fixture(scope="session")
def only(request: pytest.FixtureRequest) -> set[str]:
    """Names given with `--invariant`."""
    chosen = set(request.config.getoption("--invariant", default=[]))
    if unknown := chosen - {each.name for each in invariants()}:
        raise pytest.UsageError(f"no invariant {', '.join(sorted(unknown))}")
    return chosen


@pytest.mark.parametrize("path", [param(path) for path in gallery.kinds_of_traces()])
def test_all_that_holds_of_a_recording(path: Path, only: set[str]) -> None:
    case = Case(path)
    if found := broken(case, Of.RECORDINGS, only):
        pytest.fail(explained(case, found), pytrace=False)


@pytest.mark.skipif(
    not shared_traces.FOLDER.is_dir(), reason="no ../shared/traces next to the checkout"
)
def test_the_document_of_rules_lists_traces_and_rules_that_exist() -> None:
    traces = [
        path.relative_to(shared_traces.FOLDER).as_posix() for path in shared_traces.all_traces()
    ]
    for trace, rules in documented().items():
        assert rules <= {rule.id for rule in RULES}, trace
        assert any(name.startswith((f"{trace}.", f"{trace}/")) for name in traces), trace
