"""Sums over a window: over whole steps and the whole trace they are those of the report."""

from __future__ import annotations

from pathlib import Path

import gallery
import pytest
from drawn import timeline_of

from tb_hookview.schema.timeline import WindowStatistics
from tb_hookview.timeline import Timeline
from tb_hookview.timeline.statistics.statistics import statistics

TRACES = gallery.small_traces()
exactly = pytest.approx


def whole(timeline: Timeline) -> WindowStatistics:
    first, last = timeline.analysis.bounds
    return statistics(timeline, 0, max(last - first, 1))


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
