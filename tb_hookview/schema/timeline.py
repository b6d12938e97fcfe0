"""Answers about the timeline. Times are microseconds from the start of the trace."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from tb_hookview.schema.terms import Count, Us

LaneKind = Literal[
    "steps",
    "path",
    "forward",
    "backward",
    "host",
    "device",
    "idle",
    "queue",
    "memory",
    "annotations",
]
"""Content of a lane, in the order in which lanes come."""


ChainKind = Literal["call", "operator", "annotation", "node", "module", "line"]
"""Type of a link of a chain. A call is one of the device's runtime, a line one of Python."""

Relation = Literal[
    "launches",
    "launched by",
    "forward of",
    "backward of",
    "waits for",
    "waited for by",
    "left idle",
    "caused by",
    "ended by",
    "runs",
    "follows",
    "leads to",
]

LinkKind = Literal[
    "host",
    "launch",
    "stream",
    "sync",
    "handover",
    "queue",
    "cross_stream",
    "origin",
    "collective",
    "autograd",
    "idle",
]
"""A dependency of a replay by its name; forward operator and node; call and device idle time."""

LinkEvidence = Literal[
    "order", "correlation id", "calls of the runtime", "times", "sequence number", "flow"
]
"""What in the trace shows a link."""

TopKind = Literal["device", "host", "forward", "backward"]
Measure = Literal["device", "host"]


class TimelineLane(Struct, frozen=True):
    """One lane: events in `depth` rows, or the points of a curve."""

    id: str
    group: str
    title: str
    subtitle: str
    kind: LaneKind
    depth: Count
    """Rows that nest, 1 for none."""
    events: Count | None
    """Events of the lane, or points of its curve; null for a lane that is made only when it is
    asked for by its id: its window alone shows them."""
    thread: str | None
    """Name of the thread of the host, as in the report's rows; null where the lane is of none."""
    thread_id: int | None
    """Id of that thread, as in the report's rows."""
    device: str | None
    """Id of the device as in the report's rows; null for a lane without."""
    stream: str | None
    """Stream of the device; null where the lane is of none."""
    stream_id: int | None
    """Id of that stream, as in the report's rows."""
    note: str | None = None
    """Why the lane shows nothing, as a phrase; null where it shows something."""


class Minimap(Struct, frozen=True):
    """The phases of all steps, merged to 1500 pixels; equally long lists."""

    start: list[Us]
    """Start of each."""
    duration: list[Us]
    """Length of each."""
    colour: list[int]
    """Rows of the timeline's colours."""


class TimelineOverview(Struct, frozen=True):
    """The lanes of a trace, its bounds and a minimap."""

    start_us: Us
    """Start of the trace on its own clock, as in the report."""
    duration_us: Us
    """From the first start to the last end of the trace's events."""
    events: Count
    """Events of the file, of every phase (`ph`): rows, instants, arrows, names of threads."""
    lanes: list[TimelineLane]
    minimap: Minimap
    colours: list[str]
    """Meaning of the colours of blocks."""


class LaneBlocks(Struct, frozen=True):
    """Blocks to draw of a lane, by depth, then by start; equally long lists."""

    id: str
    start: list[Us]
    """Start of each block."""
    duration: list[Us]
    """Length of each block; of merged events, from the first start to the last end."""
    depth: list[int]
    name: list[int]
    """Rows of the window's names; -1 where events of several names are merged."""
    colour: list[int]
    """Rows of the timeline's colours."""
    count: list[Count]
    """Events in each block; 1 for an event by itself."""
    event: list[int]
    """Id of the event, -1 for a merged block."""


class LaneCurve(Struct, frozen=True):
    """A number over time; each value holds until the next."""

    id: str
    start: list[Us]
    """Start of each value."""
    value: list[Count]
    """Device events that were launched and have not begun; of a lane of memory bytes."""


class TimelineWindow(Struct, frozen=True):
    """The blocks of a window."""

    start: Us
    """Start of the window."""
    end: Us
    """End of the window."""
    width: int
    """Pixels to which blocks are merged; fewer than asked for where the answer would be larger
    than a megabyte."""
    names: list[str]
    lanes: list[LaneBlocks]
    curves: list[LaneCurve]


class EventSummary(Struct, frozen=True):
    """An event: which, where, when."""

    id: int
    lane: str
    """Id of the lane that shows it."""
    depth: int
    """Its row of the lane, from 0."""
    name: str
    colour: int
    """Row of the timeline's colours."""
    start: Us
    """Start of the event."""
    duration: Us
    """Length of the event."""


class ChainLink(Struct, frozen=True):
    """A row around an event."""

    kind: ChainKind
    text: str
    id: int | None
    """Id of the event; null for what is on no lane."""


class EventLink(EventSummary, frozen=True):
    """An event that another one is related to."""

    relation: Relation
    """Reads from the event to what is linked."""
    kind: LinkKind | None = None
    """Kind of the link; null where it only says what is around or inside."""
    evidence: LinkEvidence | None = None
    """What in the trace shows it; null where nothing needs to."""


class EventDetail(EventSummary, frozen=True):
    """All that is known of one event; what does not apply to it is null."""

    category: str
    """Category of a row of the trace, or what the analysis made the event of."""
    thread: str | None
    device: str | None
    stream: str | None
    step: str | None
    phase: str | None
    module: str | None
    node: str | None
    evidence: str | None
    """Evidence for the module of a node, or of its device work."""
    no_module: str | None
    """Reason for which the module is unknown."""
    self_us: Us | None
    """Of a host row: less the host rows inside. Of a phase: without the gaps."""
    device_us: Us | None
    """Device work launched inside a host row or a module."""
    chain: list[ChainLink]
    """From what is around the event outwards."""
    links: list[EventLink]
    links_omitted: Count
    """Links beyond the first 200."""
    args: dict[str, str] | None
    """Arguments in the file as text; null where it cannot be read any more."""


class SearchResult(Struct, frozen=True):
    """Events with a text in their names."""

    total: Count
    """Events found in the window, those beyond `hits` included."""
    hits: list[EventSummary]
    """The first 500 by start."""
    density: list[Count]
    """Events that begin in each of `width` equal parts of the window; sums to `total`."""


class DeviceStatistics(Struct, frozen=True):
    """Work and idle time of one device in a window."""

    id: str
    name: str
    busy_us: Us
    """Time in which any work ran."""
    idle_us: Us
    """Time in which none did."""
    idle_by_cause: dict[str, Us]
    """`idle_us` by cause, as the report's `steps[].idle`; sums to it."""


class TopEntry(Struct, frozen=True):
    """One of the names that took most of a window."""

    kind: TopKind
    """Kind of the lanes that show it: device work, operators, modules forward or backward."""
    measure: Measure
    """Whether it is host or device time."""
    name: str
    count: Count
    """Device events, calls, or (modules) device events or host rows."""
    total_us: Us
    """Sum of their times in the window; of a module, including those below it."""
    self_us: Us | None
    """Less what is inside; null for device work."""


class WindowStatistics(Struct, frozen=True):
    """Activity of host and devices in a window, clipped to it."""

    start: Us
    """Start of the window."""
    end: Us
    """End of the window."""
    events: Count
    """Rows of the trace that touch the window."""
    host_blocked_us: Us | None
    """Time in which any thread waited for a device, as `steps[].sync_blocked_us`: without the
    profiler's own sync. Null, as the next two, where `totals.sync_count` is."""
    waits: Count | None
    """Syncs that touch the window, the profiler's own among them."""
    sync_blocked_us: Us | None
    """Sum of their times in the window."""
    phases: dict[str, Us]
    """Host time within steps by phase, as the report's `steps[]`; without `forward` where that is
    unknown."""
    devices: list[DeviceStatistics]
    top: list[TopEntry]
    """Up to 20 names of each kind, most expensive first."""
    omitted: dict[str, Count]
    """Names that `top` leaves out, by kind."""
