"""Sums over a window: over whole steps and the whole trace they are those of the report."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import gallery
import numpy as np
import pytest
from drawn import timeline_of

from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.schema import ReportData, Step
from tb_hookview.schema.timeline import WindowStatistics
from tb_hookview.timeline import Timeline
from tb_hookview.timeline.lanes.names import label
from tb_hookview.timeline.statistics.statistics import statistics
from tb_hookview.timeline.statistics.top import MOST

TRACES = gallery.small_traces()
exactly = pytest.approx


@pytest.fixture(scope="class", params=TRACES, ids=gallery.label)
def analyzed(request: pytest.FixtureRequest) -> tuple[Timeline, ReportData]:
    analysis = load(request.param)
    return Timeline(analysis), build_report(analysis).data


def whole(timeline: Timeline) -> WindowStatistics:
    first, last = timeline.analysis.bounds
    return statistics(timeline, 0, max(last - first, 1))


class TestOfSharedTraces:
    def test_all_of_the_trace_is_the_report(self, analyzed: tuple[Timeline, ReportData]) -> None:
        timeline, report = analyzed
        sums = whole(timeline)
        busy = {device.id: device.busy_us for device in sums.devices}
        assert busy == report.totals.device_busy_us
        assert sums.waits == report.totals.sync_count
        assert sums.sync_blocked_us == exactly(report.totals.sync_blocked_us)
        for phase, spent in sums.phases.items():
            of_steps = sum(getattr(step, f"{phase}_us") for step in report.steps)
            assert spent == exactly(of_steps)
        for device in sums.devices:
            duration = report.trace.duration_us
            assert device.busy_us + device.idle_us == exactly(duration)
            assert sum(device.idle_by_cause.values()) == exactly(device.idle_us)

    def test_the_top_names_are_those_of_the_report(
        self, analyzed: tuple[Timeline, ReportData]
    ) -> None:
        timeline, report = analyzed
        sums = whole(timeline)
        kernels: dict[str, list[float]] = {}
        for kernel in report.kernels:
            row = kernels.setdefault(kernel.name, [0, 0])
            row[0], row[1] = row[0] + kernel.count, row[1] + kernel.total_us
        operators = {o.name: [o.calls, o.host_us, o.self_host_us] for o in report.operators}
        assert_ranked(sums, "device", kernels, by=1)
        assert_ranked(sums, "host", operators, by=2)
        if report.compiled is not None:
            return  # a selection has no shares of compiled calls: docs/compiled.md
        for kind in ("forward", "backward"):
            works = [(module.path or "(root)", getattr(module, kind)) for module in report.modules]
            on_device = any(work.device_us is not None for _, work in works)
            of = "device" if on_device else "host"
            expected = {
                path: [None, getattr(work, f"{of}_us"), getattr(work, f"self_{of}_us")]
                for path, work in works
                if getattr(work, f"self_{of}_us")
            }
            assert_ranked(sums, kind, expected, by=2)

    def test_each_step_is_its_row_of_the_report(
        self, analyzed: tuple[Timeline, ReportData]
    ) -> None:
        timeline, report = analyzed
        for step, window in zip(report.steps, timeline.analysis.steps.window, strict=True):
            if window[1] > window[0]:
                start, end = (window - timeline.origin).tolist()
                assert_step(statistics(timeline, start, end), step)

    def test_windows_that_meet_add_up(self, analyzed: tuple[Timeline, ReportData]) -> None:
        timeline, _ = analyzed
        first, last = timeline.analysis.bounds
        cuts = np.linspace(0, max(last - first, 4), 5).astype(np.int64).tolist()
        parts = [statistics(timeline, *pair) for pair in pairwise(cuts)]
        sums = whole(timeline)
        assert sum(p.host_blocked_us for p in parts) == exactly(sums.host_blocked_us)
        for number, device in enumerate(sums.devices):
            busy = sum(part.devices[number].busy_us for part in parts)
            assert busy == exactly(device.busy_us)


def test_each_device_has_its_own_idle_time(tmp_path: Path) -> None:
    picture = """
        main calls  [go corr=1][go corr=2]             [go corr=3]
        gpu  kernel            [k corr=1 device=0    ]
        gpu  kernel                                          [k corr=2 device=1]
        """
    devices = whole(timeline_of(tmp_path, picture)).devices
    assert [device.id for device in devices] == ["0", "1"]
    assert [device.idle_us for device in devices] == [11 + 26, 41]
    assert [device.idle_by_cause["launch"] for device in devices] == [11, 41]


def assert_ranked(sums: WindowStatistics, kind: str, expected: dict[str, Any], by: int) -> None:
    """The rows of a kind are the most expensive of those expected, with its numbers."""
    rows = [row for row in sums.top if row.kind == kind]
    labelled = {label(name): numbers for name, numbers in expected.items()}
    top = sorted((numbers[by] for numbers in expected.values()), reverse=True)[:MOST]
    shown = [row.total_us if by == 1 else row.self_us for row in rows]
    assert shown[: len(top)] == exactly(top)
    assert not any(shown[len(top) :])
    for row in rows[: len(top)]:
        count, *times = labelled[row.name]
        if len(labelled) == len(expected):
            assert count in (row.count, None)
            assert row.total_us == exactly(times[0])


def assert_step(sums: WindowStatistics, step: Step) -> None:
    for phase, spent in sums.phases.items():
        assert spent == exactly(getattr(step, f"{phase}_us"))
    assert sums.host_blocked_us == exactly(step.sync_blocked_us)
    if step.device_busy_us is None:
        assert sums.devices == []
        return
    assert sum(device.busy_us for device in sums.devices) == exactly(step.device_busy_us)
    assert step.idle is not None
    for cause in sums.devices[0].idle_by_cause:
        idle = sum(device.idle_by_cause[cause] for device in sums.devices)
        assert idle == exactly(getattr(step.idle, cause))
