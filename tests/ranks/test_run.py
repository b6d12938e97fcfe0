"""A run of many ranks: collectives matched, the late rank and its module named."""

from __future__ import annotations

import gzip
import json
import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from ranks.traces import TRANSFER_MS, Spell, drop_collectives, write_run
from shared_traces import shared_trace

import tb_hookview as hookview
from tb_hookview.errors import TraceError, UsageError
from tb_hookview.ranks.document import notes, verdict_sentence
from tb_hookview.ranks.run import analyze_run
from tb_hookview.schema import Run

CONTRACT = {
    "ranks": "rank path steps step_us compute_us communication_us exposed_communication_us idle_us",
    "collectives": "name group sequence bytes ranks transfer_us wait_us late_rank late_module",
    "stragglers": "rank wait_caused_us share module finding",
}
EVEN = [Spell(), Spell(), Spell()]


def analyzed(folder: Path) -> Run:
    with ThreadPoolExecutor(1) as executor:
        return analyze_run(folder, executor=executor).data


@pytest.mark.parametrize("numbered", [True, False], ids=["numbered", "by order"])
@pytest.mark.parametrize(
    ("slow", "module", "reason"),
    [
        (Spell(b=9.0), "b", "module"),
        (Spell(a=8.0), "a", "module"),
        (Spell(loader=6.0), None, "data"),
    ],
    ids=["in b", "in a", "in the loader"],
)
def test_a_late_rank_is_named_with_what_it_spent_the_time_on(
    tmp_path: Path, slow: Spell, module: str | None, reason: str, *, numbered: bool
) -> None:
    run = analyzed(write_run(tmp_path, [Spell(), slow, Spell()], numbered=numbered))
    (straggler,) = run.stragglers
    excess = sum(slow) - sum(Spell())
    assert (straggler.rank, straggler.module, straggler.reason) == (1, module, reason)
    assert straggler.wait_caused_us == pytest.approx(excess * 1000, rel=0.01)
    assert straggler.excess_us == pytest.approx(excess * 1000, rel=0.01)
    assert straggler.gain_us_per_step == pytest.approx(excess * 1000, rel=0.01)
    assert {row.late_rank for row in run.collectives} == {1}


class Losing(ThreadPoolExecutor):
    """Loses the result of its first task, as Dask does when the worker that holds it dies."""

    losses = 1

    def submit(self, *args: Any, **kwargs: Any) -> Future[Any]:
        done = super().submit(*args, **kwargs)
        if self.losses:
            self.losses -= 1
            done.result()
            done = Future()
            done.set_exception(ValueError("not enough values to unpack"))
        return done


def test_a_result_that_an_executor_loses_is_computed_again(tmp_path: Path) -> None:
    with Losing(1) as executor:
        run = analyze_run(write_run(tmp_path, EVEN), executor=executor).data
    assert not executor.losses
    assert not run.unreadable
    assert len(run.ranks) == len(EVEN)


def test_no_rank_is_late_where_none_is(tmp_path: Path) -> None:
    run = analyzed(write_run(tmp_path, EVEN))
    assert not run.stragglers
    assert {row.late_rank for row in run.collectives} == {None}
    assert len(run.collectives) == 5


def test_what_a_rank_stays_after_the_others_is_nobodys_lateness(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [Spell(), Spell(b=9.0)], steps=8)
    (path,) = folder.glob("rank0.*")
    data = json.loads(gzip.decompress(path.read_bytes()))
    kernels = [row for row in data["traceEvents"] if row["cat"] == "kernel"]
    kernels[-1]["dur"] += 20_000
    path.write_bytes(gzip.compress(json.dumps(data).encode()))
    run = analyzed(folder)
    assert [row.wait_us for row in run.collectives] == pytest.approx([6000] * 8, abs=1)
    assert run.stragglers[0].wait_caused_us == pytest.approx(6000, abs=1)
    assert run.clock_spread_us == pytest.approx(0.0, abs=0.01)
    assert run.replay_error == pytest.approx(0.0, abs=0.001)


def test_transfer_waits_and_bandwidth_need_no_common_clock(tmp_path: Path) -> None:
    spells = [Spell(), Spell(b=9.0), Spell(b=5.0)]
    run = analyzed(write_run(tmp_path, spells, clocks=[0.0, 700.0, -300.0]))
    for row in run.collectives:
        assert row.transfer_us == pytest.approx(TRANSFER_MS * 1000 - 20, abs=1)
        assert row.wait_us == pytest.approx((6000 + 4000) / 2, abs=1)
        assert row.bus_gb_per_s == pytest.approx(4000 / 980e3 * 4 / 3, rel=0.01)
    assert run.clock_spread_us == pytest.approx(0.0, abs=0.01)
    assert [row.clock_offset_us for row in run.ranks] == pytest.approx([0, 7e5, -3e5], abs=0.01)
    assert [row.clock_spread_us for row in run.ranks] == pytest.approx([0, 0, 0], abs=0.01)
    assert [row.wait_us for row in run.ranks] == pytest.approx([6000, 0, 4000], abs=1)
    assert run.stragglers[0].gain_us_per_step == pytest.approx(4000, rel=0.01)


def test_a_recording_that_begins_later_shifts_nothing(tmp_path: Path) -> None:
    run = analyzed(write_run(tmp_path, [Spell(), Spell(b=9.0), Spell()], skipped={2: 2}))
    assert [row.ranks for row in run.collectives] == [2, 2, 3, 3, 3]
    assert run.stragglers[0].module == "b"


def test_what_fits_in_several_ways_is_named_by_its_kind_and_not_by_a_rank(tmp_path: Path) -> None:
    folder = write_run(tmp_path, EVEN, skipped={2: 1}, marked=False, grouped=False)
    run = analyzed(folder)
    assert not run.collectives
    assert run.warnings[0] == (
        "collectives without a group, all_reduce of 4000 bytes: not matched, as some trace does "
        "not show the steps that launched them, and their order fits in 6 ways"
    )


def test_what_does_not_fit_is_refused_and_named(tmp_path: Path) -> None:
    run = analyzed(write_run(tmp_path, EVEN, names={2: "broadcast"}))
    assert not run.collectives
    assert run.unmatched == 15
    (warning,) = run.warnings
    assert "rank2" in warning
    assert "broadcast of 4000 bytes where" in warning


def test_missing_and_unreadable_ranks_are_listed(tmp_path: Path) -> None:
    write_run(tmp_path, [Spell(), Spell(), Spell(), Spell(b=9.0)])
    (tmp_path / "rank1.1.pt.trace.json.gz").unlink()
    (tmp_path / "rank2.1.pt.trace.json.gz").write_bytes(b"\x1f\x8b nothing")
    run = analyzed(tmp_path)
    assert run.missing_ranks == [1, 2]
    (unreadable,) = run.unreadable
    assert "rank2" in unreadable.path
    assert unreadable.reason
    assert "rank2" not in unreadable.reason
    assert run.stragglers[0].rank == 3
    assert run.warnings == [WITHOUT_TRACE]
    assert notes(run)[-1] == "no trace of ranks 1, 2"


WITHOUT_TRACE = (
    "waits for a rank without a trace count as transfer: it may be the straggler, and waits are "
    "lower bounds"
)


def test_other_runs_and_older_traces_are_said(tmp_path: Path) -> None:
    write_run(tmp_path / "before", EVEN)
    write_run(tmp_path / "now", EVEN)
    for path in (tmp_path / "before").iterdir():
        os.utime(path, (1, 1))
    older = tmp_path / "now" / "rank0.0.pt.trace.json.gz"
    older.write_bytes((tmp_path / "now" / "rank0.1.pt.trace.json.gz").read_bytes())
    os.utime(older, (1, 1))
    run = analyzed(tmp_path)
    assert (len(run.ranks), len(run.collectives), run.world_size) == (3, 5, 3)
    for said in ("1 other runs in", "1 older traces of the same"):
        assert any(said in warning for warning in run.warnings), said


def test_a_trace_of_another_world_size_is_named_and_not_used(tmp_path: Path) -> None:
    write_run(tmp_path, EVEN)
    (tmp_path / "rank1.1.pt.trace.json.gz").unlink()
    write_run(tmp_path / "two", [Spell(), Spell(b=9.0)])
    (tmp_path / "two" / "rank1.1.pt.trace.json.gz").rename(tmp_path / "other.1.pt.trace.json.gz")
    (tmp_path / "two" / "rank0.1.pt.trace.json.gz").unlink()
    run = analyzed(tmp_path)
    assert (run.world_size, [row.rank for row in run.ranks]) == (3, [0, 2])
    assert run.missing_ranks == [1]
    assert not run.stragglers
    warning, other = run.warnings
    assert other == WITHOUT_TRACE
    assert warning == "of another world size than 3, 1 trace not used: other.1.pt.trace.json.gz"


def test_a_newer_run_of_another_world_size_is_the_run(tmp_path: Path) -> None:
    write_run(tmp_path, [Spell(), Spell()], later=100.0, process="b")
    write_run(tmp_path, EVEN)
    for path in tmp_path.iterdir():
        os.utime(path, (2, 2) if "b" in path.name else (1, 1))
    run = analyzed(tmp_path)
    assert (run.world_size, len(run.ranks)) == (2, 2)
    assert "of another world size than 2, 3 traces not used: " in run.warnings[0]


def test_a_rank_that_only_an_earlier_recording_has_is_missing(tmp_path: Path) -> None:
    write_run(tmp_path, [Spell(), Spell(b=9.0), Spell()])
    write_run(tmp_path, EVEN, later=1000.0, process="b")
    (tmp_path / "rank1b.1.pt.trace.json.gz").unlink()
    for path in tmp_path.iterdir():
        os.utime(path, (2, 2) if "b" in path.name else (1, 1))
    run = analyzed(tmp_path)
    assert (run.missing_ranks, [row.rank for row in run.ranks]) == ([1], [0, 2])
    assert not run.stragglers
    warning, other = run.warnings
    assert other == WITHOUT_TRACE
    assert notes(run)[-1] == "no trace of rank 1"
    assert warning.startswith("of earlier recordings, 3 traces not used: ")


@pytest.mark.parametrize("ahead", [7.2e6, -1000.0], ids=["hours", "as long as between two runs"])
def test_clocks_that_are_apart_part_no_run(tmp_path: Path, ahead: float) -> None:
    spells = [Spell(), Spell(b=9.0), Spell()]
    write_run(tmp_path, spells, clocks=[0.0, ahead, 0.0], later=1000.0)
    write_run(tmp_path, spells, clocks=[0.0, ahead, 0.0], later=2000.0, process="b")
    for path in tmp_path.iterdir():
        os.utime(path, (2, 2) if "b" in path.name else (1, 1))
    run = analyzed(tmp_path)
    assert [row.rank for row in run.ranks] == [0, 1, 2]
    assert run.stragglers[0].rank == 1


def test_a_trace_that_was_cut_off_is_named_and_its_other_steps_fit(tmp_path: Path) -> None:
    write_run(tmp_path, [Spell(), Spell(), Spell(b=9.0)], grouped=False)
    path = tmp_path / "rank1.1.pt.trace.json.gz"
    text = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(text[: text.index(b"ProfilerStep#3")]))
    run = analyzed(tmp_path)
    assert [row.ranks for row in run.collectives] == [3, 3, 3, 2, 2]
    assert (run.stragglers[0].rank, run.stragglers[0].module) == (2, "b")
    (warning,) = run.warnings
    assert str(path) in warning
    assert "ends before its JSON does" in warning


@pytest.mark.parametrize(("twice", "matched"), [([2], [0, 1, 3, 4]), ([1, 2, 3], [])])
def test_without_groups_the_steps_that_differ_are_refused(
    tmp_path: Path, twice: list[int], matched: list[int]
) -> None:
    """All of them where they are most of the steps: then the others may fit by chance."""
    spells = [Spell(), Spell(), Spell(b=9.0)]
    run = analyzed(write_run(tmp_path, spells, grouped=False, twice={1: twice}))
    (warning,) = run.warnings
    assert "different numbers of them in a step" in warning
    assert ("those of 1 step are not matched" in warning) == bool(matched)
    assert [row.step for row in run.collectives] == [f"ProfilerStep#{n}" for n in matched]
    assert [row.module for row in run.stragglers] == ["b"] * bool(matched)


def test_waits_of_a_step_without_a_match_are_unknown_and_in_no_mean(tmp_path: Path) -> None:
    spells = [Spell(), Spell(), Spell(b=9.0)]
    run = analyzed(write_run(tmp_path, spells, grouped=False, twice={1: [2]}))
    waits = {row.name: row.wait_us for row in run.steps if row.rank_id == 0}
    assert [waits[f"ProfilerStep#{step}"] for step in range(1, 5)] == [6000, None, 6000, 6000]
    assert run.ranks[0].wait_us == 6000


def test_what_made_a_rank_late_in_a_step_without_a_match_is_no_excess_of_the_next(
    tmp_path: Path,
) -> None:
    spells = [Spell(), Spell(), Spell(b=9.0)]
    whole = analyzed(write_run(tmp_path / "whole", spells, grouped=False)).stragglers[0]
    run = write_run(tmp_path / "lacking", spells, grouped=False, twice={1: [2]})
    (row,) = analyzed(run).stragglers
    assert (row.steps, row.module, row.excess_us) == (3, "b", whole.excess_us)
    assert row.left_step_us == pytest.approx(whole.left_step_us)


@pytest.mark.parametrize("device", [True, False])
def test_a_rank_whose_collectives_are_not_recorded_may_be_the_straggler(
    tmp_path: Path, device: bool
) -> None:
    """Neither its waits nor what it communicates is 0, nor is what its host ran of its device."""
    write_run(tmp_path, [Spell(), Spell(), Spell(b=9.0)])
    drop_collectives(tmp_path / "rank2.1.pt.trace.json.gz", device=device)
    run = analyzed(tmp_path)
    lacking, first = run.ranks[2], run.ranks[0]
    assert (lacking.communication_us, lacking.exposed_communication_us) == (None, None)
    assert (lacking.idle_us, lacking.wait_us) == (None, None)
    assert (lacking.compute_us is None) == (not device)
    assert (first.wait_us, run.stragglers) == (0, [])
    (note,) = notes(run)
    assert note.startswith("note: rank 2 shows no collective, unlike the others")
    assert "of those that show collectives; mean of 2 ranks" in verdict_sentence(run)


def test_recordings_of_other_steps_are_not_matched(tmp_path: Path) -> None:
    write_run(tmp_path, EVEN, steps=3)
    (tmp_path / "rank0.1.pt.trace.json.gz").rename(tmp_path / "kept")
    write_run(tmp_path, EVEN, steps=6, skipped={1: 3, 2: 3})
    (tmp_path / "kept").rename(tmp_path / "rank0.1.pt.trace.json.gz")
    run = analyzed(tmp_path)
    assert {row.ranks for row in run.collectives} <= {2}
    assert any("in none of the steps" in warning for warning in run.warnings)


def test_progress_counts_the_traces(tmp_path: Path) -> None:
    said: list[tuple[str, float | None]] = []
    write_run(tmp_path, EVEN)
    with ThreadPoolExecutor(1) as executor:
        analyze_run(tmp_path, executor, progress=lambda *stage: said.append(stage))
    assert [stage for stage, _ in said] == ["ranks"] * 4
    assert [done for _, done in said] == pytest.approx([0, 1 / 3, 2 / 3, 1])


def test_a_folder_of_nothing_but_damage_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "rank2.1.pt.trace.json.gz").write_bytes(b"\x1f\x8b nothing")
    with pytest.raises(TraceError, match="none of 1 traces can be read"):
        analyzed(tmp_path)


def test_processes_answer_as_this_one_does(tmp_path: Path) -> None:
    write_run(tmp_path, [Spell(), Spell(b=9.0), Spell()])
    assert analyze_run(tmp_path, "processes:2").data == analyzed(tmp_path)


def test_tables_of_a_run_are_frames(tmp_path: Path) -> None:
    run = hookview.analyze_run(write_run(tmp_path, [Spell(), Spell(b=9.0), Spell()]))
    assert run.stragglers.to_pandas()["module"].tolist() == ["b"]
    assert run.collectives.to_polars()["late_rank"].to_list() == [1] * 5
    assert run.ranks.to_arrow()["rank"].to_pylist() == [0, 1, 2]
    assert len(run.steps) == 15
    answer = json.loads(run.to_json())
    assert answer["schema"] == 1
    for table, fields in CONTRACT.items():
        assert set(fields.split()) <= answer[table][0].keys(), table


def test_a_notebook_shows_stragglers_and_ranks(tmp_path: Path) -> None:
    run = hookview.analyze_run(write_run(tmp_path, [Spell(), Spell(b=9.0), Spell()]))
    html = run._repr_html_()
    assert "rank 1 is a straggler" in html
    assert html.count("<table>") == 2
    assert "in module b (forward) than the others" in str(run)


def test_a_rank_without_collectives_has_a_summary(tmp_path: Path) -> None:
    """A trace may say how many ranks there are, and hold no collective."""
    row = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 5}
    text = json.dumps({"distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": [row]})
    (tmp_path / "rank0.1.pt.trace.json").write_text(text)
    run = analyzed(tmp_path)
    assert (len(run.ranks), run.missing_ranks, run.collectives) == (1, [1], [])


@pytest.mark.parametrize("name", ["spark", "mpi:2", "processes:0", "processes:x"])
def test_an_unknown_executor_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=name):
        analyze_run(write_run(tmp_path, EVEN), name)


def test_ranks_that_do_not_leave_together_are_doubted(tmp_path: Path) -> None:
    """Of these two every rank's trace holds other collectives of the same steps."""
    for rank in range(2):
        trace = shared_trace(f"hta_sampled_rank-{rank}")
        (tmp_path / f"rank{rank}.1.pt.trace.json.gz").write_bytes(trace.read_bytes())
    run = analyzed(tmp_path)
    assert [row.rank for row in run.ranks] == [0, 1]
    assert any("may not belong together" in text for text in run.warnings)
    assert any("in none of the steps in which others do" in text for text in run.warnings)
    assert not run.stragglers


def test_a_finding_is_one_of_the_place_that_is_named(tmp_path: Path) -> None:
    """The host's work in a module launches nothing, and so is no device work of a module."""
    run = analyzed(write_run(tmp_path, [*EVEN, Spell(loader=6.0), Spell(b=20.0, loader=6.0)]))
    named = [(row.rank, row.reason, row.finding) for row in run.stragglers]
    assert named == [(4, "module", "host-work"), (3, "data", "loader-single-process")]


def test_a_rank_that_comes_early_waits_for_none_of_the_others(tmp_path: Path) -> None:
    """They come together, the last of them by a little later: on time it would end no wait."""
    spells = [Spell(b=3.0), Spell(b=15.0), Spell(b=15.1), Spell(b=15.2)]
    run = analyzed(write_run(tmp_path / "early", spells))
    assert not run.stragglers
    assert run.suspect is None
    half = analyzed(write_run(tmp_path / "half", [spells[0], spells[0], spells[1], spells[1]]))
    assert {row.rank for row in half.stragglers} == {2, 3}
