"""In which of its passes the module of a straggler takes longer."""

from __future__ import annotations

from pathlib import Path

import pytest
from ranks.test_run import analyzed
from ranks.traces import Spell, write_run

from tb_hookview.ranks.document import straggler_lines

EVEN = Spell(backward=4.0)


@pytest.mark.parametrize(
    ("late", "phase"),
    [
        (Spell(backward=16.0), "backward"),
        (Spell(b=15.0, backward=4.0), "forward"),
        (Spell(b=5.0, backward=16.0), "backward"),
    ],
    ids=["backward", "forward", "both"],
)
def test_the_pass_in_which_most_of_the_time_goes(tmp_path: Path, late: Spell, phase: str) -> None:
    run = analyzed(write_run(tmp_path, [EVEN, late, EVEN]))
    (row,) = run.stragglers
    (reason,) = row.reasons
    assert (reason.module, reason.phase) == ("b", phase)
    assert f"more in module b ({phase}) than the others" in straggler_lines(run.stragglers)[1]


def test_what_is_no_module_has_no_pass(tmp_path: Path) -> None:
    run = analyzed(write_run(tmp_path, [Spell(), Spell(loader=12.0), Spell()]))
    ((reason,),) = (row.reasons for row in run.stragglers)
    assert (reason.reason, reason.module, reason.phase) == ("data", None, None)
