"""Times of launches: what a device did before each event, and what was queued before the trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grid
import numpy as np
import pytest

from tb_hookview.analysis.device.events import LaunchTiming
from tb_hookview.loading import load

NAMES = {"launch": "cudaLaunchKernel", "graph": "cudaGraphLaunch"}


def timing_of(
    folder: Path,
    picture: str,
    *,
    devices: dict[str, int] | None = None,
    shift: int = 0,
) -> LaunchTiming:
    """Timing of a picture; `devices` are those of kernels, by name, 0 for others."""
    drawn: list[dict[str, Any]] = grid.events(picture, NAMES)
    for event in drawn:
        event["ts"] += shift
        if event["cat"] == "kernel":
            event["pid"] = (devices or {}).get(event["name"], 0)
            event["args"]["device"] = event["pid"]
    analysis = load(grid.write(folder / "t.json", drawn))
    events = analysis.device_events
    call = np.zeros(len(analysis.host), np.int64)
    return LaunchTiming(analysis.host, events, call, np.zeros(len(events), bool))


def names(timing: LaunchTiming, rows: Any) -> list[str]:
    """Names of device events by row, "" for -1."""
    trace = timing.host.trace
    events = timing.device_events.event
    return [trace.strings[trace.events.name[events[row]]] if row >= 0 else "" for row in rows]


TWO_DEVICES = """
    gpu kernel [a        ]  [c ]     [e ]
    gpu kernel     [b ]          [d ]
    """


def test_a_device_is_busy_until_the_latest_end_of_what_it_started(tmp_path: Path) -> None:
    """All on one device: `a` outlasts `b`."""
    timing = timing_of(tmp_path, TWO_DEVICES)
    every = range(len(timing.device_events))
    assert names(timing, every) == ["a", "b", "c", "d", "e"]
    assert names(timing, timing.previous.tolist()) == ["", "a", "a", "c", "d"]
    end = timing.device_events.end
    expected = [timing.device_events.start[0], end[0], end[0], end[2], end[3]]
    assert timing.busy_until.tolist() == expected


def test_devices_are_busy_by_themselves(tmp_path: Path) -> None:
    timing = timing_of(tmp_path, TWO_DEVICES, devices={"b": 1, "d": 1})
    rows = {name: row for row, name in enumerate(names(timing, range(5)))}
    previous = dict(zip(rows, names(timing, timing.previous.tolist()), strict=True))
    assert previous == {"a": "", "b": "", "c": "a", "d": "b", "e": "c"}
    device = timing.device_events
    assert timing.busy_until[rows["b"]] == device.start[rows["b"]]
    assert timing.busy_until[rows["d"]] == device.end[rows["b"]]


def test_of_two_that_end_together_the_later_was_last(tmp_path: Path) -> None:
    timing = timing_of(
        tmp_path,
        """
        gpu kernel [a        ]  [c ]
        gpu kernel     [b    ]
        """,
    )
    assert names(timing, timing.previous.tolist()) == ["", "a", "b"]


LAUNCHES = """
    main calls  [launch corr=1]      [launch corr=2]       [launch corr=3][launch corr=4]
    gpu  kernel     [a corr=1    ]         [b corr=2   ]      [c corr=3                 ][d corr=4]
    """


@pytest.mark.parametrize("shift", [0, -1033], ids=["later", "the second launch at time 0"])
def test_the_latency_is_that_onto_an_idle_device(tmp_path: Path, shift: int) -> None:
    """6 and 3 us: before the first event nothing is known, and at the last the device was busy."""
    timing = timing_of(tmp_path, LAUNCHES, shift=shift)
    assert timing.launch_start[1] == (1033 + shift) * 1000
    assert timing.launch_latency == 3000


def test_the_latency_is_that_of_the_quickest_quarter(tmp_path: Path) -> None:
    """Four starts onto an idle device, 2, 3, 9 and 30 us after their launches."""
    timing = timing_of(
        tmp_path,
        """
        main calls  [launch corr=1]  [launch corr=2]                         [launch corr=3]  [launch corr=4]  [launch corr=5]
        gpu  kernel  [a corr=1]                                    [b corr=2]   [c corr=3]      [d corr=4]              [e corr=5]
        """,
    )
    assert timing.launch_latency == 2000


def test_a_start_that_is_later_than_any_device_needs_is_no_latency(tmp_path: Path) -> None:
    """The only one onto an idle device, 52 us after its launch: the device did something else."""
    timing = timing_of(
        tmp_path,
        """
        main calls  [launch corr=1]  [launch corr=2]
        gpu  kernel     [a corr=1]                                                       [b corr=2]
        """,
    )
    assert (timing.device_events.start - timing.launch_start).tolist() == [4_000, 52_000]
    assert timing.launch_latency == 0


def test_a_first_event_that_begins_with_its_launch_is_no_latency(tmp_path: Path) -> None:
    timing = timing_of(
        tmp_path,
        """
        main calls  [launch corr=1]      [launch corr=2]
        gpu  kernel [a corr=1    ]           [b corr=2  ]
        """,
    )
    assert timing.launch_latency == 4000


DELAYED = """
    main calls  [launch corr=1]  [launch corr=2]  [launch corr=3]  [launch corr=4]                    [launch corr=5]
    gpu  kernel      [a corr=1]    [b corr=2]       [c corr=3]                          [d corr=4]                    [e corr=5]
    """


def test_a_device_could_start_an_event_when_its_call_had_returned(tmp_path: Path) -> None:
    """The latency is 2 us, the calls take 15: `d` is 6 us late, `e` one, which is usual."""
    timing = timing_of(tmp_path, DELAYED)
    assert timing.launch_latency == 2000
    late = (timing.device_events.start - timing.startable) // 1000
    found = dict(zip(names(timing, range(5)), late.tolist(), strict=True))
    assert found == {"a": 0, "b": 0, "c": 0, "d": 6, "e": 0}


def test_when_an_event_of_unknown_launch_could_start_is_unknown(tmp_path: Path) -> None:
    assert timing_of(tmp_path, "gpu kernel [a corr=1 ]").startable.tolist() == [-1]


def test_a_kernel_that_begins_with_its_launch_has_no_latency(tmp_path: Path) -> None:
    """A clock of whole microseconds; one that began before its launch says nothing."""
    timing = timing_of(
        tmp_path,
        """
        main calls    [launch corr=1]     [launch corr=2]      [launch corr=3]
        gpu  kernel   [a corr=1    ]      [b corr=2   ]      [c corr=3   ]
        """,
    )
    assert timing.launch_latency == 0
    timing = timing_of(
        tmp_path,
        """
        main calls    [launch corr=1]     [launch corr=2]      [launch corr=3]
        gpu  kernel   [a corr=1    ]      [b corr=2   ]           [c corr=3   ]
        """,
    )
    assert timing.launch_latency == 0


def test_without_a_launch_onto_an_idle_device_the_latency_is_unknown(tmp_path: Path) -> None:
    assert timing_of(tmp_path, "gpu kernel [a corr=1 ] [b corr=2 ]").launch_latency == 0


def test_the_first_event_of_each_launch_on_each_device(tmp_path: Path) -> None:
    """One graph of four kernels on two devices, and kernels of unknown launch."""
    timing = timing_of(
        tmp_path,
        """
        main calls  [graph corr=1]     [launch corr=2]
        gpu  kernel   [a corr=1] [b corr=1] [x corr=9]  [e corr=2]
        gpu  kernel      [c corr=1] [d corr=1]   [y corr=9]
        """,
        devices={"c": 1, "d": 1, "y": 1},
    )
    first = np.flatnonzero(timing.first_of_launch).tolist()
    assert sorted(names(timing, first)) == ["a", "c", "e"]


def test_what_was_queued_before_the_trace_has_a_number_below_every_calls(tmp_path: Path) -> None:
    timing = timing_of(
        tmp_path,
        """
        main calls                     [launch corr=5]  [graph]
        gpu  kernel [a corr=4] [z corr=0]                      [b corr=5] [c corr=6] [d       ]
        """,
    )
    assert names(timing, np.flatnonzero(timing.queued_before).tolist()) == ["a", "z"]


@pytest.mark.parametrize("calls", ["", "main calls [graph]"])
def test_without_numbered_calls_nothing_is_known_to_have_been_queued(
    tmp_path: Path, calls: str
) -> None:
    """A call without a number sets no bound, nor does the number 0 of a kernel."""
    timing = timing_of(tmp_path, f"{calls}\ngpu  kernel [a corr=4] [z corr=0] [d    ]")
    assert not timing.queued_before.any()
