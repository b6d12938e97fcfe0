"""Any window of a trace is a trace: what holds of each holds of it, and it exceeds no sum."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

import gallery
import pytest
from damage.windows import window
from invariants.case import Case
from invariants.registry import Of, broken, explained
from invariants.report import at_most

TRACES = gallery.kinds_of_traces(150_000)
WINDOWS = 40


@cache
def whole(path: Path) -> Case:
    return Case(path)


@pytest.mark.parametrize("seed", range(WINDOWS))
def test_a_window_is_a_trace(seed: int, tmp_path: Path) -> None:
    check(TRACES[seed % len(TRACES)], seed, tmp_path)


def check(path: Path, seed: int, folder: Path) -> None:
    """Draw a window of a trace; fail where an invariant, or a sum of the whole, contradicts it."""
    full = whole(path)
    cut = folder / "window.json"
    text, said = window(full.text, Random(seed))
    cut.write_bytes(text)
    case = Case(cut)
    if not case.is_readable:
        assert "no event" in str(case.read), f"{case.read} ({said})"
        return
    if found := broken(case, Of.TRACES):
        pytest.fail(f"{gallery.label(path)}: {said}\n{explained(case, found)}", pytrace=False)
    if "moved" not in said:
        exceeds_nothing(case, full, said)


def exceeds_nothing(case: Case, full: Case, said: str) -> None:
    """A part has no more of anything than the whole."""
    part, of = case.data.totals, full.data.totals
    assert (part.sync_blocked_us or 0.0) <= at_most(of.sync_blocked_us or 0.0), said
    for device, busy in part.device_busy_us.items():
        assert busy <= at_most(of.device_busy_us[device]), said
    by_kind = of.device_us_by_kind
    assert sum(part.device_us_by_kind.values()) <= at_most(sum(by_kind.values())), said
