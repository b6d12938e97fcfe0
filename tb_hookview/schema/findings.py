"""Findings of the rules, and what-ifs, as types."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from tb_hookview.schema.terms import Count, Share, Us

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

    Times per step are means over the measured steps: those that `steps[].counts` names.
    """

    id: str
    """`rule:where`; the report numbers those that share it."""
    rule: str
    """Id of the rule."""
    severity: str
    """By the gain (`unrecorded_gain_us_per_step`, where known), else by the cost, the mean of
    several devices, or, of exposed communication, by what a replay without any saves, if less:
    `high` from 5% of the step, `medium` from 1%, `low` below; `info` where it costs and gains
    nothing in this trace. A trace that shows no steps counts without its set-up: idle time of 1 ms
    and more at a time while code is loaded, memory is allocated or the host does other things (but
    for what each quarter of the trace has a tenth of), and of 10 ms and more for unknown reasons.
    """
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
    device_work_us_per_step: Us | None = None
    """The part of it that is device time spent on work that could be avoided; the rest is idle time
    of the devices, or time of the host. Null where the cost is."""
    once_us: Us | None = None
    """Time that it takes once in a run, in its first step or as code is loaded or compiled, where
    it happens once: such a finding is of severity `low` at most, and comes after those that recur
    (where none saves 0.5% of the step only after those that cost as much; compilation that takes
    most of a trace without steps before them). Null for these."""
    gain_us_per_step: Us | None
    """How much shorter a step is in a replay without the cause: syncs do not wait, nor do those
    right after them that would wait for the same work instead (a caveat says what they save alone);
    loaders, copies and allocations take no time, nor does what the host did while it made the
    device idle, and avoidable device events are gone or shorter. Gains of several findings do not
    add up; a replay without all of them (`whatif`) says what they gain together. Null where there
    is no replay; `gain_unknown` then says why."""
    unrecorded_gain_us_per_step: Us | None = None
    """The same in later steps, that are not recorded: in replays without what recording cost the
    host, an estimate by the rows of the trace (`verdict.unrecorded_step_us`), and without kernel
    loading, which happens once. Findings are ordered by it, those of unknown gain by what their
    cost has on the critical path; before them stands what dominates the trace though it happens
    once, and waiting in every step for the loader's workers. Null where `gain_us_per_step` is, and
    where no kernel is loaded and the cost of recording is unknown, as that field."""
    gain_is_estimated: bool = False
    """Whether that estimate differs from `gain_us_per_step` by over a tenth of the larger of both:
    then it is what is shown."""
    gain_bound_us_per_step: Us | None = None
    """Bound of the gain without a replay: the charged idle time, no more than the devices idled in
    a step, plus the part of the avoidable work that goes. It overlooks what would limit the step
    then, that syncs hold the host back beyond their duration, and launches that go with kernels.
    Null where what goes is more than what it costs, as a forward that runs again: its device time
    is the cost; null, too, where most launches have no device events. Where the trace does not show
    what the fix gains, and the cost is device work alone: how much shorter a step is in a replay
    without all of it, of collectives without any communication, recorded or later, whichever is
    more, and no more than the cost."""
    gain_unknown: str | None = None
    """Reason for which `gain_us_per_step` is null."""
    saves_after: str | None = None
    """What has to get faster first, where the finding saves next to nothing now: `host`, with data
    loading, or `device`, with communication. Without that it saves over ten times as much in a
    replay. Null where the finding saves 0.5% of the step, costs less, saves less than that even
    then, or it is unknown."""
    negligible: bool = False
    """Whether it is left out where only what is worth changing first is listed: it saves less than
    0.5% of the step, also after the other side is faster, or, where its gain is unknown, costs
    nothing."""
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
    `examples`, or of idle time charged to the finding that begins as a step does; null where none
    does: a moment."""
    examples_event_id: list[int | None] = []
    """The event of that length, or the call that held the longest part of the sync; null for idle
    times, steps and moments."""
    sync_ids: list[int] = []
    """Syncs of the measured steps which it explains."""
    caveats: list[str]
    """Reasons for which the figures may be wrong: stacks and shapes recorded, which slow the host
    (given where idle time is charged); a gain that holds under conditions."""


def may_cost(finding: Finding) -> bool:
    """Whether it costs anything in this trace, as far as is known."""
    return finding.severity != "info" or finding.cost_us_per_step is None


# Answers of replays as types: what decides a step, how long it would take with a change.


Bound = Literal["host", "device", "communication", "data", "even", "unknown"]
"""What decides the length of a step."""


class PathTime(Struct, frozen=True):
    """Time of the critical path by what passed it, a step; the fields add up to the step.

    The critical path is the chain of dependencies that decided how long the steps took: each piece
    of it began because the one before had ended.
    """

    host: Us
    """A host thread ran: Python, operators, calls that launch."""
    device: Us
    """A device event ran that is not a collective's."""
    communication: Us
    """A collective ran on a device, or other ranks had not come to one: before it began there, or
    while a host thread waited for one that the host runs (gloo)."""
    wait: Us
    """Latencies: from launch to start, between device events, from stream to stream, and from the
    end of a device event to the return of the sync that waited for it."""
    data: Us
    """The host was in a data loader."""
    unexplained: Us
    """Delays that no dependency in the trace explains; they are kept as recorded."""


class PathWork(Struct, frozen=True):
    """Time of the critical path of a step by what ran, with nothing changed."""

    id: str
    part: str
    """What passed the time, as the fields of `PathTime`."""
    phase: str | None
    """Phase of the host, or of the launch of a device event; null in none."""
    name: str | None
    """Kind of the device events; "kernel loading", in whatever phase, as it happens once, and
    "profiler" while it makes room for what it records ("Activity Buffer Request") or is slow to
    launch the first kernel (see `Step.idle`); of the host outside of phases the innermost operator,
    annotation, module or Python function that holds four fifths of the time, and within a phase the
    same where the thread runs no operator for a millisecond or more, from 5% of the host's time on.
    Null where nothing has a name, and for what is too short to be listed."""
    us: Us
    """Mean over the measured steps; all rows add up to the step."""


class PathModule(Struct, frozen=True):
    """A module on the critical path of a step, and off it.

    Child modules are counted separately.
    """

    module: str | None
    """Path of the module; null for what is not in a module."""
    module_id: int | None
    path: PathTime
    """Its time on the critical path; of all modules, and the rest, that adds up to the step."""
    slack_us: Us | None
    """Time per step by which it may take longer, wherever in it, with the step as long: the least
    slack of its device events and its host time in all steps, divided by their number. Null where
    nothing that is measured waits for it."""


class PathKind(Struct, frozen=True):
    """A kind of device events, and how much of it is on the critical path of a step."""

    kind: str
    device_us: Us
    """Time of its device events in the replay."""
    path_us: Us
    """Time of these on the critical path."""
    slack_us: Us | None
    """Time per step by which they may take longer, wherever, with the step as long: the least slack
    of any of them in all steps, divided by their number. Null where nothing that is measured waits
    for them."""


class WhatIf(Struct, frozen=True, kw_only=True):
    """A replay with something changed. Figures are means over the measured steps."""

    step_us: Us | None
    """A step as recorded, by the slower of host and device: from the end of the device's earlier
    work to the end of the last step's, or from the first step's start to the last one's end on the
    host, divided by the number of steps. Null where the replay is refused, as all that follows."""
    replayed_us: Us | None
    """The same in a replay with nothing changed; its distance from `step_us` is the error."""
    predicted_us: Us | None
    """The same with the change."""
    unrecorded_us: Us | None = None
    """`replayed_us` without what recording cost the host, an estimate; null where that is
    unknown, as `unrecorded_step_us` of a verdict, and the next."""
    unrecorded_predicted_us: Us | None = None
    """`predicted_us` without that cost."""
    low_us: Us | None
    """Lower bound of `predicted_us`: without unexplained delays, less the error of the replay."""
    high_us: Us | None
    """Upper bound: with these delays as recorded, plus that error."""
    unexplained_us: Us | None
    """Unexplained delays on the critical path of the replay with nothing changed."""
    launches_known: Share | None
    """Share of the device time whose launch is in the trace; null without a device event. What was
    launched before the steps does not count: the replay has it as it was."""
    critical_path: PathTime | None
    """What the time of the predicted step consists of."""
    replayed_path: PathTime | None
    """The same for the replay with nothing changed."""
    path_modules: list[PathModule] | None
    """Modules on the critical path of the predicted step, the longest first, then those off it with
    the least slack; null where the replay is refused, or they were not asked for, as the next
    three."""
    path_modules_left_out: Count | None
    """Number of modules that are not listed: of those on the critical path the longest 100 are, of
    the others the 50 with the least slack."""
    path_modules_rest: PathTime | None
    """Time on the critical path of the modules that are not listed."""
    path_kinds: list[PathKind] | None
    """Kinds of device events of the predicted step, those longest on the critical path first."""
    steps: Count
    """Number of steps that were replayed."""
    refused: str | None
    """Why nothing was replayed; null where it was."""
    as_recorded: list[str] = []
    """Ids of findings that were asked to be gone and whose gain is unknown: nothing of them is
    changed. Where nothing else was asked, the replay is refused."""


SMALL = 0.005
"""Share of the step below which a finding costs or saves next to nothing."""
NOT_TORCHS = "Unknown: torch.profiler recorded no event of this trace."
"""Sentence of the verdict on a trace of another recorder."""


class Verdict(Struct, frozen=True, kw_only=True):
    """What decides the length of a step: replays in which one resource alone takes time.

    A trace that marks no steps is one step. All figures are null where the replay is refused.
    """

    bound: Bound
    """The host and data loading take turns on one thread, as device and communication do where one
    needs the other. So `host_side_us` is compared with `device_side_us`. Where they are further
    apart than `margin_us`, and most of the critical path is not of the shorter side, the longer
    side decides, and of its two resources that without which the step is shortest (the longer one,
    where the other side is longer than each); data loading or communication where both save about
    as much, as these can overlap. Elsewhere it is `even`, also where the sides are up to a fifth
    apart ("nearly") or further, as neither decides alone. `unknown` where the replay is refused,
    the trace has no device events (unless the recorder or operators that exist for the CPU alone
    say that the model runs there), or unexplained delays are longer than each side."""
    sentence: str
    """The same in at most 25 words."""
    step_us: Us | None
    """A step as recorded, by the slower of host and device, as `step_us` of a what-if."""
    host_us: Us | None
    """A step with the host's own work alone: Python, operators, launches; syncs return at once.
    Where no step is marked, what it did before its first row in the trace is not known, and none
    of it."""
    device_us: Us | None
    """A step with the work of the devices alone but collectives; null without device events."""
    communication_us: Us | None
    """A step with collectives alone: their durations, which include waiting for other ranks, and
    the delays before them. Null without device events or collectives of the host (gloo)."""
    data_us: Us | None
    """A step with the data loader's time on the host alone. Null as `steps[].data_us`."""
    host_side_us: Us | None
    """A step with the host's own work and data loading."""
    device_side_us: Us | None
    """A step with device and communication; null where both are."""
    margin_us: Us | None
    """Difference of the two sides up to which they are even: 5% of the longer, or the part of it by
    which the replay with nothing changed is off, if that is more."""
    once_us: Us | None = None
    """Time of the host in the measured steps for what happens once: loading the code of kernels, or
    the first launch after the profiler started (see `idle.profiler`), and, in a trace without
    marked steps, the first and the last call of a loader with workers, if they hold nine tenths of
    the time in it and the others take under 5% of the rest of the trace. It is part of `step_us`,
    and of none of the lengths above. Null where they are."""
    later_step_us: Us | None = None
    """A step in the replay of which `findings[].unrecorded_gain_us_per_step` is a part: without
    what happens once and, where that is known, without what recording cost the host. Null where
    none of both is known to have taken time."""
    unrecorded_step_us: Us | None = None
    """A step in a replay without what recording cost the host: an estimate by the number of
    operators, their inputs (`record_shapes`), allocations (`profile_memory`), Python calls
    (`with_stack`) and calls of the device's runtime, at what each took with torch 2.13, scaled by
    how long the trace's cheapest operators took (the median of `aten::as_strided` and `detach`, of
    16 or more), and by the time that the recorder measured for its marks. A Python call costs at
    most four times the median from one of their starts or ends to the next. Where the recorder
    timed two steps or more without recording (`trace.recording`), that cost is scaled so that the
    step is no shorter than the shortest of them and, on a CPU, no longer than the longest; to at
    most three times, and none of it passes later than 20 us after a row began and its cost was
    over: in a sleep, a wait or a long operator nothing is recorded. So the step is longer than the
    longest where these did less, or waited less. Null where that is unknown: without operators of
    torch, or with times in whole microseconds, as earlier profilers wrote them."""
    unrecorded_bound: Bound | None = None
    """`bound` without that cost; null where the step is. Unknown where it would be communication,
    and `bound` is not: collectives are as recorded, with their waits for other ranks."""
    unrecorded_sentence: str | None = None
    """What is different without that cost, where `bound` is or the step is 5% shorter."""

    def __getitem__(self, name: str) -> str | float | None:
        """A field by its name, as in the JSON."""
        value: str | float | None = getattr(self, name)
        return value
