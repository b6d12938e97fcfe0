"""How the time of calls divides, by loops over the rows of the file: nothing of the analyzer's.

For one device and the names of CUDA and HIP.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_CALLS = ("cuda_runtime", "cuda_driver", "runtime")
_AT_ONCE = 50.0
_LATE = 10.0
"""Microseconds by which clocks of these traces may differ."""


class Row(NamedTuple):
    """A call of the host or an event of the device; times in microseconds."""

    name: str
    category: str
    start: float
    end: float
    lane: str
    device: str
    correlation: int


class Division(NamedTuple):
    """A call that waited, or that a copy held."""

    call: Row
    waited: float
    transfer: float


def read(events: list[Any]) -> tuple[list[Row], list[Row]]:
    """Calls of the runtime, and device events, by start."""
    calls, works = [], []
    for event in events:
        category = str(event.get("cat", "")).lower()
        category = {"memcpy": "gpu_memcpy", "memset": "gpu_memset"}.get(category, category)
        if event.get("ph") != "X" or category not in (*_DEVICE, *_CALLS):
            continue
        row = _row(event, category)
        (works if category in _DEVICE else calls).append(row)
    return sorted(calls, key=lambda row: row.start), sorted(works, key=lambda row: row.start)


def _row(event: dict[str, Any], category: str) -> Row:
    arguments, start = event.get("args", {}), float(event["ts"])
    lane = f"{event['pid']}/{arguments.get('stream', event['tid'])}"
    end = start + float(event["dur"])
    number, device = int(arguments.get("correlation", -1)), str(event["pid"])
    return Row(event["name"], category, start, end, lane, device, number)


def divisions(events: list[Any]) -> list[Division]:
    """Division of every synchronize and of every call that a copy held, from a file's events."""
    calls, works = read(events)
    launched = {call.correlation: call.start for call in calls}
    launching = {work.correlation for work in works}
    copies = {work.correlation: work for work in works if work.category == "gpu_memcpy"}
    streams: defaultdict[str, list[Row]] = defaultdict(list)
    for work in works:
        streams[work.lane].append(work)
    found = []
    for call in calls:
        copy = copies.get(call.correlation) if "Memcpy" in call.name else None
        if copy is not None and _held(call, copy):
            stream = streams[copy.lane]
            ends = [stream[stream.index(copy) - 1].end] if copy is not stream[0] else []
            if _orders_streams(call, calls, launching):
                ends += [work.end for work in works if work.end <= copy.start and work != copy]
            found.append(_of_copy(call, copy, max(ends, default=call.start)))
        elif "Synchronize" in call.name or call.name == "hipFree":
            found.append(Division(call, _waited(call, streams, launched), 0.0))
    return found


def _held(call: Row, copy: Row) -> bool:
    if "Async" not in call.name or "Device -> Pageable" in copy.name:
        return True
    if "Pageable" not in copy.name and "Host" not in copy.name:
        return False
    return call.end >= copy.start and 2 * (call.end - copy.start) >= copy.end - copy.start


def _orders_streams(call: Row, calls: list[Row], launching: set[int]) -> bool:
    """Whether the call's thread ordered streams since it last launched anything."""
    before = [row for row in calls if row.lane == call.lane and row.start < call.start]
    orders = [row.start for row in before if "StreamWaitEvent" in row.name]
    launches = [row.start for row in before if row.correlation in launching]
    return bool(orders) and orders[-1] > max(launches, default=0.0)


def _of_copy(call: Row, copy: Row, ahead: float) -> Division:
    waited = max(min(ahead, call.end) - call.start, 0.0)
    if copy.start - ahead > max(_AT_ONCE, waited):
        waited = 0.0
    begins = max(copy.start, call.start + waited)
    return Division(call, waited, max(min(copy.end, call.end) - begins, 0.0))


def _waited(call: Row, streams: dict[str, list[Row]], launched: dict[int, float]) -> float:
    """Time until the last stream of which all earlier work had ended as the call returned."""
    ends = [call.start]
    for stream in streams.values():
        earlier = [work for work in stream if launched.get(work.correlation, -1.0) < call.start]
        if "Event" in call.name:
            earlier = [work for work in earlier if work.end <= call.end + _LATE]
        last = max((work.end for work in earlier), default=call.start)
        if last <= call.end + _LATE:
            ends.append(last)
    return min(max(ends), call.end) - call.start


def contradictions(events: list[Any]) -> tuple[float, float]:
    """The most by which an event begins before its launch, and one ends after its sync; or 0."""
    calls, works = read(events)
    of = {call.correlation: call for call in calls}
    launched = [work for work in works if work.correlation in of]
    before = [of[work.correlation].start - work.start for work in launched]
    after = [
        work.end - of[work.correlation].end
        for work in launched
        if "DtoH" in work.name
        and "Memcpy" in of[work.correlation].name
        and "Async" not in of[work.correlation].name
    ]
    since = _left_since(calls, {work.correlation for work in works})
    for call in calls:
        if call.start >= since:  # the device did not do this work: it was another's sync
            break
        if "DeviceSynchronize" in call.name and len({work.device for work in works}) == 1:
            earlier = [w.end for w in launched if of[w.correlation].end <= call.start]
            late = max(earlier, default=call.end) - call.end
            # No event begins sooner after its launch than the clocks differ; drift is 100 us.
            if late <= min((-lead for lead in before), default=0) + 100:
                after.append(late)
    return max([0.0, *before]), max([0.0, *after])


def _left_since(calls: list[Row], ran: set[int]) -> float:
    """Start of the first of the launches that the recording ended before, a hundredth of all."""
    launches = [call for call in calls if "LaunchKernel" in call.name or "GraphLaunch" in call.name]
    known = [i for i, call in enumerate(launches) if call.correlation in ran]
    left = launches[known[-1] + 1 :] if known else []
    return left[0].start if left and len(left) >= 0.01 * len(launches) else float("inf")
