"""`hookview history`: slow steps and slow ranks, from files of steps alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from tb_hookview.cli import main
from tb_hookview.errors import TraceError
from tb_hookview.history.answer import read_history
from tb_hookview.history.rows import read_run
from tb_hookview.history.tables import tables_of
from tb_hookview.schema.history import History

USUAL = {"data_us": 50, "forward_us": 300, "backward_us": 500, "optimizer_us": 100, "gc_us": 0}
BLOCKS = ["embed", "layers.0", "layers.1"]


def row(step: int, more: dict[str, Any] | None = None) -> dict[str, Any]:
    """A step of a millisecond, with three blocks; `more` adds to a part and to the step."""
    made: dict[str, Any] = {"step": step, "time": step * 0.001, "gc_count": 0, **USUAL}
    made |= {"after_backward_us": 10, "duration_us": 1000}
    made |= {"forward": [100, 100, 100], "backward": [100, 200, 200]}
    for name, us in (more or {}).items():
        part, _, block = name.partition(" ")
        if block:
            made[part][BLOCKS.index(block)] += us
        made[f"{part}_us"] += us
        made["duration_us"] += us
    return made


def write(
    folder: Path,
    steps: int,
    slow: Callable[[int], dict[str, Any] | None] = lambda _: None,
    *,
    rank: int = 0,
    world: int = 1,
    extra: str = "",
    began: float = 1.0,
) -> Path:
    folder.mkdir(exist_ok=True)
    header = {"watch": 1, "rank": rank, "world_size": world, "began": began, "blocks": BLOCKS}
    lines = [json.dumps(each) for each in [header, *(row(n, slow(n)) for n in range(1, steps + 1))]]
    path = folder / f"rank{rank}_host_{int(began)}.1700000000000000{rank}00.steps.jsonl"
    path.write_text("\n".join(lines) + "\n" + extra)
    return folder


def test_an_even_training_has_no_slow_step_and_names_nobody(tmp_path):
    for rank in range(4):
        write(tmp_path, 60, rank=rank, world=4)
    said = read_history(str(tmp_path))
    assert (said.slow_steps, said.slow_steps_total, said.slow_ranks) == ([], 0, [])
    assert (said.step_us, said.first_step, said.last_step) == (1000.0, 1, 60)
    assert [rank.measured_steps for rank in said.ranks] == [55] * 4
    assert said.missing_ranks == []


def test_steps_that_become_slow_are_one_row_with_the_block(tmp_path):
    write(tmp_path, 200, lambda step: {"backward layers.1": 900} if step >= 120 else None)
    (slow,) = read_history(str(tmp_path)).slow_steps
    assert (slow.first, slow.last, slow.steps) == (120, 200, 81)
    assert (slow.step_us, slow.median_us, slow.excess_us) == (1900.0, 1000.0, 81 * 900.0)
    assert slow.recording_id is None
    (cause,) = slow.causes
    assert (cause.rank, cause.part, cause.block) == (0, "backward", "layers.1")
    assert cause.excess_us == 900.0


def test_a_rise_that_lasts_is_one_row_to_its_end_whatever_its_steps_vary(tmp_path):
    """By 25%: half of the steps are below 1.3 times the median before."""

    def slow(step: int) -> dict[str, Any]:
        noise = 137 * step % 100
        return {"optimizer": noise, "backward layers.1": 250 if step >= 400 else 0}

    write(tmp_path, 1000, slow)
    said = read_history(str(tmp_path))
    (row,) = said.slow_steps
    assert (row.first, row.last, row.lasting, row.steps) == (400, 1000, True, 601)
    assert row.step_us / row.median_us == pytest.approx(1.24, abs=0.01)
    assert [(cause.part, cause.block) for cause in row.causes] == [("backward", "layers.1")]
    assert said.slow_steps_total == 601
    assert "since 400" in invoke("history", tmp_path).output


def test_a_rise_ends_where_it_is_back_and_another_row_where_it_rises_further(tmp_path):
    def slow(step: int) -> dict[str, Any] | None:
        more = (step >= 300) * 400 + (step >= 400) * 600
        return {"data": more} if more and step < 500 else None

    write(tmp_path, 700, slow)
    rows = sorted(read_history(str(tmp_path)).slow_steps, key=lambda row: row.first)
    assert [(row.first, row.last, row.steps) for row in rows] == [(300, 399, 100), (400, 499, 100)]
    assert [(row.step_us, row.median_us) for row in rows] == [(1400, 1000), (2000, 1000)]
    assert "300-399" in invoke("history", tmp_path).output


def test_a_slow_step_on_a_risen_level_is_a_row_of_its_own(tmp_path):
    def slow(step: int) -> dict[str, Any] | None:
        if step == 450:
            return {"data": 5000}
        return {"backward layers.1": 900} if step >= 300 else None

    write(tmp_path, 600, slow)
    said = read_history(str(tmp_path))
    lasting, spike = said.slow_steps
    assert (lasting.lasting, lasting.first, lasting.steps) == (True, 300, 301)
    assert (spike.lasting, spike.first, spike.last) == (False, 450, 450)
    assert (spike.median_us, spike.excess_us) == (1900, 4100)
    assert said.slow_steps_total == 301
    assert [cause.part for cause in spike.causes] == ["data"]


def test_where_all_parts_take_longer_alike_none_is_named(tmp_path):
    parts = {name[:-3]: us for name, us in USUAL.items() if us}
    busy = {"data": 50, "forward embed": 100, "backward layers.1": 200}
    busy |= {"forward layers.0": 100, "forward layers.1": 100, "backward embed": 100}
    busy |= {"backward layers.0": 200, "optimizer": 100}
    assert sum(busy.values()) == sum(parts.values())
    write(tmp_path, 300, lambda step: busy if step >= 150 else None)
    (row,) = read_history(str(tmp_path)).slow_steps
    assert (row.first, row.lasting, row.causes) == (150, True, [])


def test_a_few_faster_steps_do_not_make_those_after_them_slow(tmp_path):
    write(
        tmp_path, 600, lambda step: {"data": -50, "backward": -250} if 200 <= step < 250 else None
    )
    assert read_history(str(tmp_path)).slow_steps == []


def test_the_time_lost_is_of_all_slow_steps_those_beyond_the_rows_too(tmp_path):
    """One step in ten is slow, 120 in all, and 100 are listed."""
    write(tmp_path, 1300, lambda step: {"data": 900} if step > 100 and not step % 10 else None)
    said = read_history(str(tmp_path))
    assert (len(said.slow_steps), said.slow_steps_total) == (100, 120)
    assert said.slow_excess_us == 120 * 900.0


@pytest.mark.parametrize(
    ("more", "part", "block"),
    [
        ({"data": 900}, "data", None),
        ({"optimizer": 900}, "optimizer", None),
        ({"forward": 900}, "forward", None),
        ({"forward embed": 900}, "forward", "embed"),
    ],
)
def test_what_took_longer_is_named(tmp_path, more, part, block):
    write(tmp_path, 80, lambda step: more if step == 60 else None)
    (slow,) = read_history(str(tmp_path)).slow_steps
    assert [(cause.part, cause.block) for cause in slow.causes] == [(part, block)]


def without_blocks(folder: Path, *, every: int) -> None:
    """Leave times of blocks in one of N steps only."""
    (path,) = folder.iterdir()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line.get("step", 0) % every:
            del line["forward"], line["backward"]
    path.write_text("\n".join(map(json.dumps, lines)))


@pytest.mark.parametrize(("step", "block"), [(60, "embed"), (61, None)])
def test_in_a_step_whose_blocks_were_not_timed_the_phase_is_named(tmp_path, step, block):
    write(tmp_path, 80, lambda each: {"forward embed": 900} if each == step else None)
    without_blocks(tmp_path, every=4)
    said = read_history(str(tmp_path))
    (slow,) = said.slow_steps
    assert [(cause.part, cause.block) for cause in slow.causes] == [("forward", block)]
    assert [cause.excess_us for cause in slow.causes] == [900.0]
    assert said.ranks[0].block_steps == 20
    assert set(said.points.forward["embed"]) == {100.0, 1000.0 if block else 100.0, None}
    parts = {name: values[70] for name, values in said.points.parts.items()}
    assert (parts["forward"], parts["other"]) == (300.0, 40.0)
    assert "blocks were timed in 25% of the steps" in invoke("history", tmp_path).output


@pytest.mark.parametrize(("step", "part"), [(60, "forward"), (61, None), (62, "data")])
def test_where_phases_are_timed_in_some_steps_what_is_left_over_is_unknown_in_others(
    tmp_path, step, part
):
    more = {f"{part or 'forward'}": 900}
    write(tmp_path, 80, lambda each: more if each == step else None)
    without_blocks(tmp_path, every=4)
    (path,) = tmp_path.iterdir()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line.get("step", 0) % 4:
            phases = ["forward_us", "backward_us", "after_backward_us", "optimizer_us"]
            line |= {**dict.fromkeys(phases), "phases": False}
    path.write_text("\n".join(map(json.dumps, lines)))
    said = read_history(str(tmp_path))
    (slow,) = said.slow_steps
    assert [cause.part for cause in slow.causes] == ([part] if part else [])
    assert said.ranks[0].phase_steps == 20
    other = said.points.parts["other"]
    assert {value for value in other if value is not None} == {40.0}
    assert other.count(None) == 61  # step 4 is one of the first, which count for nothing
    assert "optimizer were timed in 25% of the steps" in invoke("history", tmp_path).output


def test_slow_ranks_are_named_by_blocks_that_are_timed_in_some_steps(tmp_path):
    for rank, more in enumerate([{"backward layers.1": 300}, None, None]):
        folder = tmp_path / str(rank)
        write(folder, 120, lambda _, m=more: m, rank=rank, world=3)
        without_blocks(folder, every=3)
        (path,) = folder.iterdir()
        path.rename(tmp_path / path.name)
        folder.rmdir()
    (row,) = read_history(str(tmp_path)).slow_ranks
    assert (row.rank, row.part, row.block, row.excess_us) == (0, "backward", "layers.1", 300.0)


def test_a_collection_is_the_cause_and_not_where_it_happened(tmp_path):
    def slow(step: int) -> dict[str, Any] | None:
        return {"forward embed": 900} if step == 60 else None

    write(tmp_path, 80, slow)
    path = next(tmp_path.iterdir())
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[60] |= {"gc_us": 880, "gc_count": 1}
    path.write_text("\n".join(map(json.dumps, lines)))
    (found,) = read_history(str(tmp_path)).slow_steps
    assert [cause.part for cause in found.causes] == ["garbage collection"]


def test_waiting_for_another_rank_names_that_rank(tmp_path):
    write(tmp_path, 80, lambda n: {"after_backward": 900} if n == 60 else None, world=2)
    write(tmp_path, 80, lambda n: {"data": 900} if n == 60 else None, rank=1, world=2)
    (slow,) = read_history(str(tmp_path)).slow_steps
    assert [(cause.rank, cause.part) for cause in slow.causes] == [(1, "data")]


def test_ranks_that_need_longer_all_the_time_are_named_each_for_its_own(tmp_path):
    ways: list[dict[str, Any] | None] = [{"backward layers.1": 300}, {"data": 300}, None, None]
    for rank, more in enumerate(ways):
        wait = {} if more else {"after_backward": 300}
        write(tmp_path, 120, lambda _, m=more, w=wait: m or w, rank=rank, world=4)
    found = read_history(str(tmp_path)).slow_ranks
    assert sorted((row.rank, row.part, row.block) for row in found) == [
        (0, "backward", "layers.1"),
        (1, "data", None),
    ]
    assert {row.excess_us for row in found} == {300.0}


def test_recorded_steps_and_the_first_count_for_nothing(tmp_path):
    write(tmp_path, 80, lambda step: {"data": 90_000} if step < 6 or step == 50 else None)
    path = next(tmp_path.iterdir())
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[50]["recording"] = "recorded"
    path.write_text("\n".join(map(json.dumps, lines)))
    said = read_history(str(tmp_path))
    assert (said.slow_steps_total, said.step_us) == (0, 1000.0)


def test_what_is_not_whole_is_counted(tmp_path):
    write(tmp_path, 30, extra='{"step": 31, "dura\n[1]\n{"step": 33, "duration_us": 1000}')
    (rank,) = read_history(str(tmp_path)).ranks
    assert (rank.steps, rank.lost_lines, rank.missing_steps) == (31, 2, 2)


def test_the_newest_watch_of_a_rank_counts(tmp_path):
    write(tmp_path, 90, began=1.0)
    write(tmp_path, 20, began=2.0)
    said = read_history(str(tmp_path))
    assert (said.last_step, said.earlier) == (20, 1)


def test_a_recording_is_listed_and_whether_its_file_is_there(tmp_path):
    said = {"start": 12, "steps": 3, "reason": "slow", "asked_by": 0, "ratio": 1.8}
    lines = [json.dumps({"recorded": name, **said}) for name in ("gone.gz", "there.gz")]
    write(tmp_path, 30, extra="\n".join(lines))
    (tmp_path / "there.gz").touch()
    found = read_history(str(tmp_path)).recordings
    assert [(each.file, each.kept, each.start) for each in found] == [
        ("gone.gz", False, 12),
        ("there.gz", True, 12),
    ]


def test_slow_steps_lead_to_the_nearest_recording_that_is_there(tmp_path):
    def made(rank: int, *starts: int) -> str:
        said = {"steps": 3, "reason": "slow", "asked_by": 0}
        return "\n".join(
            json.dumps({"recorded": f"{rank}.{start}.gz", "start": start, **said})
            for start in starts
        )

    late = {20: 0, 50: 0, 80: 1, 140: 1}
    for rank in (0, 1):
        write(
            tmp_path,
            200,
            lambda step, rank=rank: {"data": 900} if late.get(step) == rank else None,
            rank=rank,
            world=2,
            extra=made(rank, 10, 51, 79, 120),
        )
    for name in ("0.10.gz", "0.79.gz", "1.79.gz", "0.120.gz"):
        (tmp_path / name).touch()
    said = read_history(str(tmp_path))
    files = {row.id: row.file for row in said.recordings}
    found = {row.first: files[row.recording_id] for row in said.slow_steps}
    assert found == {20: "0.10.gz", 50: "0.79.gz", 80: "1.79.gz", 140: "0.120.gz"}
    output = invoke("history", tmp_path).output
    assert "recording nearest to 80: " in output
    assert f"{tmp_path}/1.79.gz" in output.replace("\n", "")


def test_points_are_bounded_and_hold_all_steps(tmp_path):
    write(tmp_path, 2000)
    points = read_history(str(tmp_path)).points
    assert len(points.first) == 300
    assert (points.first[0], points.last[-1]) == (1, 2000)
    assert all(a + 1 == b for a, b in zip(points.last, points.first[1:], strict=False))
    parts = {name: values[-1] for name, values in points.parts.items()}
    collections = parts.pop("garbage collection")
    assert (sum(parts.values()), collections) == (1000.0, 0.0)
    assert points.backward["layers.1"][-1] == 200.0


def test_the_tables_have_every_step_and_block(tmp_path):
    tables = tables_of(read_run(str(write(tmp_path, 12))))
    assert len(tables["watched_steps"]) == 12
    assert len(tables["watched_blocks"]) == 36
    assert tables["watched_blocks"][-1].backward_us == 200.0


@pytest.mark.parametrize("content", ["", "not json", '{"watch": 1}\n', '{"step": 1}\n'])
def test_a_folder_without_a_whole_step_is_one_line(tmp_path, content):
    (tmp_path / "host_1.1700000000000000000.steps.jsonl").write_text(content)
    with pytest.raises(TraceError):
        read_history(str(tmp_path))


def test_a_link_is_not_followed(tmp_path):
    write(tmp_path / "elsewhere", 12)
    (target,) = (tmp_path / "elsewhere").iterdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / target.name).symlink_to(target)
    with pytest.raises(TraceError, match="no steps of a watched training"):
        read_history(str(tmp_path / "run"))


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(main, [*map(str, arguments)])


def test_the_command_says_where_and_since_when(tmp_path):
    write(tmp_path, 200, lambda step: {"backward layers.1": 900} if step >= 120 else None)
    done = invoke("history", tmp_path)
    assert done.exit_code == 0
    assert "since 120" in done.output
    assert "backward of layers.1 (+900 us per step)" in done.output
    read = msgspec.json.decode(invoke("history", tmp_path, "--json").output, type=History)
    assert read == read_history(str(tmp_path))


def test_the_command_names_a_folder_without_steps(tmp_path):
    done = invoke("history", tmp_path)
    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    assert "no steps of a watched training" in done.output


def test_one_slow_step_is_no_range(tmp_path):
    write(tmp_path, 105, lambda step: {"data": 900} if step == 60 else None)
    assert "(step 60, data" in invoke("check", tmp_path, "--max-slow-steps-percent", 0).output


def test_limits_of_a_watched_training(tmp_path):
    write(tmp_path, 105, lambda step: {"data": 900} if step > 85 else None)
    done = invoke("check", tmp_path, "--max-slow-steps-percent", 10)
    assert (done.exit_code, "slow steps: 20%, limit 10%" in done.output) == (1, True)
    assert "steps 86 to 105, data" in done.output
    assert invoke("check", tmp_path, "--max-slow-steps-percent", 20).exit_code == 0
    assert invoke("check", tmp_path, "--max-slow-ranks", 0).exit_code == 2
    write(tmp_path, 105, lambda step: {"data": 900} if step > 85 else None, rank=1, world=2)
    assert invoke("check", tmp_path, "--max-slow-ranks", 0).exit_code == 0


def test_a_query_on_the_steps(tmp_path):
    pytest.importorskip("duckdb", reason="needs duckdb: pip install 'tb-hookview[sql]'")
    write(tmp_path, 12)
    query = "select count(*) as n, max(duration_us) as us from watched_steps"
    done = invoke("sql", tmp_path, query, "--format", "json")
    assert json.loads(done.output) == [{"n": 12, "us": 1000.0}]


def test_record_leaves_the_file_that_a_watch_looks_for(tmp_path):
    assert invoke("record", tmp_path).exit_code == 2
    write(tmp_path, 12)
    assert invoke("record", tmp_path, "--steps", 5, "--rank", 1).exit_code == 0
    assert json.loads((tmp_path / "record").read_text()) == {"steps": 5, "ranks": [1]}
