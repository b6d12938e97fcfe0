"""Pictures of device rows that cannot be, and of launches that lost theirs."""

from __future__ import annotations

import re
from pathlib import Path

import grid
import numpy as np
import pytest
import shared_traces
from support.faults import NAMES, faults, on_device

from tb_hookview.analysis.analysis import analyze_trace
from tb_hookview.analysis.device.events import in_capture
from tb_hookview.trace import EventCategory, read_trace

MINUTE = 60_000_000


@pytest.mark.parametrize(
    ("length", "last", "expected"),
    [
        (MINUTE + 1, 40, MINUTE * 1000 + 1000),
        (MINUTE - 1, 40, None),
        (MINUTE + 1, 2 * MINUTE, None),
    ],
)
def test_an_event_of_a_minute_longer_than_all_else(
    tmp_path: Path, length: int, last: int, expected: int | None
) -> None:
    picture = "main ops [aten::mm   ]"
    rows = on_device("long", 2, length), on_device("k", last, 5, stream=9)
    found = faults(tmp_path, picture, *rows).get("impossible-length")
    assert (found and found.time) == expected


def test_events_of_one_stream_at_once(tmp_path: Path) -> None:
    rows = [on_device("a", 0, 100), on_device("b", 60, 100), on_device("c", 170, 10)]
    found = faults(tmp_path, "main ops [aten::mm   ]", *rows)["overlap"]
    assert (found.count, found.time) == (1, 40_000)
    assert found.share == pytest.approx(40 / 210)


@pytest.mark.parametrize(
    "rows",
    [
        [on_device("a", 0, 100), on_device("b", 60, 100, stream=9)],
        [on_device("a", 0, 100), on_device("b", 60, 100, device=1)],
        [on_device("a", 0, 200), on_device("b", 199, 200)],
        [on_device("a", 0, 1000), on_device("b", 998, 1000)],
        [on_device("a", 0, 100, **{"graph id": 3}), on_device("b", 60, 100, **{"graph id": 3})],
    ],
    ids=["two streams", "two devices", "rounding", "below one in a hundred", "a graph"],
)
def test_events_that_may_be_at_once(tmp_path: Path, rows: list[dict[str, object]]) -> None:
    assert "overlap" not in faults(tmp_path, "main ops [aten::mm   ]", *rows)


def test_launches_before_the_first_device_event(tmp_path: Path) -> None:
    picture = """
        main calls  [launch corr=1][launch corr=2][launch corr=3][launch corr=4]
        gpu  kernel                                      [k corr=3][k corr=4]
        """
    found = faults(tmp_path, picture)
    assert found["lost-at-start"].count == 2
    assert "lost-in-between" not in found


@pytest.mark.parametrize(("calls", "copied", "lost"), [(10, 0, 10), (9, 0, 0), (10, 1, 0)])
def test_copies_that_all_lack_device_events(
    tmp_path: Path, calls: int, copied: int, lost: int
) -> None:
    launch = "main calls  [launch corr=1]\ngpu  kernel    [k corr=1]"
    at = {"ph": "X", "pid": "host", "tid": "main", "cat": "cuda_runtime"}
    copies = [
        {
            **at,
            "name": "cudaMemcpyAsync",
            "ts": 90 + 9 * n,
            "dur": 5,
            "args": {"correlation": 9 + n},
        }
        for n in range(calls)
    ]
    done = [on_device("Memcpy HtoD (Pageable -> Device)", 92, 2, correlation=9)][:copied]
    found = faults(tmp_path, launch, *copies, *done).get("lost-copies")
    assert (found.count if found else 0) == lost


def test_launches_between_those_with_device_events(tmp_path: Path) -> None:
    picture = """
        main calls  [launch corr=1][launch corr=2][launch corr=3][launch corr=4]
        gpu  kernel            [k corr=1]                [k corr=3]
        """
    found = faults(tmp_path, picture)
    assert (found["lost-in-between"].count, found["lost-in-between"].share) == (1, 0.25)
    assert "lost-at-start" not in found


def test_launches_after_those_with_device_events(tmp_path: Path) -> None:
    picture = """
        main calls  [launch corr=1][launch corr=2][launch corr=3][launch corr=4]
        gpu  kernel            [k corr=1]
        """
    found = faults(tmp_path, picture)
    assert (found["lost-at-end"].count, found["lost-at-end"].share) == (3, 0.75)


@pytest.mark.parametrize("ends", [50, 1000])
def test_launches_of_a_stream_that_was_behind_next_to_one_that_was_not(
    tmp_path: Path, ends: int
) -> None:
    """The second of 42 launches runs as the recording ends, and the last one ran at once before."""
    calls = "".join(f"[launch corr={number}".ljust(19) + "]" for number in range(1, 43))
    rows = [on_device("k", 10, 5, correlation=1), on_device("k", 30, ends, correlation=2)]
    rows.append(on_device("k", 830, 5, stream=9, correlation=42))
    found = faults(tmp_path, f"main calls {calls}", *rows)
    lost, kept = ("lost-at-end", "lost-in-between")[:: 1 if ends == 1000 else -1]
    assert found[lost].count == 39
    assert kept not in found


@pytest.mark.parametrize(("more", "lost"), [(0, True), (1, False)])
def test_the_device_work_of_an_optimizer_s_last_step(tmp_path: Path, more: int, lost: bool) -> None:
    """One launch of 201 is few, unless it is all that the step launches."""
    calls = [f"[launch corr={number}".ljust(39) + "]" for number in range(1, 202)]
    kernels = [f"[k corr={number}".ljust(39) + "]" for number in range(1, 201)]
    picture = f"""
        main notes {" " * 40 * (200 - more)}{"[Optimizer.step#SGD.step".ljust(40 * (1 + more))}]
        main calls {"".join(calls)}
        gpu  kernel {" " * 20}{"".join(kernels)}
        """
    assert ("lost-at-end" in faults(tmp_path, picture)) == lost


def test_launches_into_a_graph_that_is_captured(tmp_path: Path) -> None:
    picture = """
        main calls  [begin][launch corr=1][end][launch corr=2][begin][launch corr=3][end][graph corr=4]
        gpu  kernel                                    [k corr=2]                          [k corr=4]
        """
    found = faults(tmp_path, picture)
    assert not {"lost-at-start", "lost-in-between", "no-device-events"} & set(found)


@pytest.mark.parametrize(
    "captures",
    [
        """
        main calls  [launch corr=1][end]                [launch corr=2][begin][launch corr=3][end]
        """,
        """
        main calls  [begin][launch corr=1][end]         [launch corr=2][begin][launch corr=3]
        """,
        """
        main calls  [begin] [begin] [launch corr=1][end][launch corr=2][begin][launch corr=3][end]
        """,
        """
        main calls  [begin][launch corr=1][end]         [launch corr=2][begin][launch corr=3] [end]
        auto calls        [begin]           [end]                        [begin]           [end]
        """,
    ],
    ids=["no first begin", "no last end", "no first end", "two threads"],
)
def test_captures_that_are_not_pair_by_pair(tmp_path: Path, captures: str) -> None:
    device = "gpu  kernel                                        [k corr=2]\n"
    trace = grid.write(tmp_path / "t.json", grid.events(captures + device, NAMES))
    host = analyze_trace(read_trace(trace)).host
    launches = host.named(re.compile("cudaLaunchKernel").fullmatch)
    assert in_capture(host, launches).tolist() == [True, False, True]
    assert faults(tmp_path, captures + device) == {}


def test_calls_other_than_launches_have_no_device_event(tmp_path: Path) -> None:
    picture = """
        main calls  [cudaEventQuery corr=1][launch corr=2][cudaMalloc corr=3][launch corr=4]
        gpu  kernel                                   [k corr=2]                   [k corr=4]
        """
    assert faults(tmp_path, picture) == {}


@pytest.mark.parametrize(
    ("kernels", "lost"),
    [("", True), ("[k corr=5]", True), ("[k corr=5] [k corr=6]", False)],  # theirs, or earlier ones
)
def test_a_device_of_which_only_copies_were_recorded(
    tmp_path: Path, kernels: str, *, lost: bool
) -> None:
    picture = f"""
        main calls  [launch corr=1][launch corr=2][cudaMemcpy corr=3 ]
        gpu  copy                                   [toHost corr=3 ]
        gpu  kernel                                                    {kernels}
        """
    found = faults(tmp_path, picture).get("lost-in-between")
    assert (found and (found.count, found.share)) == ((2, 1.0) if lost else None)


def test_a_device_that_was_not_recorded(tmp_path: Path) -> None:
    found = faults(tmp_path, "main calls  [launch corr=1][launch corr=2]")
    assert found["no-device-events"].count == 2


def test_a_trace_of_the_host_alone_has_no_fault(tmp_path: Path) -> None:
    assert faults(tmp_path, "main ops [aten::mm   ]") == {}


def test_device_time_whose_launch_is_unknown(tmp_path: Path) -> None:
    picture = """
        main calls  [launch corr=5]
        gpu  kernel [k corr=1    ] [k corr=5                   ]
        """
    found = faults(tmp_path, picture)["no-launch"]
    assert (found.count, found.share) == (1, 14 / 43)


def test_a_real_trace_without_its_first_device_events() -> None:
    """The first 100 kernels of the trace taken out: their launches are the first 100."""
    trace = read_trace(shared_traces.shared_trace("tracelens_mi210_gpu_only"))
    kernels = np.flatnonzero(trace.events.kind == EventCategory.KERNEL)
    first = kernels[np.argsort(trace.events.start[kernels], kind="stable")][:100]
    trace.events.kind[first] = EventCategory.OTHER
    found = {fault.code: fault.count for fault in analyze_trace(trace).faults}
    assert found == {"lost-at-start": 100}
