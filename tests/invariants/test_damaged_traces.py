"""What holds of any file, of recorded traces that were damaged at random."""

from __future__ import annotations

from pathlib import Path
from random import Random

import gallery
import pytest
from damage.rows import thinned
from fuzz.damage import damage_trace
from invariants.case import Case
from invariants.registry import Of, broken, explained

EVENTS, TIMES = 200, 2
"""Of each trace: how many events are left, and how many times they are damaged."""


@pytest.mark.parametrize("path", gallery.kinds_of_traces(100_000), ids=gallery.label)
def test_all_that_holds_of_a_file(path: Path, tmp_path: Path) -> None:
    text = thinned(Case(path).text, EVENTS)
    random = Random(gallery.label(path))  # each in ways of its own
    for number in range(TIMES):
        damaged = tmp_path / f"{path.name}.{number}.json"
        damaged.write_bytes(damage_trace(text, random))
        case = Case(damaged)
        if found := broken(case, Of.FILES):
            pytest.fail(explained(case, found), pytrace=False)
