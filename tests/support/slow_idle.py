"""The split of idle time done the slow, obvious way: moment by moment, from the events themselves.

Times are the microseconds of the events, which are whole ones, and so are moments.
"""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

MOMENT = 1.0
_COPIES = ("Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pageable)")


@dataclass
class Piece:
    """A device event, or a call of the host."""

    name: str
    start: float
    end: float
    thread: str
    device: int = -1
    correlation: int = -1


@dataclass
class Timeline:
    """What a picture holds, sorted into what the split asks for."""

    works: list[Piece] = field(default_factory=list)
    calls: list[Piece] = field(default_factory=list)
    notes: list[Piece] = field(default_factory=list)
    overhead: list[Piece] = field(default_factory=list)

    def launch_of(self, work: Piece) -> Piece | None:
        """The call that launched a piece of work."""
        return next((c for c in self.calls if c.correlation == work.correlation >= 0), None)


def read(events: list[dict[str, Any]]) -> Timeline:
    """Sort events."""
    timeline = Timeline()
    into = {
        "kernel": timeline.works,
        "gpu_memcpy": timeline.works,
        "cuda_runtime": timeline.calls,
        "user_annotation": timeline.notes,
        "overhead": timeline.overhead,
    }
    for event in events:
        args = event.get("args", {})
        into[event["cat"]].append(
            Piece(
                event["name"],
                event["ts"],
                event["ts"] + event["dur"],
                str(event["tid"]),
                int(event["pid"]) if event["cat"] in ("kernel", "gpu_memcpy") else -1,
                args.get("correlation", -1),
            )
        )
    timeline.works.sort(key=lambda work: (work.start, work.correlation))
    return timeline


def split(timeline: Timeline) -> dict[int, Counter[str]]:
    """Microseconds of idle time of each device that has any, by cause."""
    everything = [*timeline.works, *timeline.calls, *timeline.notes]
    first, last = min(p.start for p in everything), max(p.end for p in everything)
    floor = _floor(timeline)
    result = {}
    for device in {work.device for work in timeline.works}:
        works = [work for work in timeline.works if work.device == device]
        bills = _sync_bills(timeline, works, floor)
        count: Counter[str] = Counter()
        moment = first
        while moment < last:
            if not any(work.start <= moment < work.end for work in works):
                count[_cause(timeline, works, moment, first, bills, floor)] += MOMENT
            moment += MOMENT
        if count:
            result[device] = count
    return result


def _floor(timeline: Timeline) -> float:
    """The launch latency: lower quartile of the starts after launches onto an idle device.

    None takes longer than 50 us.
    """
    times = []
    for place, work in enumerate(timeline.works):
        launch = timeline.launch_of(work)
        before = [w for w in timeline.works[:place] if w.device == work.device]
        if not launch or not before or _siblings(before, work):
            continue
        if max(w.end for w in before) <= launch.start <= work.start:
            times.append(work.start - launch.start)
    found = sorted(times)[(len(times) - 1) // 4] if times else 0.0
    return found if found <= 50 else 0.0


def _siblings(works: list[Piece], work: Piece) -> list[Piece]:
    """Those of some works that the launch of a work launched."""
    return [other for other in works if other.correlation == work.correlation]


def _cause(
    timeline: Timeline,
    works: list[Piece],
    moment: float,
    first: float,
    bills: dict[float, tuple[str, float]],
    floor: float,
) -> str:
    before = [work for work in works if work.end <= moment]
    following = next((work for work in works if work.start > moment), None)
    gap_start = max((work.end for work in before), default=first)
    launch = timeline.launch_of(following) if following else None
    late = _late(works, following, launch, gap_start, floor)
    begun = bool(before) or (launch is not None and moment >= launch.start)
    ready = late and following and launch and moment >= _ready(following, launch, floor)
    known = launch or (following and _queued_before(timeline, following))
    if following and begun and known and (ready or not late):
        if not before:
            return "unknown"
        opens = not any(work.thread == following.thread for work in works[: works.index(following)])
        return "unknown" if launch and opens else "device"
    launching = {c.thread for c in timeline.calls if any(timeline.launch_of(w) is c for w in works)}
    rest = (
        "launch"
        if late and (begun or _at_work(timeline, following, launch, moment, floor))
        else "unknown"
    )
    return _host_cause(timeline, moment, bills, launching) or rest


def _at_work(
    timeline: Timeline, first: Piece | None, launch: Piece | None, moment: float, floor: float
) -> bool:
    """Whether the host did something before the launch of an event that started at once."""
    if first is None or launch is None or _ready(first, launch, floor) < first.start:
        return False
    mine = [p for p in (*timeline.calls, *timeline.notes) if p.thread == launch.thread]
    return any(piece.start <= moment < piece.end for piece in mine)


def _ready(work: Piece, launch: Piece, floor: float) -> float:
    """Moment from which the device could start a work."""
    ready = max(launch.start + floor, launch.end)
    return work.start if work.start - ready <= (floor or 50) else ready


def _queued_before(timeline: Timeline, work: Piece) -> bool:
    recorded = [call.correlation for call in timeline.calls if call.correlation >= 0]
    return 0 <= work.correlation < min(recorded, default=0)


def _late(
    works: list[Piece],
    following: Piece | None,
    launch: Piece | None,
    gap_start: float,
    floor: float,
) -> bool:
    if following is None or launch is None:
        return False
    if _siblings(works, following)[0] is not following:
        return False
    ran_dry = "Memcpy" not in following.name and launch.end > gap_start
    return launch.start > gap_start - floor or ran_dry


def _host_cause(
    timeline: Timeline, moment: float, bills: dict[float, tuple[str, float]], launching: set[str]
) -> str | None:
    def during(pieces: list[Piece], *names: str) -> bool:
        return any(p.start <= moment < p.end and p.name.startswith(names) for p in pieces)

    copies = [call for call in timeline.calls if _copies_unpinned(timeline, call)]
    mine = [call for call in timeline.calls if call.thread in launching]
    billed_to, wait_end = bills.get(moment, ("", 0.0))
    if billed_to and moment < wait_end:
        return "sync"
    if during(timeline.notes, "enumerate(DataLoader)"):
        return "data_loading"
    if during([call for call in copies if call.thread in launching], ""):
        return "copy"
    if during(mine, "cudaMalloc", "cudaFree"):
        return "allocator"
    if during([*_loads(timeline, mine), *timeline.overhead], "loads", "Lazy Function Loading"):
        return "kernel_loading"
    if during(timeline.overhead, "Buffer Flush"):
        return "profiler"
    if billed_to:
        return "sync"
    return "communication" if during(timeline.notes, "gloo:") else None


def _loads(timeline: Timeline, calls: list[Piece]) -> list[Piece]:
    """Time in which some calls loaded kernels."""
    loads = [c for c in calls if c.name == "cuModuleLoadData"]
    found = [Piece("loads", call.start, call.end, call.thread) for call in loads]
    launched = [(w, c) for w in timeline.works if (c := timeline.launch_of(w))]
    every = {id(c): c.end - c.start for _, c in launched if c.name == "cudaLaunchKernel"}
    first: dict[tuple[str, int], tuple[Piece, Piece]] = {}
    for work, call in sorted(launched, key=lambda pair: pair[1].start):
        if id(call) in every:
            first.setdefault((work.name, work.device), (work, call))
    calls_of_first = {id(call) for _, call in first.values()}
    later = [length for call, length in every.items() if call not in calls_of_first]
    for work, call in first.values():
        until = min(call.end, work.start)
        usual = statistics.median(later or every.values())
        if call in calls and until - call.start > 20 * usual:
            found.append(Piece("loads", call.start, until, call.thread))
    return found


def _copies_unpinned(timeline: Timeline, call: Piece) -> list[Piece]:
    return [
        work
        for work in timeline.works
        if work.name in _COPIES and work.correlation == call.correlation
    ]


def _held(call: Piece, copy: Piece) -> bool:
    """Whether half of a copy or more passed in its call."""
    return call.end >= copy.start and 2 * (call.end - copy.start) >= copy.end - copy.start


def waits(timeline: Timeline) -> list[Piece]:
    """Syncs: calls in which the host waited, a copy with a synchronize right after; by start."""
    found: list[Piece] = []
    for thread in {call.thread for call in timeline.calls}:
        calls = [call for call in timeline.calls if call.thread == thread]
        before: Piece | None = None
        for call in sorted(calls, key=lambda call: call.start):
            copies = any(_held(call, copy) for copy in _copies_unpinned(timeline, call))
            if before and call.name.endswith("Synchronize"):
                found[-1] = Piece(before.name, before.start, call.end, thread)
            elif copies or call.name.endswith("Synchronize"):
                found.append(call)
            before = call if copies else None
    return sorted(found, key=lambda sync: sync.start)


def _sync_bills(
    timeline: Timeline, works: list[Piece], floor: float
) -> dict[float, tuple[str, float]]:
    """For each moment that a wait is billed for: which wait, and when that one ended."""
    by_gap: dict[int, list[Piece]] = {}
    launches = [(work, launch) for work in works if (launch := timeline.launch_of(work))]
    for wait in waits(timeline):
        later = [pair for pair in launches if pair[1].start >= wait.end]
        if not later:
            continue
        following, launch = min(later, key=lambda pair: works.index(pair[0]))
        meanwhile = any(
            other.thread == launch.thread and wait.start <= other.start < wait.end
            for _, other in launches
        )
        if launch.thread == wait.thread or not meanwhile:
            by_gap.setdefault(works.index(following), []).append(wait)
    bills: dict[float, tuple[str, float]] = {}
    for place, group in by_gap.items():
        left = {id(wait): wait.end - wait.start for wait in group}
        moment = max([group[0].start, *(work.end for work in works[:place])])
        if not place:
            moment = max(group[0].start, works[0].start)
        while moment < works[place].start - floor:
            begun = [wait for wait in group if wait.start <= moment and left[id(wait)] > 0]
            if begun:
                left[id(begun[-1])] -= MOMENT
                bills[moment] = (begun[-1].name, begun[-1].end)
            moment += MOMENT
    return bills
