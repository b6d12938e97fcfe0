"""What a run says of its stragglers."""

from __future__ import annotations

from pathlib import Path

import pytest
from ranks.test_run import EVEN, analyzed
from ranks.traces import Spell, write_run
from shared_traces import shared_trace

from tb_hookview.comparison.document import runs_document
from tb_hookview.comparison.runs import compare_runs
from tb_hookview.document.document import Table
from tb_hookview.document.plain import plain_text
from tb_hookview.ranks.document import run_document, straggler_lines, verdict_sentence


def test_the_first_says_what_it_costs_and_the_next_what_is_left(tmp_path: Path) -> None:
    run = analyzed(write_run(tmp_path, [*EVEN, Spell(b=15.0), Spell(a=7.0, loader=3.0)]))
    assert straggler_lines(run.stragglers) == [
        "rank 3 is a straggler: the others wait 10.0 ms per step for it (55.6%), in 4 of 4 steps",
        "  it spends 12.0 ms more in module b (forward) than the others; without that a step takes "
        "14.0 ms, 4.00 ms less",
        "  its finding: host-work",
        "rank 4 is next: with rank 3 fixed the others still wait 8.00 ms per step for it (44.4%), "
        "in 4 of 4 steps",
        "  it spends 8.00 ms more (5.00 ms in module a (forward), 3.00 ms on data loading) than "
        "the others; without that a step takes 6.00 ms, 8.00 ms less",
    ]


@pytest.mark.parametrize(
    ("late", "shown"), [(Spell(b=15.0), "b"), (Spell(loader=9.0), "(on data loading)")]
)
def test_what_is_no_module_is_none_in_the_table(tmp_path: Path, late: Spell, shown: str) -> None:
    document = run_document(analyzed(write_run(tmp_path, [*EVEN, late])))
    (table,) = (part for part in document.parts if part.title.startswith("Collectives for"))
    assert isinstance(table, Table)
    assert {row[table.columns.index("module")] for row in table.rows} >= {shown}


def test_one_step_of_a_real_run() -> None:
    """Most of its waits are before the first moment at which all ranks had met.

    It is 3.78 ms late at the first collective, as it began the step later: there it took 105 us
    longer than the others. At the second it is 0.89 ms late, and took no longer: their hosts had
    waited less than their devices.
    """
    run = analyzed(shared_trace("param_dlrm_8_ranks").parent)
    first, *why = straggler_lines(run.stragglers)
    assert first == (
        "rank 7 may be a straggler: the others wait 3.80 ms per step for it (23.8%), in the only "
        "step that is compared"
    )
    assert [line for line in why if line.startswith("  the cause of 3.80 ms is unknown")]
    assert [line for line in why if line.startswith("  one step was compared")]


def test_traces_that_mark_no_steps_are_not_spoken_of_as_steps(tmp_path: Path) -> None:
    spells = [*EVEN, Spell(b=15.0)]
    run = analyzed(write_run(tmp_path / "run", spells, steps=2, marked=False))
    assert not run.marked
    first, why, *_, last = straggler_lines(run.stragglers, marked=run.marked)
    assert first.endswith("the others wait 12.0 ms in these traces for it (33.3%)")
    assert any(
        "a wait of 12.0 ms at the first collective is not counted" in w for w in run.warnings
    )
    assert "without that a trace takes " in why
    assert last == "  no steps are marked: mark several, as another rank may be late in each"
    even = analyzed(write_run(tmp_path / "even", EVEN, steps=1, marked=False))
    for document in (
        run_document(run),
        run_document(even),
        runs_document(compare_runs(even, run), 9),
    ):
        assert "step" not in plain_text(document).replace(last, "").replace(
            str(tmp_path), ""
        ).replace("no steps are marked", "")


def test_one_rank_alone_shows_no_straggler(tmp_path: Path) -> None:
    sentence = verdict_sentence(analyzed(write_run(tmp_path, [Spell()])))
    assert sentence.startswith("One rank alone shows no straggler: ")


def test_without_a_matched_collective_stragglers_are_unknown(tmp_path: Path) -> None:
    names = {0: "allreduce", 1: "broadcast"}
    run = analyzed(write_run(tmp_path, [Spell(), Spell(b=9.0)], names=names))
    assert (len(run.collectives), run.unmatched > 0) == (0, True)
    assert verdict_sentence(run).startswith(
        "No collective is matched, stragglers are unknown; mean of 2 ranks: "
    )


@pytest.mark.parametrize(
    ("later", "steps", "first"),
    [
        (
            0.12,
            9,
            "No rank is a straggler: rank 3 comes last to 9 of 9 collectives, but the others wait "
            "only 120 us (2.0%) per step for it, less than 3.0%; mean of 4 ranks: ",
        ),
        (0.12, 3, "No rank is a straggler beyond chance; mean of 4 ranks: "),
        (0.0, 9, "No rank is a straggler beyond chance; mean of 4 ranks: "),
    ],
)
def test_a_rank_that_always_comes_last_but_costs_little_is_named(
    tmp_path: Path, later: float, steps: int, first: str
) -> None:
    spells = [*EVEN, Spell(b=3.0 + later)]
    run = analyzed(write_run(tmp_path / "run", spells, steps=steps))
    assert verdict_sentence(run).startswith(first)
