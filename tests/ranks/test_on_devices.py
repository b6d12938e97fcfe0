"""Stragglers among ranks with a device, against the program played without what they spend more."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from ranks.device_programs import CALL, Part, Program, length, write
from ranks.test_run import analyzed

from tb_hookview import analyze
from tb_hookview.formats import format_us
from tb_hookview.ranks.document import straggler_lines
from tb_hookview.schema import Straggler

STEPS, RANKS, SLOW = 5, 4, 1
WAITS: list[Any] = ["", "sync", "retry", "copy"]


def program(slow: list[Part], even: list[Part]) -> Program:
    return [slow if rank == SLOW else even for rank in range(RANKS)]


def only_straggler(folder: Path, slow: list[Part], even: list[Part]) -> Straggler:
    """The one that is named, which has to be the slow one."""
    (straggler,) = analyzed(write(folder / "run", program(slow, even), STEPS)).stragglers
    assert straggler.rank == SLOW
    return straggler


def gain_ms(slow: list[Part], even: list[Part]) -> float:
    longer = length(program(slow, even), STEPS) - length(program(even, even), STEPS)
    return longer / STEPS


@pytest.mark.parametrize(
    ("place", "more", "reason"),
    [
        (1, {"host": 14.0}, ("module", "b", "forward")),
        (2, {"host": 14.0}, ("module", "b", "backward")),
        (1, {"device": 13.0}, ("module", "b", "forward")),
        (2, {"device": 13.0}, ("module", "b", "backward")),
        (0, {"loader": 12.0}, ("data", None, None)),
        (1, {"pause": 12.0}, ("host", None, None)),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, dict) else None,
)
@pytest.mark.parametrize("waits", WAITS)
def test_a_straggler_is_named_with_its_reason_and_its_gain(
    tmp_path: Path, waits: Any, place: int, more: dict[str, Any], reason: tuple[str, ...]
) -> None:
    even = [Part("a", waits=waits), Part("b", waits=waits), Part("b", backward=True, waits="sync")]
    slow = [part._replace(**more) if at == place else part for at, part in enumerate(even)]
    straggler = only_straggler(tmp_path, slow, even)
    (found,) = straggler.reasons
    assert (found.reason, found.module, found.phase) == reason
    assert found.excess_us == pytest.approx(12_000, abs=50)
    assert straggler.gain_us_per_step == pytest.approx(1000 * gain_ms(slow, even), abs=50)


@pytest.mark.parametrize("queued", [False, True])
def test_recorded_work_of_the_others_that_a_wait_hid_is_no_wait(
    tmp_path: Path, queued: bool
) -> None:
    """Nor where their first collective was launched before the recording began."""
    even = [Part("", after=10.0, waits="sync"), Part("", waits="sync")]
    slow = [even[0]._replace(pause=30.0, after=2.0), even[1]]
    run = write(tmp_path / "run", program(slow, even), STEPS)
    if queued:
        drop_first_launches(run)
    straggler, *_ = analyzed(run).stragglers
    assert (straggler.rank, straggler.reason) == (SLOW, "host")
    fixed = [slow[0]._replace(pause=0.0), even[1]]
    gain = length(program(slow, even), STEPS) - length(program(fixed, even), STEPS)
    assert straggler.gain_us_per_step == pytest.approx(1000 * gain / STEPS, abs=50)


def drop_first_launches(run: Path) -> None:
    """Drop the first launch of a collective from the traces of the others."""
    for path in sorted(run.glob("*.gz")):
        root = json.loads(gzip.decompress(path.read_bytes()))
        if root["distributedInfo"]["rank"] == SLOW:
            continue
        rows = root["traceEvents"]
        first = next(row for row in rows if row["name"].startswith("nccl"))["args"]["correlation"]
        root["traceEvents"] = [
            row
            for row in rows
            if row["cat"] != "cuda_runtime" or row["args"].get("correlation") != first
        ]
        path.write_bytes(gzip.compress(json.dumps(root).encode()))


@pytest.mark.parametrize("waits", WAITS)
def test_what_delays_a_collective_after_its_launch_is_no_work_of_the_host(
    tmp_path: Path, waits: Any
) -> None:
    even = [Part(host=5.0, waits=waits), Part(host=5.0, waits="sync")]
    slow = [even[0]._replace(delay=12.0), even[1]]
    straggler = only_straggler(tmp_path, slow, even)
    assert straggler.reasons == []
    assert "the cause of 12.0 ms is unknown" in straggler_lines([straggler])[1]


def test_kernels_that_ran_beside_made_no_collective_late_that_began_at_once_after_its_launch(
    tmp_path: Path,
) -> None:
    even = [Part("a", beside=14.0), Part("b", waits="sync")]
    slow = [even[0], even[1]._replace(host=14.0)]
    reason, *_ = only_straggler(tmp_path, slow, even).reasons
    assert (reason.reason, reason.module) == ("module", "b")
    assert reason.excess_us == pytest.approx(12_000, abs=50)


def test_work_that_the_others_did_while_they_waited_is_no_reason(tmp_path: Path) -> None:
    """They run `b` next to the first collective, and the late one only after the second."""
    even = [
        Part("a", goes_on=True),
        Part("", host=0.0, device=0.0, goes_on=True),
        Part("b", device=8.0, waits="sync"),
    ]
    slow = [even[0]._replace(loader=12.0), *even[1:]]
    straggler = only_straggler(tmp_path, slow, even)
    assert straggler.wait_caused_us == pytest.approx(12_000, abs=50)
    (reason,) = straggler.reasons
    assert reason.reason == "data"
    assert straggler.gain_us_per_step == pytest.approx(1000 * gain_ms(slow, even), abs=50)


def test_a_pause_in_the_backward_of_what_an_annotation_holds_is_named_by_it(tmp_path: Path) -> None:
    even = [
        Part("a", annotated=True),
        Part("b", annotated=True),
        Part("b", backward=True, annotated=True, waits="sync"),
    ]
    slow = [*even[:2], even[2]._replace(host=14.0)]
    (reason,) = only_straggler(tmp_path, slow, even).reasons
    assert (reason.module, reason.phase) == ("b", "backward")
    assert reason.excess_us == pytest.approx(12_000, abs=50)


@pytest.mark.parametrize("host", [2.0, 3.9, 4.1])
def test_work_of_hosts_that_ran_ahead_while_they_waited_is_compared_too(
    tmp_path: Path, host: float
) -> None:
    """The host of the straggler is behind in all of the step; it takes no longer there."""
    even = [Part(host=host, device=4.0) for _ in range(9)]
    even.append(even[0]._replace(waits="sync"))
    slow = [even[0]._replace(loader=50.0), *even[1:]]
    straggler = only_straggler(tmp_path, slow, even)
    (reason,) = straggler.reasons
    assert reason.reason == "data"
    assert reason.excess_us == pytest.approx(50_000, abs=50)
    assert straggler.gain_us_per_step == pytest.approx(1000 * gain_ms(slow, even), abs=50)


def test_work_of_a_host_that_is_ahead_of_its_device_delays_nothing(tmp_path: Path) -> None:
    even = [Part(host=1.0, device=4.0) for _ in range(5)]
    even.append(even[0]._replace(waits="sync"))
    slow = [even[0], *(part._replace(host=2.0) for part in even[1:])]
    assert gain_ms(slow, even) == pytest.approx(0.0, abs=0.01)
    assert not analyzed(write(tmp_path / "run", program(slow, even), STEPS)).stragglers


@pytest.mark.parametrize("host", [1.0, 6.0])
def test_a_step_is_as_long_as_in_the_report_of_its_rank(tmp_path: Path, host: float) -> None:
    """Where the device takes longer, its work for the last step is after all marks."""
    parts = [Part(host=host, device=4.0) for _ in range(3)]
    run = analyzed(write(tmp_path / "run", [parts, parts], STEPS))
    for rank in run.ranks:
        assert rank.step_us == pytest.approx(analyze(rank.path).verdict.step_us)
        assert rank.step_us == pytest.approx(3000 * (max(host, 5.0) + 2 * CALL * (host > 5)))
    for row in run.steps:
        parts_of = row.compute_us + row.exposed_communication_us + row.idle_us
        assert row.duration_us == pytest.approx(parts_of)
    waited = {row.step for row in run.collectives}
    assert waited == {f"ProfilerStep#{step}" for step in range(STEPS)}


@pytest.mark.parametrize(
    ("more", "begins", "excess"),
    [
        ({"loader": 12.0}, (), 12_000),
        # what it does longer is no cause where it began as much sooner
        ({"loader": 12.0}, (12.0, 6.0, 12.0, 12.0), 6_000),
        ({}, (0.0, 12.0, 0.0, 0.0), 0),
    ],
    ids=["loads longer", "began sooner", "began later"],
)
@pytest.mark.parametrize("waits", WAITS)
def test_a_delay_of_the_first_collective_is_explained_from_the_begin_of_its_step(
    tmp_path: Path, waits: Any, more: dict[str, Any], begins: tuple[float, ...], excess: float
) -> None:
    even = [Part(waits=waits), Part(waits="sync")]
    slow = [even[0]._replace(**more), even[1]]
    run = analyzed(write(tmp_path / "run", program(slow, even), 1, (), begins))
    (straggler,), first = run.stragglers, run.collectives[0]
    assert straggler.rank == first.late_rank == SLOW
    assert first.late_reason == ("data" if excess else None)
    assert sum(reason.excess_us for reason in straggler.reasons) == pytest.approx(excess, abs=50)
    unknown = straggler.wait_caused_us - excess
    text = f"  the cause of {format_us(unknown)} is unknown"
    assert any(text in line for line in straggler_lines([straggler])) == (unknown > 50)


@pytest.mark.parametrize("longer", [0.0, 38.0])
def test_a_device_that_waited_for_launches_is_late_by_its_host_though_that_takes_no_longer_then(
    tmp_path: Path, longer: float
) -> None:
    """The host works longer before the collective before, while the device has work for it."""
    even = [Part(device=60.0), Part(), Part(host=40.0, device=20.0)]
    run = analyzed(
        write(tmp_path / "run", program([even[0], Part(loader=longer), even[2]], even), 1)
    )
    last = run.collectives[2]
    assert (last.late_rank, last.late_reason) == ((SLOW, "host") if longer else (None, None))


def test_time_of_a_device_in_no_module_is_not_of_its_host(tmp_path: Path) -> None:
    even = [Part("", waits="sync"), Part("", waits="sync")]
    straggler = only_straggler(tmp_path, [even[0], even[1]._replace(device=13.0)], even)
    assert straggler.reason == "device"
    assert "12.0 ms more on its device, not in a module" in straggler_lines([straggler])[1]


@pytest.mark.parametrize("waits", ["", "sync"])
@pytest.mark.parametrize("late", [(3,), (1, 3), (2, 3)], ids=str)
def test_what_two_groups_wait_for_is_counted_once(
    tmp_path: Path, waits: Any, late: tuple[int, ...]
) -> None:
    """A mesh of two by two: the rows meet, then the columns."""
    rows, columns = ((0, 1), (2, 3)), ((0, 2), (1, 3))
    even = [Part("a", waits=waits), Part("b", waits="sync")]
    slow = [even[0]._replace(pause=12.0), even[1]]
    mesh = [slow if rank in late else even for rank in range(RANKS)]
    run = analyzed(write(tmp_path / "run", mesh, STEPS, [rows, columns]))
    assert sorted(row.rank for row in run.stragglers) == list(late)
    for row in run.stragglers:
        assert row.excess_us == pytest.approx(12_000, abs=50)
    longer = length(mesh, STEPS, [rows, columns]) - length([even] * RANKS, STEPS, [rows, columns])
    gain = sum(row.gain_us_per_step for row in run.stragglers)
    assert gain == pytest.approx(1000 * longer / STEPS, abs=50)
