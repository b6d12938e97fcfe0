"""What a run says of a straggler."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from ranks.test_run import EVEN, analyzed
from ranks.traces import Spell, write_run
from shared_traces import shared_trace

from tb_hookview.ranks.lines import summary_lines
from tb_hookview.schema import Run

LEFT_OUT, ONE_STEP = "  not in that: ", "  one step was compared"


def lines_of(run: Run, start: str) -> list[str]:
    return [line for line in summary_lines(run) if line.startswith(start)]


@pytest.fixture
def late(tmp_path: Path) -> Run:
    return analyzed(write_run(tmp_path, [*EVEN, Spell(b=9.0)]))


def test_nothing_is_added_where_a_straggler_is_late_in_every_step(late: Run) -> None:
    assert late.stragglers
    assert not lines_of(late, LEFT_OUT)
    assert not lines_of(late, ONE_STEP)


def test_waits_that_are_not_in_the_figure_are_named(late: Run) -> None:
    (straggler,) = late.stragglers
    caused = sum(row.wait_us for row in late.collectives) / len(late.collectives)
    less = replace(straggler, wait_caused_us=caused - 1500, of_steps=straggler.of_steps)
    (line,) = lines_of(replace(late, stragglers=[less]), LEFT_OUT)
    assert line.startswith("  not in that: 1.50 ms of waiting for it")


def test_one_step_of_a_real_run() -> None:
    """By its table: it came last in 3.78 ms of waits, before which all ranks had not met."""
    run = analyzed(shared_trace("param_dlrm_8_ranks").parent)
    assert lines_of(run, "rank 7 is a straggler: the others wait 1.30 ms per step")
    assert lines_of(run, "  not in that: 3.78 ms")
    assert lines_of(run, ONE_STEP)
