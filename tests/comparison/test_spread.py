"""Whether a difference lies within what steps differ among themselves; peaks of memory."""

from __future__ import annotations

from pathlib import Path

import grid
import pytest
from msgspec.structs import replace

from tb_hookview.comparison.compare import compare
from tb_hookview.comparison.sides import within_noise
from tb_hookview.loading import analyze
from tb_hookview.schema import MemoryPeak, ReportData, Spread

NAMES = {f"s{number}": f"ProfilerStep#{number}" for number in range(5)}


def recorded(folder: Path, name: str, *lengths: int) -> ReportData:
    """A first step that is not measured, then steps of these lengths in microseconds."""
    steps = "".join(
        f"[s{number}{' ' * (length - len(f's{number}') - 2)}]"
        for number, length in enumerate((10, *lengths))
    )
    work = "".join(f"[mm{' ' * (length - 4)}]" for length in (10, *lengths))
    picture = f"main notes {steps}\nmain ops   {work}\n"
    path = grid.write(folder / f"{name}.json", grid.events(picture, NAMES))
    return analyze(path).counted.data


@pytest.mark.parametrize(
    ("base", "other", "noise"),
    [
        ((10, 12, 14), (11, 13, 15), True),
        ((10, 11, 12), (20, 21, 22), False),
        ((10, 11, 90), (20, 21, 22), False),  # one outlier makes no noise of a difference
        ((10, 11, 12), (11,), None),
    ],
)
def test_within_noise_each_median_lies_in_the_range_of_the_other(
    base: tuple[float, ...], other: tuple[float, ...], noise: bool | None
) -> None:
    assert within_noise(base, other) is noise
    assert within_noise(other, base) is noise


def test_the_spread_is_of_the_measured_steps(tmp_path: Path) -> None:
    comparison = compare(recorded(tmp_path, "a", 20, 24, 22), recorded(tmp_path, "b", 21, 25, 23))
    found = comparison.spread["duration_us"]
    assert (found.base, found.other) == (Spread(22, 20, 24), Spread(23, 21, 25))
    assert found.within_noise


def test_what_a_step_does_not_hold_has_no_spread(tmp_path: Path) -> None:
    report = recorded(tmp_path, "a", 20, 20)
    assert [step.device_busy_us for step in report.steps] == [None, None]
    found = compare(report, report).spread["device_busy_us"]
    assert (found.base, found.other, found.within_noise) == (None, None, None)


def peak(device: str, step_id: int | None, allocated: int, reserved: int | None) -> MemoryPeak:
    return MemoryPeak(
        id=f"{device}:{step_id}",
        device=device,
        step=None if step_id is None else f"ProfilerStep#{step_id}",
        step_id=step_id,
        time_us=0.0,
        allocated_bytes=allocated,
        reserved_bytes=reserved,
        classes=None,
        phase=None,
        operator=None,
        module=None,
        module_id=None,
        event_id=None,
    )


def test_peaks_are_those_of_the_compared_steps(tmp_path: Path) -> None:
    report = recorded(tmp_path, "a", 20, 20)
    base = replace(
        report,
        memory_peaks=[
            *(peak("cuda:0", None, 900, 1000), peak("cuda:0", 0, 900, 1000)),
            *(peak("cuda:0", 1, 500, 700), peak("cuda:0", 2, 600, 700)),
        ],
    )
    other = replace(report, memory_peaks=[peak("cuda:0", 1, 400, None), peak("cpu", 1, 30, None)])
    device, host = compare(base, other).memory
    sides = (device.allocated_bytes.base, device.allocated_bytes.other)
    assert (device.id, device.status, *sides) == ("cuda:0", "changed", 600, 400)
    assert (device.reserved_bytes.base, device.reserved_bytes.other) == (700, None)
    assert (host.id, host.status, host.allocated_bytes.base) == ("cpu", "appeared", None)
    assert compare(report, report).memory == []
