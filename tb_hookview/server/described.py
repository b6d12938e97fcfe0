"""The form of the answers that no type of analysis or store gives: what docs/http_api.md says of
them, as types. Times are microseconds, in the timeline from the start of the trace.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from tb_hookview.schema import Comparison

Texts = list[str]
Numbers = list[int]
Times = list[float]


class ListedTrace(Struct):
    """One trace file; `modified` in seconds since 1970."""

    id: str
    file: str
    bytes: int
    modified: float


class ListedWorker(Struct):
    """The traces that one process wrote, newest first."""

    name: str
    traces: list[ListedTrace]


class ListedRun(Struct):
    """A folder with traces; named by its path relative to the log directory."""

    name: str
    workers: list[ListedWorker]


class LeftOut(Struct):
    """What of the log directory is not listed."""

    links: int
    """Links that lead out of it."""
    folders: int
    """Folders that cannot be listed."""


class Runs(Struct):
    """The log directory."""

    logdir: str
    version: str
    runs: list[ListedRun]
    left_out: LeftOut


class ToldRule(Struct):
    """A rule that every trace is held against."""

    id: str
    family: str
    title: str
    visible: bool
    matches: str
    fix: str
    reference: str
    confidence: str
    advice: Texts


class Compared(Struct):
    """What changed between two traces, with the names of all steps of each."""

    comparison: Comparison
    base_steps: Texts
    other_steps: Texts


LaneKind = Literal["steps", "forward", "backward", "host", "device", "idle", "queue", "annotations"]


class TimelineLane(Struct):
    """One lane: events in `depth` rows, or the points of a curve."""

    id: str
    group: str
    title: str
    subtitle: str
    kind: LaneKind
    depth: int
    events: int


class Minimap(Struct):
    """The phases of all steps; `colour` is a row of the timeline's colours."""

    start: Times
    duration: Times
    colour: Numbers


class TimelineOverview(Struct):
    """The lanes of a trace, its bounds and a minimap."""

    start_us: float
    duration_us: float
    events: int
    lanes: list[TimelineLane]
    minimap: Minimap
    colours: Texts


class LaneBlocks(Struct):
    """What to draw of a lane; equally long lists."""

    id: str
    start: Times
    duration: Times
    depth: Numbers
    name: Numbers
    colour: Numbers
    count: Numbers
    event: Numbers


class CurvePoints(Struct):
    """A curve; each value holds until the next."""

    id: str
    start: Times
    value: Numbers


class TimelineWindow(Struct):
    """The blocks of a window."""

    start: float
    end: float
    names: Texts
    lanes: list[LaneBlocks]
    curves: list[CurvePoints]


class Spot(Struct):
    """An event: which, where, when."""

    id: int
    lane: str
    depth: int
    name: str
    colour: int
    start: float
    duration: float


class ChainLink(Struct):
    """What is around an event; `id` is null for what is on no lane."""

    kind: str
    text: str
    id: int | None


class EventLink(Spot):
    """An event that another one has to do with."""

    relation: str


class EventDetail(Spot):
    """All that is known of one event."""

    category: str
    thread: str | None
    device: str | None
    stream: str | None
    step: str | None
    phase: str | None
    module: str | None
    node: str | None
    evidence: str | None
    no_module: str | None
    self_us: float | None
    device_us: float | None
    chain: list[ChainLink]
    links: list[EventLink]
    links_omitted: int
    args: dict[str, str] | None


class Found(Struct):
    """The events with a text in their names; `hits` are the first of `total`."""

    total: int
    hits: list[Spot]
    density: Numbers


class DeviceInWindow(Struct):
    """What one device did in a window."""

    id: str
    name: str
    busy_us: float
    idle_us: float
    idle_by_cause: dict[str, float]


class Dearest(Struct):
    """One of the names that took most of a window."""

    kind: str
    measure: Literal["device", "host"]
    name: str
    count: int
    total_us: float
    self_us: float | None


class WindowStatistics(Struct):
    """What host and devices did in a window."""

    start: float
    end: float
    events: int
    host_blocked_us: float
    waits: int
    sync_blocked_us: float
    phases: dict[str, float]
    devices: list[DeviceInWindow]
    top: list[Dearest]
    omitted: dict[str, int]


class Fault(Struct):
    """Why there is no answer; `message` is one line for a person."""

    kind: Literal["usage", "not_found", "trace", "internal", "unwanted"]
    message: str


class Failed(Struct):
    """The answer where there is none."""

    error: Fault
