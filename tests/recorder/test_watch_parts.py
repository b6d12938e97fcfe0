"""The parts of `watch`, each alone: blocks, triggers, agreement, files, what is kept."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest
import torch
from torch import nn

from tb_hookview.watching.agreement import Alone, FolderBoard, RecordingPlan, parse_plan
from tb_hookview.watching.blocks import choose_blocks
from tb_hookview.watching.clock import (
    BACKWARD,
    COLLECTION,
    DATA,
    GRADIENT,
    NOTHING,
    OPTIMIZER,
    PHASES,
    ROOT,
    Sampling,
    sampling_of,
)
from tb_hookview.watching.device import DeviceStamps
from tb_hookview.watching.keeping import take_request
from tb_hookview.watching.recordings import Kept, surplus
from tb_hookview.watching.step_file import StepFile, row_lines
from tb_hookview.watching.step_rows import Ended, Row, row_of, rows_of
from tb_hookview.watching.triggers import Decision, Parts, RunningMedian, Triggers


def names(model: nn.Module, most: int = 16) -> list[str]:
    return [block.name for block in choose_blocks(model, "", most)]


def layers(count: int) -> nn.Module:
    model = nn.Module()
    model.embed = nn.Linear(2, 2)
    model.h = nn.ModuleList(nn.Sequential(nn.Linear(4, 4), nn.ReLU()) for _ in range(count))
    model.head = nn.Linear(2, 2)
    return model


def test_blocks_hold_every_parameter_once():
    model = layers(12)
    held = [
        id(p)
        for block in choose_blocks(model, "", 16)
        for module in block.modules
        for p in module.parameters()
    ]
    assert sorted(held) == sorted(id(p) for p in model.parameters())


def test_layers_of_one_kind_are_opened_together_or_not():
    assert names(layers(12)) == ["embed", *(f"h.{n}" for n in range(12)), "head"]
    transformer = nn.ModuleList(nn.TransformerEncoderLayer(8, 2, 8) for _ in range(4))
    assert names(nn.Sequential(nn.Linear(2, 2), transformer)) == [
        "0",
        *(f"1.{n}" for n in range(4)),
    ]


def test_of_modules_with_the_same_parameters_the_outermost_that_is_called_is_the_block():
    inner = nn.Sequential(nn.ModuleList([nn.Linear(2, 2)]), nn.ReLU())
    assert names(nn.Sequential(inner, nn.ModuleList([nn.Linear(2, 2)]))) == ["0", "1.0"]
    assert names(nn.Sequential(nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)))) == ["0.0", "0.1"]


def test_more_layers_than_fit_become_neighbours():
    found = names(layers(48))
    assert len(found) <= 16
    assert found[1] == "h.0..h.3"
    assert found[-2:] == ["h.44..h.47", "head"]


def test_no_blocks_where_none_are_asked_for_nor_in_a_compiled_model():
    assert names(layers(3), 0) == []
    assert names(torch.compile(layers(3))) == []
    assert names(nn.Linear(2, 2)) == []


def test_blocks_are_timed_as_often_as_a_step_affords():
    assert sampling_of(16, "host", 0) == Sampling(1, PHASES)  # no step is known
    lengths = (1, 5, 50, 160)
    said = [sampling_of(16, "host", ms * 10**6) for ms in lengths]
    assert said == [(180, NOTHING), (36, NOTHING), (4, PHASES), (1, PHASES)]
    assert [sampling_of(0, "host", ms * 10**6).every for ms in lengths] == [80, 16, 1, 1]
    assert sampling_of(16, "device", 50 * 10**6).every == 7


def test_the_running_median_is_that_of_the_latest():
    median = RunningMedian()
    for value in [1000] * 201 + [5] * 201:
        median.add(value)
    assert (median.value, len(median)) == (5, 201)


def decide(durations: list[int], **options: object) -> list[tuple[int, str]]:
    """Steps at which something is asked for; a second passes in each."""
    decision = Decision(Triggers(**{"first": None, **options}), now=0.0)
    asked = []
    for step, duration in enumerate(durations, 1):
        reason = decision.see(step, duration, float(step))
        if reason is not None:
            asked.append((step, reason))
            decision.recorded(reason, step, float(step))
    return asked


def test_slow_steps_ask_once_and_then_there_is_a_rest():
    usual, slow = [10] * 30, [20] * 3
    assert decide(usual + slow) == [(33, "slow")]
    assert decide(usual + slow[:2] + usual + slow[:2]) == []
    hour = usual + slow + (usual + slow) * 100  # an hour and a bit
    assert len(decide(hour)) == 3


def test_slow_steps_that_last_are_recorded_in_a_rest_too_once():
    usual, noise = [10] * 60, [20] * 3
    once = usual + noise + usual + [20] * 40
    assert decide(once) == [(63, "slow"), (153, "slow")]
    assert decide(once + [10] * 200 + [30] * 45) == [(63, "slow"), (153, "slow")]


def test_noise_does_not_use_up_the_recording_of_what_lasts_after_it():
    usual, noise = [10] * 220, [40] * 70
    asked = [(223, "slow"), (253, "slow")]
    assert decide(usual + noise + usual + [40] * 50) == asked
    assert decide(usual + noise + usual + [40] * 200) == [*asked, (570, "slow")]


def decide_by_parts(steps: list[tuple[int, ...]]) -> list[int]:
    """Steps at which slow ones were recorded, by their parts; half a second passes in each."""
    decision, asked = Decision(Triggers(first=None), now=0.0), []
    for step, parts in enumerate(steps, 1):
        if decision.see(step, sum(parts), step / 2, parts[:2]) is not None:
            asked.append(step)
            decision.recorded("slow", step, step / 2)
    return asked


def on_a_busy_machine(parts: tuple[int, ...], steps: int, seed: int) -> list[tuple[int, ...]]:
    """Steps of these parts, a few times as long for a while and then not."""
    drawn, level, made = random.Random(seed), 1.0, []
    for step in range(steps):
        if step % 70 == 0:
            level = drawn.choice((1.0, 1.6, 3.0, 8.0))
        made.append(tuple(round(1e8 * level * drawn.lognormvariate(0, 0.2) * p) for p in parts))
    return made


@pytest.mark.parametrize("seed", range(5))
def test_a_part_that_becomes_slow_is_found_on_a_busy_machine_and_nothing_in_even_parts(seed):
    even = on_a_busy_machine((3, 5, 1), 1200, seed)
    asked = decide_by_parts(even)
    later = decide_by_parts(even + on_a_busy_machine((8, 5, 1), 800, seed))
    assert later[: len(asked)] == asked
    assert any(1200 < step <= 1260 for step in later)
    alone = Parts(1.25, 30)
    assert [alone.find_slow(sum(step), step[:2]) for step in even] == [0.0] * 1200


def test_parts_of_short_steps_are_not_compared_in_each():
    parts = Parts(1.25, 5)
    steps = [(5_000_000, 20_000_000)] * 400 + [(20_000_000, 20_000_000)] * 40
    found = [step for step, each in enumerate(steps) if parts.find_slow(sum(each), each[:1])]
    assert 400 + 5 * 3 - 3 <= found[0] <= 400 + 5 * 3


def test_uneven_steps_are_not_slow():
    assert decide([10, 30] * 40) == []


def test_a_step_is_slow_only_after_a_median_is_known():
    assert decide([10] * 5 + [1000] * 10) == []
    assert decide([10] * 30 + [100] * 3, slow_factor=None) == []


def test_every_so_many_steps_or_minutes():
    assert decide([10] * 30, every_steps=10) == [(10, "every"), (20, "every"), (30, "every")]
    assert decide([10] * 150, every_minutes=1) == [(60, "every"), (120, "every")]
    assert decide([10] * 12, first=7) == [(7, "start")]


def test_the_first_plan_of_a_number_counts(tmp_path):
    mine, yours = FolderBoard(tmp_path / "b", "run"), FolderBoard(tmp_path / "b", "run")
    one, two = RecordingPlan(10, 3, "slow", 0, (0, 2), 1.5), RecordingPlan(11, 1, "call", 1)
    assert mine.look(0) is None
    assert mine.post(0, one) == one
    assert yours.post(0, two) == one == yours.look(0)
    assert yours.look(1) is None
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["run.0.json"]


def test_a_plan_of_an_earlier_run_is_over(tmp_path):
    FolderBoard(tmp_path, "run").post(0, RecordingPlan(10, 3, "slow"))
    os.utime(tmp_path / "run.0.json", (0, 0))
    found = FolderBoard(tmp_path, "run").look(0)
    assert found is not None
    assert found.start == 0


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"start": "x", "steps": 1, "reason": ""}'])
def test_what_is_no_plan_is_refused(text):
    with pytest.raises(ValueError, match=r".*"):
        parse_plan(text)


def test_a_process_alone_needs_no_board():
    board, plan = Alone(), RecordingPlan(5, 1, "call")
    assert (board.look(0), board.post(0, plan), board.look(0)) == (None, plan, plan)


def test_one_process_gets_a_request(tmp_path):
    assert take_request(tmp_path) is None
    (tmp_path / "record").touch()
    assert take_request(tmp_path) == {}
    assert take_request(tmp_path) is None
    (tmp_path / "record").write_text("not json")
    assert take_request(tmp_path) == {}
    assert list(tmp_path.iterdir()) == []


def kept(size: int, ratio: float = 0.0) -> Kept:
    return Kept(Path("x"), RecordingPlan(1, 1, "slow", ratio=ratio), size)


def test_the_newest_stay_and_the_slowest():
    every = [kept(1), kept(2, 3.0), kept(3), kept(4), kept(5)]
    assert surplus(every, 2, 100) == [every[0], every[2]]
    assert surplus(every, 2, 9) == [every[0], every[2], every[3]]
    assert surplus(every, 2, 1) == every[:4]
    assert surplus([], 2, 1) == []


def write_steps(folder: Path, count: int, most_bytes: int) -> StepFile:
    file = StepFile(folder, "host_1", lambda: {"watch": 1, "blocks": []}, most_bytes)
    for step in range(1, count + 1):
        file.write(row_lines([row([], 2, step)], [0], [True], [0.0], None))
    file.close()
    return file


def test_files_of_steps_are_bounded_and_begin_with_a_header(tmp_path):
    write_steps(tmp_path, 2000, 60_000)
    files = sorted(tmp_path.iterdir())
    assert len(files) == 8
    assert sum(file.stat().st_size for file in files) < 70_000
    contents = [file.read_text().splitlines() for file in files]
    assert all("watch" in json.loads(content[0]) for content in contents)
    steps = [json.loads(line)["step"] for content in contents for line in content[1:]]
    assert steps[0] == 1  # the first file stays
    assert steps[-1] == 2000
    assert steps == sorted(steps)


def test_a_row_is_whole_microseconds_and_null_for_unknown():
    marks = [(0, 500, 1_999), (ROOT, 400, 2_000)]
    rows = [row([], 0, 6), row(marks, 1, 7)]
    before, line = map(json.loads, row_lines(rows, [0, 2], [False, True], [1.0, 1.5], 99))
    assert before.keys().isdisjoint({"forward", "backward", "memory_bytes", "recording"})
    assert (before["phases"], "phases" in line) == (False, False)
    assert (line["step"], line["duration_us"], line["time"]) == (7, 1000, 1.5)
    assert (line["forward_us"], line["data_us"], line["gc_us"]) == (2, None, 0)
    assert (line["forward"], line["backward"], line["memory_bytes"]) == ([1], [None], 99)
    assert line["recording"] == "recorded"


def row(marks: list[tuple[int, int, int]], blocks: int, step: int = 1) -> Row:
    return row_of((step, 0, 0, 1_000_000, [part for mark in marks for part in mark], blocks))


def test_a_block_has_the_time_from_the_gradient_before_it_to_its_own():
    gradients = [(GRADIENT + 1, 130, 0), (GRADIENT, 150, 0)]
    marks = [(ROOT, 10, 90), *gradients, (BACKWARD, 100, 190)]
    assert row(marks, 3) == (1, 1_000_000, -1, 80, 50, 40, -1, 0, 0, -1, -1, -1, 20, 30, -1)


def test_backward_passes_of_one_step_add_up():
    once = [(GRADIENT, 130, 0), (BACKWARD, 100, 140)]
    twice = [*once, (GRADIENT, 225, 0), (BACKWARD, 200, 240), (BACKWARD, 300, 307)]
    assert row(twice, 1)[4:6] == (30 + 25 + 7, 10 + 15)
    assert row(twice, 1)[-1] == 30 + 25


def test_a_call_within_one_of_the_same_block_and_one_that_repeats_it_count_once():
    recomputed = [(0, 110, 120), (ROOT, 105, 125), (GRADIENT, 130, 0), (BACKWARD, 100, 140)]
    marks = [(0, 20, 30), (0, 10, 40), (0, 50, 60), (ROOT, 5, 90), *recomputed]
    assert row(marks, 1)[3] == 85
    assert row(marks, 1)[-2:] == (30 + 10, 30)


def test_a_backward_within_another_is_a_part_of_it_and_a_gradient_outside_is_none():
    nested = [(BACKWARD, 110, 120), (GRADIENT, 125, 0), (BACKWARD, 100, 140), (GRADIENT, 150, 0)]
    assert row([(GRADIENT, 90, 0), *nested], 1)[4:6] == (25, 15)
    assert row([(GRADIENT, 90, 0), *nested], 1)[-1] == 25


def test_collections_and_loading_are_added_up_wherever_they_happened():
    marks = [(COLLECTION, 10, 15), (DATA, 5, 20), (DATA, 30, 31), (COLLECTION, 40, 42)]
    said = row(marks, 0)
    assert (said[2], said[7], said[8]) == (16, 7, 2)


def drawn_step(draw: random.Random, step: int) -> Ended:
    """Return a step of a few marks in the order of their ends; some lie inside of others."""
    usual = [DATA, ROOT, GRADIENT + 1, BACKWARD, OPTIMIZER]
    kinds = [kind for kind in usual if draw.random() < 0.8]
    if draw.random() < 0.3:
        kinds.insert(draw.randrange(len(kinds) + 1), draw.choice([*usual, COLLECTION, GRADIENT, 0]))
    marks: list[int] = []
    for place, kind in enumerate(kinds, 1):
        until = 100 * place + draw.randrange(10)
        since = until - draw.choice([50, 80, 150, 350])
        marks += (kind, until, 0) if kind >= GRADIENT else (kind, since, until)
    return (step, 0, 0, 1000, marks, draw.choice([0, 0, 0, 2, -1]))


def test_steps_that_are_read_together_have_the_rows_of_each_alone():
    draw = random.Random(5)
    for first in range(0, 6000, 3):
        steps = [drawn_step(draw, first + more) for more in range(3)]
        assert rows_of(steps) == [row_of(ended) for ended in steps]


def test_of_a_step_whose_phases_are_not_timed_only_loading_and_collections_count():
    marks = [(DATA, 1, 6), (COLLECTION, 7, 9), (BACKWARD, 10, 20), (OPTIMIZER, 20, 30)]
    assert row(marks, -1) == (1, 1_000_000, 5, -1, -1, -1, -1, 2, 1)


class Passing:
    """Stands for an event of a device, which this machine may not have."""

    now = 0.0
    done = 0.0

    def record(self) -> None:
        Passing.now += 1.0
        self.at = Passing.now

    def query(self) -> bool:
        return self.at <= Passing.done

    def elapsed_time(self, later: Passing) -> float:
        assert later.query()
        return later.at - self.at


def test_marks_of_a_device_are_read_once_it_has_passed_them(monkeypatch):
    monkeypatch.setattr(Passing, "now", 0.0)
    monkeypatch.setattr(Passing, "done", 0.0)
    capturing: list[bool] = []
    device = DeviceStamps(Passing, lambda: bool(capturing))

    def step(number: int) -> list[Row]:
        since, gradient, until = device.stamp(), device.stamp(), device.stamp()
        marks = [DATA, 7, 9, GRADIENT, gradient, 0, BACKWARD, since, until]
        return [row_of(each) for each in device.passed((number, 0, 0, 5_000, marks, 1))]

    assert step(1) == step(2) == []
    Passing.done = 5.0
    (first,) = step(3)
    assert (first[0], first[2], first[4], first[5], first[-1]) == (1, 2, 10**6, 10**6, 10**6)
    Passing.done = 100.0
    capturing.append(True)
    assert step(4) == []  # to ask now could end the capture
    capturing.clear()
    assert [said[0] for said in step(5)] == [2, 3, 4, 5]
    assert list(device.rest()) == []
    capturing.append(True)
    step(6)
    (last,) = (row_of(each) for each in device.rest())
    assert (last[0], last[2], last[4]) == (6, 2, -1)


def test_a_mark_whose_event_is_used_again_has_no_time(monkeypatch):
    monkeypatch.setattr(Passing, "now", 0.0)
    monkeypatch.setattr(Passing, "done", 0.0)
    monkeypatch.setattr("tb_hookview.watching.device._MOST", 4)
    device = DeviceStamps(Passing, lambda: False)
    marks = [GRADIENT, device.stamp(), 0]
    assert list(device.passed((1, 0, 0, 5_000, marks, 1))) == []
    for _ in range(3):
        device.stamp()  # the last of them takes the event of the mark
    Passing.done = 100.0
    first, _ = device.passed((2, 0, 0, 5_000, [], 1))
    assert (first[0], first[4]) == (1, [])


def test_a_folder_that_is_gone_is_counted(tmp_path, expected_fault):
    with pytest.warns(RuntimeWarning, match="these steps are not kept"):
        file = write_steps(tmp_path / "never made", 3, 60_000)
    assert file.lost == 3
