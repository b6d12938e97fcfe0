"""What the lanes, their events and windows of them show is what the analysis found."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from invariants.case import Case
from invariants.registry import Of, invariant

from tb_hookview.analysis.device.events import queue_length
from tb_hookview.schema import Step
from tb_hookview.schema.timeline import EventLink, WindowStatistics
from tb_hookview.timeline import Timeline
from tb_hookview.timeline.event.detail import detail
from tb_hookview.timeline.event.links import event_ref_at, links, summary
from tb_hookview.timeline.lanes.lane import label
from tb_hookview.timeline.statistics.statistics import MOST, statistics

exactly = pytest.approx


@invariant()
def every_row_of_the_trace_is_on_one_lane(case: Case) -> None:
    timeline = case.timeline
    numbers = timeline.lanes_of("host", "device", "annotations")
    rows = [timeline.lane(number).source for number in numbers]
    held = np.sort(np.concatenate([np.zeros(0, np.int64), *rows]))
    assert np.array_equal(held, np.arange(len(case.trace.events)))


@invariant()
def rows_of_a_lane_are_in_order(case: Case) -> None:
    for number in _lanes_with_events(case.timeline):
        lane = case.timeline.lane(number)
        same = lane.depth[1:] == lane.depth[:-1]
        assert (np.diff(lane.depth) >= 0).all()
        assert (np.diff(lane.start)[same] >= 0).all()
        assert (np.diff(lane.end)[same] >= 0).all()
        assert ((lane.end[:-1] - lane.start[1:])[same] <= 1000).all()


@invariant(slow=True)
def an_id_leads_back_to_its_place(case: Case) -> None:
    timeline = case.timeline
    for number in _lanes_with_events(timeline):
        position = np.arange(len(timeline.lane(number)))[::17]
        ids = timeline.ids(number, position).tolist()
        assert [timeline.position_of(event) for event in ids] == [(number, p) for p in position]


def _lanes_with_events(timeline: Timeline) -> list[int]:
    return [number for number, entry in enumerate(timeline.entries) if entry.items is not None]


@invariant()
def lanes_of_devices_show_what_the_analysis_found(case: Case) -> None:
    if case.clock_jumps:
        return
    timeline, analysis, events = case.timeline, case.analysis, case.analysis.device_events
    idle = sum(len(timeline.lane(number)) for number in timeline.lanes_of("idle"))
    assert idle == len(analysis.gaps)
    devices = np.unique(events.device[events.launch >= 0]).tolist()
    for number, device in zip(timeline.lanes_of("queue"), devices, strict=True):
        queue = queue_length(analysis.call_tree, events, events.device == device)
        begin, end = analysis.bounds  # at the end a kernel may begin that takes no time
        time, value = timeline.curve(number).within(begin, end + 1, 1)
        last = np.flatnonzero(np.append(np.diff(queue.time) > 0, True))
        assert np.array_equal(time, queue.time[last])
        assert np.array_equal(value, queue.length[last])


BACK = {
    "launches": "launched by",
    "forward of": "backward of",
    "backward of": "forward of",
    "waits for": "waited for by",
    "waited for by": "waits for",
    "left idle": "caused by",
    "caused by": "left idle",
}
"""The other direction; what a row further in launched leads to the call itself."""


@invariant(Of.RECORDINGS, slow=True)
def links_of_an_event_lead_back(case: Case) -> None:
    timeline = case.timeline
    for number in _lanes_with_events(timeline):
        count = len(timeline.lane(number))
        for event in timeline.ids(number, np.arange(0, count, max(count // 7, 1))).tolist():
            for link in _links(timeline, event)[0][:3]:
                _assert_leads_back(timeline, link)


def _links(timeline: Timeline, event: int) -> tuple[list[EventLink], int]:
    return links(timeline, event_ref_at(timeline, timeline.position_of(event)))


def _assert_leads_back(timeline: Timeline, link: EventLink) -> None:
    other = summary(timeline, timeline.position_of(link.id))
    for name in ("start", "duration", "lane", "depth"):
        assert getattr(link, name) == getattr(other, name)
    back, omitted = _links(timeline, link.id)
    if link.relation in BACK and not omitted:
        assert BACK[link.relation] in [one.relation for one in back]


@invariant(slow=True)
def an_event_of_every_lane_has_its_links_and_place_in_its_detail(case: Case) -> None:
    timeline = case.timeline
    for number in _lanes_with_events(timeline):
        if count := len(timeline.lane(number)):
            event = int(timeline.ids(number, np.array([count // 2]))[0])
            shown = detail(timeline, event)
            assert (shown.links, shown.links_omitted) == _links(timeline, event)
            at = summary(timeline, timeline.position_of(event))
            assert (shown.start, shown.duration, shown.lane, shown.depth) == (
                at.start,
                at.duration,
                at.lane,
                at.depth,
            )


def _whole(timeline: Timeline) -> WindowStatistics:
    first, last = timeline.analysis.bounds
    return statistics(timeline, 0, max(last - first, 1))


@invariant()
def statistics_of_the_whole_are_the_report_s_totals(case: Case) -> None:
    sums, data = _whole(case.timeline), case.data
    busy = {device.id: device.busy_us for device in sums.devices}
    assert busy == data.totals.device_busy_us
    assert sums.waits == data.totals.sync_count
    assert sums.sync_blocked_us == exactly(data.totals.sync_blocked_us)
    for phase, spent in sums.phases.items():
        of_steps = sum(getattr(step, f"{phase}_us") for step in data.steps)
        assert spent == exactly(of_steps), phase
    for device in sums.devices:
        assert device.busy_us + device.idle_us == exactly(data.trace.duration_us)
        assert sum(device.idle_by_cause.values()) == exactly(device.idle_us)


@invariant(Of.RECORDINGS)
def top_names_of_the_whole_are_the_report_s(case: Case) -> None:
    sums, data = _whole(case.timeline), case.data
    kernels: dict[str, list[float]] = {}
    for kernel in data.kernels:
        row = kernels.setdefault(kernel.name, [0, 0])
        row[0], row[1] = row[0] + kernel.count, row[1] + kernel.total_us
    operators = {o.name: [o.calls, o.host_us, o.self_host_us] for o in data.operators}
    _assert_ranked(sums, "device", kernels, by=1)
    _assert_ranked(sums, "host", operators, by=2)
    for kind in ("forward", "backward"):
        works = [(module.path or "(root)", getattr(module, kind)) for module in data.modules]
        of = "device" if any(work.device_us is not None for _, work in works) else "host"
        expected = {
            path: [None, getattr(work, f"{of}_us"), getattr(work, f"self_{of}_us")]
            for path, work in works
            if getattr(work, f"self_{of}_us")
        }
        _assert_ranked(sums, kind, expected, by=2)


def _assert_ranked(sums: WindowStatistics, kind: str, expected: dict[str, Any], by: int) -> None:
    """The rows of a kind are the most expensive of those expected, with its numbers."""
    rows = [row for row in sums.top if row.kind == kind]
    labelled = {label(name): numbers for name, numbers in expected.items()}
    top = sorted((numbers[by] for numbers in expected.values()), reverse=True)[:MOST]
    shown = [row.total_us if by == 1 else row.self_us for row in rows]
    assert shown[: len(top)] == exactly(top), kind
    assert not any(shown[len(top) :]), kind
    for row in rows[: len(top)]:
        count, *times = labelled[row.name]
        if len(labelled) == len(expected):
            assert count in (row.count, None), row.name
            assert row.total_us == exactly(times[0]), row.name


@invariant()
def statistics_of_a_step_are_its_row_of_the_report(case: Case) -> None:
    timeline = case.timeline
    for step, window in zip(case.data.steps, case.analysis.steps.window, strict=True):
        if window[1] > window[0]:
            start, end = (window - timeline.origin).tolist()
            _assert_step(statistics(timeline, start, end), step)


def _assert_step(sums: WindowStatistics, step: Step) -> None:
    for phase, spent in sums.phases.items():
        assert spent == exactly(getattr(step, f"{phase}_us")), (step.name, phase)
    assert sums.host_blocked_us == exactly(step.sync_blocked_us), step.name
    if step.device_busy_us is None:
        assert sums.devices == []
        return
    busy = sum(device.busy_us for device in sums.devices)
    assert busy == exactly(step.device_busy_us), step.name
    assert step.idle is not None
    for cause in sums.devices[0].idle_by_cause:
        idle = sum(device.idle_by_cause[cause] for device in sums.devices)
        assert idle == exactly(getattr(step.idle, cause) or 0.0), (step.name, cause)


@invariant()
def statistics_of_windows_that_meet_add_up(case: Case) -> None:
    first, last = case.analysis.bounds
    cuts = [part * max(last - first, 4) // 4 for part in range(5)]
    parts = [statistics(case.timeline, *pair) for pair in pairwise(cuts)]
    sums = _whole(case.timeline)
    if sums.host_blocked_us is not None:
        blocked = sum(part.host_blocked_us or 0.0 for part in parts)
        assert blocked == exactly(sums.host_blocked_us)
    for number, device in enumerate(sums.devices):
        assert sum(part.devices[number].busy_us for part in parts) == exactly(device.busy_us)
