"""Rows of a report about the trace itself and its recording."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from tb_hookview.schema.terms import Count, Share, Times, Us


class Device(Struct, frozen=True):
    """A device that did any work."""

    id: str
    """Device index as the trace numbers it, as text ("0")."""
    name: str
    kind: str
    """ "cuda", "hip", "ze" or "ur" (XPU); "device" where the runtime is unknown."""


WarningSeverity = Literal["high", "low"]


class TraceWarning(Struct, frozen=True):
    """Something that speaks against the trace, or that a reader of the report should know."""

    id: str
    """The code; `code#2` for the second of a code."""
    code: str
    message: str
    count: Count
    """Number of times it was seen."""
    severity: WarningSeverity = "low"
    """ "high" where it makes figures of the report wrong or leaves them out.
    `docs/explanation/reliability.md` lists the codes."""


class Recording(Struct, frozen=True):
    """How much longer a step was for being recorded.

    Our `profile` times steps by the host's clock, each from the return of one call of its `step` to
    the next call. Medians, so that one evaluation between two steps does not count. On a device
    that works asynchronously the time of one step is the time to queue it; over consecutive steps
    the host runs at the device's pace. Left out are the first of each sequence of steps that are
    not recorded (the training's own warmup, or a queue that the profiler has just emptied), and
    steps in which the profiler warms up. At most the latest 100 steps of each kind count.

    A step that is recorded is longer because of time on the host: host times, idle times of the
    devices and the length of steps are overstated by it, durations of device events hardly.
    """

    unrecorded_step_us: Us | None
    """Median of the steps that were not recorded and ended before this file was written; null
    without one, as where the schedule's `wait` is below 2."""
    recorded_step_us: Us | None
    """Median of the steps that were recorded into this file; null without one."""
    slowdown: Times | None
    """`recorded_step_us` divided by `unrecorded_step_us`; null where one of them is, and where
    `unrecorded_steps` is below 2: a single step may be one that warms up or compiles."""
    unrecorded_steps: Count
    """Steps of which `unrecorded_step_us` is the median."""
    recorded_steps: Count
    """Steps of which `recorded_step_us` is the median."""


class TraceInfo(Struct, frozen=True):
    """The file, and what it was recorded on."""

    path: str
    format: str
    """Form of the file's root: "chrome-object" or "chrome-list"."""
    events: Count
    """Complete events of the trace."""
    start_us: Us
    """On the trace's own clock."""
    duration_us: Us
    """From the first start to the last end of the events of host and devices."""
    devices: list[Device]
    rank: int | None
    world_size: int | None
    torch_version: str | None
    recorder: dict[str, Any] | None
    """The recorder's manifest (version, markers); null where it left none."""
    warnings: list[TraceWarning]
    """Those of high severity first."""
    recording: Recording | None = None
    """Null where the recorder timed no steps."""


def severe_warnings(trace: TraceInfo) -> list[TraceWarning]:
    """What makes figures of a report wrong or leaves them out: it heads every summary."""
    return [warning for warning in trace.warnings if warning.severity == "high"]


class Marks(Struct, frozen=True):
    """Marks of the recorder that began within the selected steps, on any thread, by kind."""

    forward: Count
    """Forward ranges."""
    gradient: Count
    """Gradient marks."""
    backward: Count
    """Marks before and after a module's backward, each counted."""
    function: Count
    """Ranges around calls that scale or clip gradients."""


class Recorder(Struct, frozen=True):
    """Marks of the recorder in the selected steps, and their cost."""

    version: int | None
    """Version of the marks' format; the latest of those in the trace."""
    markers: list[str]
    """The `markers` options that modules were wrapped with, from the manifest; empty without
    one."""
    marks: Marks
    own_host_us: Us | None
    """An estimate: for each kind, the marks counted times the host time that one of them cost,
    which the recorder measured during the recording and left in the manifest (`cost_us`, a median).
    Null where the manifest has none for a kind that is there."""
    own_share: Share | None
    """`own_host_us` divided by the summed `duration_us` of the selected steps. Marks on threads
    that ran at the same time are all counted, though not each of them makes a step longer. The
    profiler's own cost is not in it."""
