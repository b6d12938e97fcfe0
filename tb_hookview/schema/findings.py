"""Findings of the rules as types."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from tb_hookview.schema.units import Count, Us

Confidence = Literal["high", "medium", "low"]
Family = Literal[
    "sync",
    "data-loading",
    "data-movement",
    "memory",
    "host",
    "kernels",
    "optimizer",
    "precision",
    "compile",
    "distributed",
]


class RuleInfo(Struct, frozen=True):
    """A rule, without a trace."""

    id: str
    family: Family
    title: str
    """The problem, as a phrase that stands by itself."""
    visible: bool
    """Whether a trace can show it; if not, it appears as advice under other findings."""
    matches: str
    """Condition on a trace under which it holds, in words."""
    fix: str
    """The fix, in whole sentences."""
    reference: str
    confidence: Confidence
    advice: list[str]
    """Ids of rules that no trace shows and that belong under this one's findings."""


class Advice(Struct, frozen=True):
    """Something to look at that no trace shows."""

    id: str
    """Id of the rule."""
    title: str
    fix: str


class Finding(Struct, frozen=True, kw_only=True):
    """One thing that costs time and could be changed: a rule at a place.

    "A step" is the mean over the measured steps: those chosen; of a whole trace all in which the
    host launched work (ran anything, where the trace has no launches), less the first, which warms
    up, where there is another.
    """

    id: str
    """`rule:where`; the report numbers those that share it."""
    rule: str
    """Id of the rule."""
    severity: str
    """By the gain, where it is unknown by the cost: `high` from 5% of the step, `medium` from 1%,
    `low` below; `info` where it costs and gains nothing in this trace. A trace that shows no steps
    counts without its set-up: idle time of 1 ms and more at a time while code is loaded, memory is
    allocated, the host does other things, or for unknown reasons."""
    title: str
    where: str
    """Module and node or operator, as a person reads it."""
    module: str | None
    """Path of the module; null where there is no module, and for several modules."""
    module_id: int | None = None
    cost_us_per_step: Us | None
    """Device idle time charged to the finding, plus device time spent on work that could be
    avoided. Each moment of idle time (see `steps[].idle`) is charged to at most one finding, that
    of the first rule in priority, and so is each nanosecond of a device event that could be
    avoided; `evidence` says how much of it was charged to others. Where the model ran on the CPU,
    or waits for other ranks without a device in the trace, it is time of the host. Null where the
    trace does not say what the device did."""
    once_us: Us | None = None
    """Time that it takes once in a run, in its first step or as code is loaded, where it happens
    once: such a finding is of severity `low` at most, and comes after those that recur. Null for
    these."""
    gain_us_per_step: Us | None
    """How much shorter a step is in a replay without the cause: syncs do not wait, loaders, copies
    and allocations take no time, nor does what the host did while it made the device idle, and
    avoidable device events are gone or shorter. Gains of several findings do not add up; a replay
    without all of them (`whatif`) says what they gain together. Null where there is no replay;
    `gain_unknown` then says why."""
    unrecorded_gain_us_per_step: Us | None = None
    """The same in replays without what recording cost the host, an estimate by the rows of the
    trace (`verdict.unrecorded_step_us`). Findings are ordered by it, those of unknown gain by what
    their cost has on the critical path. Null where the cost of
    recording is unknown, as that field, or `gain_us_per_step` is null."""
    gain_bound_us_per_step: Us | None = None
    """Bound of the gain without a replay: the charged idle time, no more than the devices idled in
    a step, plus the part of the avoidable work that goes. It overlooks what would limit the step
    then, and that syncs hold the host back beyond their duration. Null where what goes is more than
    what it costs, as a forward that runs again: its device time is the cost."""
    gain_unknown: str | None = None
    """Reason for which `gain_us_per_step` is null."""
    saves_after: str | None = None
    """What has to get faster first, where the finding saves next to nothing now: `host`, with data
    loading, or `device`, with communication. Without that it saves over ten times as much in a
    replay. Null where the finding saves 0.5% of the step, costs less, saves less than that even
    then, or it is unknown."""
    evidence: str
    """The observation, with its figures."""
    fix: str
    confidence: str
    """Certainty that the events prove the cause, "high", "medium" or "low": the rule's, or less
    where an occurrence rests on weaker evidence."""
    reference: str
    """Source to read on."""
    advice: list[Advice]
    """Related rules that no trace shows, to look at as well."""
    count: Count
    """Number of times the rule holds in the measured steps."""
    examples: list[Us]
    """Starts of the first 20 of these; of syncs: `syncs[].start_us`."""
    examples_us: list[Us | None] = []
    """Length of the longest call, device event, sync, idle time or step that begins at each of
    `examples`; null where none does: a moment."""
    examples_event_id: list[int | None] = []
    """The event of that length, or the call that held the longest part of the sync; null for idle
    times, steps and moments."""
    sync_ids: list[int] = []
    """Syncs of the measured steps which it explains."""
    caveats: list[str]
    """Reasons for which the figures may be wrong: stacks and shapes recorded, which slow the host
    (given where idle time is charged); a gain that holds under conditions."""
