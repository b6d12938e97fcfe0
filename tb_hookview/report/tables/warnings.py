"""What puts in doubt the trace, in words: the faults that its reading and its analysis found.

One of high severity makes figures of the report wrong or leaves them out; it heads the summary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from tb_hookview import schema
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.consistency.checks import LARGEST_SKEW_NS, Fault
from tb_hookview.analysis.unseen import (
    late_first_row,
    optimizers_in_backward,
    outside_phases,
    preempted_kernels,
    unnamed_kernels,
    unrecorded_device,
    unrecorded_steps,
    unseen_queue,
    updates_in_graphs,
)
from tb_hookview.arrays.types import to_us
from tb_hookview.formats import format_kernel, format_share, format_us
from tb_hookview.isolation import Failures
from tb_hookview.report.tables.compiled import compiled_faults
from tb_hookview.schema import ReportData
from tb_hookview.schema.steps import WarningSeverity

# Figures of a report that contradict it: taken out, and reported as a bug of this program.
#
# What cannot be, whatever the trace holds: shares above the whole, gains above the step, parts that
# do not add up to their sum. Each check costs a walk over one table.


ROUNDING_US = 1e-3
"""Sums of exact nanoseconds, each divided into microseconds, are off by far less."""
ROUNDING = 1e-9
"""The same as a share, for times so long that a float holds no nanosecond of them."""
CONTRADICTED = "the replay gains more than a step takes"

_SHARES = (
    ("operators", "peak_share", 1.0),
    ("kernels", "occupancy_pct", 100.0),
    ("devices", "utilization", 1.0),
    ("devices", "sm_efficiency", 1.0),
    ("devices", "occupancy_pct", 100.0),
)


class Contradiction(NamedTuple):
    """Figures that cannot be."""

    what: str
    """Table and field, as in "operators.peak_share"."""
    times: int
    """How many rows have one."""


def without_contradictions(data: ReportData) -> tuple[ReportData, list[Contradiction]]:
    """Take out the figures that contradict the report, where they are no sums of other tables.

    Returns:
        The report without them, and what was found.
    """
    found: list[Contradiction] = []
    for table, field, most in _SHARES:
        data = _cleared(data, table, field, _outside(field, most), found)
    data = _gains(data, found)
    found += (Contradiction(what, count) for what, count in _sums(data) if count)
    return data, found


def _outside(field: str, most: float) -> Callable[[Any], bool]:
    def outside(row: Any) -> bool:
        value = getattr(row, field)
        return value is not None and not 0 <= value <= most * (1 + ROUNDING)

    return outside


def _cleared(
    data: ReportData,
    table: str,
    field: str,
    wrong: Callable[[Any], bool],
    found: list[Contradiction],
) -> ReportData:
    """The report with null for a field where it is wrong."""
    rows = getattr(data, table)
    count = sum(map(wrong, rows))
    if not count:
        return data
    found.append(Contradiction(f"{table}.{field}", count))
    rows = [replace(row, **{field: None}) if wrong(row) else row for row in rows]
    return replace(data, **{table: rows})


def _gains(data: ReportData, found: list[Contradiction]) -> ReportData:
    """The report without gains longer than a step, on the host or until the device ends."""
    steps, until_device = data.steps, data.verdict.step_us or 0.0
    longest = max((step.duration_us for step in steps), default=0.0)
    most = _up(max(longest, until_device, data.trace.duration_us / max(len(steps), 1)))

    def wrong(row: Any) -> bool:
        gain = row.gain_us_per_step
        return gain is not None and not 0 <= gain <= most

    cleared = _cleared(data, "findings", "gain_us_per_step", wrong, found)
    findings = [
        replace(row, gain_unknown=CONTRADICTED, gain_is_estimated=False) if wrong(before) else row
        for row, before in zip(cleared.findings, data.findings, strict=True)
    ]
    return replace(cleared, findings=findings)


def _sums(data: ReportData) -> Iterator[tuple[str, int]]:
    """Sums that differ from what they are sums of, and how many."""
    coverage, totals = data.coverage, data.totals
    yield "steps", sum(not _equal(step.duration_us, _phases(step)) for step in data.steps)
    idle = (step for step in data.steps if step.idle is not None)
    yield "steps.idle", sum(not _equal(s.device_idle_us or 0.0, _total(s.idle)) for s in idle)
    yield (
        "totals.sync_blocked_us",
        not _equal(totals.sync_blocked_us or 0.0, sum(sync.duration_us for sync in data.syncs)),
    )
    if coverage.backward_host_us is not None:
        modules = sum(module.backward.self_host_us or 0.0 for module in data.modules)
        host = modules + (coverage.unattributed_host_us or 0.0)
        yield "coverage.backward_host_us", not _equal(coverage.backward_host_us, host)
    if coverage.backward_device_us is not None:
        modules = sum(module.backward.self_device_us or 0.0 for module in data.modules)
        device = modules + (coverage.unattributed_us or 0.0)
        yield "coverage.backward_device_us", not _equal(coverage.backward_device_us, device)
    yield "devices.busy_us", sum(row.busy_us > _up(row.span_us) for row in data.devices)


def _phases(step: Any) -> float:
    named = (step.forward_us, step.backward_us, step.optimizer_us, step.data_us)
    return float(sum(phase or 0.0 for phase in named) + step.other_us)


def _total(row: Any) -> float:
    return float(sum(getattr(row, name) or 0.0 for name in row.__struct_fields__))


def _equal(one: float, other: float) -> bool:
    return abs(one - other) <= max(ROUNDING_US, ROUNDING * abs(one))


def _up(value: float) -> float:
    return value + max(ROUNDING_US, ROUNDING * abs(value))


class Words(NamedTuple):
    """How a fault is put; `{time}`, `{share}` and `{names}` are its own."""

    message: str
    high_from: float = 0.0
    """Share from which on it is of high severity; without a share, 0 for always, 1 for never."""
    high_from_ns: int = 0
    """Time from which on it is of high severity."""


HIGH_NOTICES = frozenset(
    {
        *("cut-off", "packing-cut", "lost-events", "no-timestamp", "negative-duration"),
        *("old-device", "begin-end"),
    }
)
"""Codes of the reader (`reliability.md`) of high severity: rows or times are missing."""

_LOSSES = frozenset(
    {*("cut-off", "packing-cut", "lost-events", "lost-at-start", "lost-in-between"), "no-launch"}
)
"""Codes of traces that lack some of their device events, or what launched them, at any place."""
_SPEED = "operators.peak_share"

FAILED = "failed-part"
"""Code of a rule or a table that failed by a fault of ours."""
CONTRADICTION = "contradiction"
"""Code of a figure that contradicts another one of the same report."""
NEVER = 1.0
_ANOTHER_THREAD = (
    "the model was probably called in another thread, and torch's profiler records the thread that "
    "starts it; call the model in that thread, or pass "
    "experimental_config=torch._C._profiler._ExperimentalConfig(profile_all_threads=True)"
)
_WRONG_NS = 10_000
"""Difference of clocks as long as a launch takes: latencies and short idle times are wrong."""
WORDS: dict[str, Words] = {
    "clock-jump": Words(
        "times at which nothing happened for an hour or more: a clock that jumped, or recordings "
        "put together; lengths across them mean nothing"
    ),
    "before-launch": Words(
        "device events that begin up to {time} before the call that launched them: the clocks of "
        "host and device differ by at least that; waits, idle time and its causes may be off by "
        "as much or more",
        high_from_ns=_WRONG_NS,
    ),
    "after-sync": Words(
        "syncs that return up to {time} before the work ends that they waited for: the clocks of "
        "host and device differ by at least that; waits, idle time and its causes may be off by "
        f"as much or more, and a wait for work that ends over {LARGEST_SKEW_NS // 1000} us after "
        "it is seen only where no event begins that soon after its launch",
        high_from_ns=_WRONG_NS,
    ),
    "left-out-of-steps": Words(
        "steps with time of the recording at their ends, {time} in all: a synchronize for work "
        "from before it, the profiler's own as it stops, or the end of the last step, in which "
        "nothing is recorded; left out of steps, means and replays",
        NEVER,
    ),
    "steps-without-work": Words(
        "marks of steps in which no operator, annotation or call begins, while others do outside: "
        "as if no step were marked; torch may mark the end of a step alone, with stacks recorded",
        NEVER,
    ),
    "merged-processes": Words(
        "processes mark steps in this file, as ranks merged into one: steps are those of the first "
        "process, times in them those of all processes; write one file per process, and compare "
        "them with `hookview ranks`"
    ),
    "impossible-length": Words(
        "device events of up to {time}, longer than the rest of the trace: no device time, share "
        "or idle time that they are in is right"
    ),
    "overlap": Words(
        "device events that run while another one of their stream does, {share} of device time: "
        "sums of device time count it twice"
    ),
    "no-device-events": Words(
        "launches, and no device event: the profiler lost the device's own records; there is no "
        "device time, idle time or cause of it"
    ),
    "unrecorded-device": Words(
        "operators, memory or a backward thread of a device, of which neither events nor calls "
        "are recorded: there is no device time or idle time, and waits of the host are unknown, "
        "not 0"
    ),
    "lost-at-start": Words(
        "launches at the start whose device events are missing: the profiler lost the first ones; "
        "idle time there is not real, and first steps have too little device time"
    ),
    "lost-in-between": Words(
        "launches in the middle, or all, whose device events are missing, {share} of all: the "
        "profiler lost them; device time is too low, and idle time there is not real"
    ),
    "lost-copies": Words(
        "calls that copy memory, all without device events: what they waited for counts as "
        "the host's own work, and copies are in no device time"
    ),
    "lost-at-end": Words(
        "launches at the end whose device events are missing, {share} of all: the recording ended "
        "before the device ran them; device time is too low, most in the last step's last phase",
        high_from=0.1,
    ),
    "no-launch": Words(
        "device events whose launch is not in the trace, {share} of device time: they were "
        "queued before it began, or their launches were not recorded; they have no phase and no "
        "module, and idle time before them has no cause",
        high_from=0.1,
    ),
    "late-first-row": Words(
        "recording whose first row comes {time} after its start, {share} of it: what the host did "
        "until then, such as loading a batch, is in no figure, and the verdict is about the rows "
        "alone; record Python stacks (with_stack=True) or ProfilerActivity.CPU to see it",
        high_from=0.5,
    ),
    "unseen-queue": Words(
        "streams whose first device event begins long after its launch, {time} in all, {share} of "
        "the trace: nothing in the file runs on their device meanwhile, which was probably busy "
        "with what is not in the file (queued before the recording began, or by another process); "
        "this idle time (cause: unknown) may not be real",
        high_from=0.1,
    ),
    "preempted": Words(
        "kernels that ran at least twice as long as equal launches, by {time} in all, {share} of "
        "device time: something else probably used the device meanwhile; this time is in device "
        "times, and in no cost of a finding",
        high_from=0.1,
    ),
    "compiled-after-wrap": Words(
        "the model was compiled into the code that calls it, so its modules left no marks and "
        "nothing is attributed to them; compile the model itself: torch.compile(model)"
    ),
    "no-module-calls": Words(
        "no call of a wrapped module is in the recording, so times of modules are unknown, but for "
        "gradients that are marked: what ran may be a copy (copy.deepcopy, pickle, torch.load), or "
        "what torch.jit or torch.export made of the model, or modules with hooks of their own "
        "where code was compiled before hookview.wrap(); call hookview.wrap() on the object that "
        "is called, before anything is compiled, and record the model itself where modules of "
        "that cannot be seen"
    ),
    "unrecorded-thread": Words(
        "the forward of most of what ran backward is not in the recording, so times of modules are "
        f"unknown, but for gradients that are marked: {_ANOTHER_THREAD}"
    ),
    "unrecorded-steps": Words(
        "steps, whole and without one operator, so times in them and of modules are unknown: "
        f"{_ANOTHER_THREAD}"
    ),
    "nothing-ran": Words(
        "no operator ran in the recording: it may have begun after the last step (lower the "
        "schedule's wait and warmup, or train for more steps), or else "
        f"{_ANOTHER_THREAD}"
    ),
    "compiled": Words(
        "modules may have run inside compiled regions: their self times are unknown, and part of "
        "the module that was compiled; to get them, call hookview.wrap() before the first "
        "compiled step (torch 2.10 or later), with a new TORCHINDUCTOR_CACHE_DIR where torch has "
        "the code in its cache, and record again",
        NEVER,
    ),
    "compiled-in-no-call": Words(
        "modules inside compiled regions that no kernel of a placed graph serves: they were not "
        "called, or nothing is left of them (an Identity, a dropout without effect), or their "
        "graph was not placed; their self times are unknown",
        NEVER,
    ),
    "compiled-nothing": Words(
        "modules below one that was compiled, and no compiled code ran: torch.compile skipped the "
        "model or gave up on it (TORCH_LOGS=+dynamo says why; it skips an nn.Sequential compiled "
        "by model.compile(), and none compiled by torch.compile(model)); times that are missing "
        "come by recording the model without torch.compile",
        NEVER,
    ),
    "compiled-without-map": Words(
        "calls of compiled graphs whose modules the recorder does not know (compiled, or a cache "
        "filled, before the recorder was loaded): their time stays with the module around the "
        "region; with a new folder as TORCHINDUCTOR_CACHE_DIR they are compiled again",
        NEVER,
    ),
    "compiled-other-map": Words(
        "calls of compiled graphs whose modules are not those of the wrapped model: their time "
        "stays with the module around the region",
        NEVER,
    ),
    "compiled-other-rows": Words(
        "calls of compiled graphs whose rows differ from the recorder's map: their time stays with "
        "the module around the region",
        NEVER,
    ),
    "compiled-nested": Words(
        "calls of compiled graphs with calls of modules or autograd nodes inside: their time stays "
        "with the module around the region",
        NEVER,
    ),
    "no-host": Words(
        "device events, and no launches by operators or annotations: their modules and phases are "
        "unknown, and only rules about kernels and idle time can find anything",
        NEVER,
    ),
    "gradient-sums": Words(
        "device events ({time}) launched by the autograd engine between its nodes, to sum "
        "gradients; in no phase",
        NEVER,
    ),
    "no-forward": Words(
        "device events launched in no known phase: no call of a module shows the forward, and no "
        "sequence number or name all of it; its device time is unknown",
        NEVER,
    ),
    "replayed-graphs": Words(
        "device events of replayed graphs (CUDA, HIP), {time} in the whole trace, {share} of "
        "device time, that were launched in no known phase: what each was captured from is "
        "unknown, so times of modules, forward, backward and optimizer that may be in them are "
        "unknown, not 0; record and choose steps before the capture to see them",
        high_from=0.1,
    ),
    "no-forward-host": Words(
        "host rows in no known phase: no call of a module shows the forward, and no sequence "
        "number or name all of it; its time is unknown, and in that of no phase; record with "
        "hookview.wrap(model), or with_modules=True",
        NEVER,
    ),
    "optimizer-in-backward": Words(
        "calls of optimizers in hooks of gradients, {time} in all: this time is in that of the "
        "backward and of the modules' backward, and in none of the optimizer",
        NEVER,
    ),
    "compiled-update": Words(
        "calls of an optimizer's zero_grad, and none of its step, next to compiled code: a "
        "compiled step leaves no mark of its own, so its time is the forward's where one region "
        "holds both, else in no phase, and the optimizer's is too short",
        NEVER,
    ),
    "unnamed-kernels": Words(
        "device events whose names say nothing of what they do, {share} of device time, most of it "
        "in {names}: they are `other` wherever device time is given by kind",
        NEVER,
    ),
    "repeated-correlation": Words(
        "kernels, copies and sets whose correlation id several calls have, attributed to the last "
        "of these before them",
        NEVER,
    ),
    "external-id": Words(
        "calls whose External id names another operator than the one around them in time", NEVER
    ),
    "shared-number": Words(
        "autograd nodes with the sequence number of another node of their thread, {share} of all: "
        "modules found by number may be wrong",
        high_from=0.01,
    ),
    "outlasting-call": Words(
        "calls that outlast the operator in which they begin: the clock of calls differs from that "
        "of operators, and {share} of device time may be of another operator",
        high_from=0.1,
    ),
    "silent-collective": Words(
        "calls of collectives, and waits for them, without sizes or ranks, as torch wrote them "
        "until 2023: their bandwidth is unknown",
        NEVER,
    ),
    "later-record": Words(
        "waits for a CUDA event that was recorded only after them, by its correlation id", NEVER
    ),
    "mark-without-module": Words("marks of modules that are not in the tree", NEVER),
    "mark-without-pair": Words("marks before or after a backward without their counterpart", NEVER),
    "later-mark": Words("marks of a later version than this analyzer knows", NEVER),
    "unknown-mark": Words("marks of a kind that this analyzer does not know", NEVER),
    "later-manifest": Words("manifest of a later version than this analyzer knows", NEVER),
}
"""By code, in the order of `find_faults`."""


def warning_rows(analysis: Analysis) -> list[schema.TraceWarning]:
    """Rows of high severity first."""
    return _numbered(sorted(_all(analysis), key=lambda row: row[3] != "high"))


def _numbered(found: Iterable[tuple[str, str, int, WarningSeverity]]) -> list[schema.TraceWarning]:
    """Rows of codes, messages, counts and severities, with an id each."""
    seen: Counter[str] = Counter()
    rows = []
    for code, message, count, severity in found:
        seen[code] += 1
        number = code if seen[code] == 1 else f"{code}#{seen[code]}"
        rows.append(schema.TraceWarning(number, code, message, count, severity))
    return rows


def ours(
    found: Sequence[Contradiction], warnings: Sequence[schema.TraceWarning]
) -> list[Contradiction]:
    """Those of the contradictions that are no fault of the trace.

    What ran in less time than it takes did so where a part of its device events is missing.
    """
    is_partial = not _LOSSES.isdisjoint(row.code for row in warnings)
    return [each for each in found if not (is_partial and each.what == _SPEED)]


_BUG = (
    "this is a bug: please report this line with the output of `hookview --version` and, if you "
    "may share it, the trace"
)


def contradiction_rows(found: Sequence[Contradiction]) -> list[schema.TraceWarning]:
    """Figures that contradict the rest of the report, by a fault of ours."""
    message = "{} contradicts the rest of the report, and is left out unless it is a sum; {}"
    return _numbered(
        (CONTRADICTION, message.format(what, _BUG), count, "high") for what, count in found
    )


def failure_rows(failures: Failures) -> list[schema.TraceWarning]:
    """Parts of the report that failed on this trace, by a fault of ours."""
    message = (
        "{} could not be computed on this trace and is missing ({}); the rest of the report is "
        "unaffected; {}"
    )
    found = [message.format(each.part, each.fault, _BUG) for each in failures.found]
    return _numbered((FAILED, text, 1, "high") for text in found)


def _all(analysis: Analysis) -> Iterator[tuple[str, str, int, WarningSeverity]]:
    for code, message, count in analysis.trace.notices:
        yield code, message, count, "high" if code in HIGH_NOTICES else "low"
    for fault in (*analysis.faults, *_unknown(analysis)):
        yield fault.code, _message(fault), fault.count, _severity(fault)
    if not analysis.trace.event_count:
        yield "empty", "the trace holds no events", 0, "high"


def _unknown(analysis: Analysis) -> Iterator[Fault]:
    compiled = (*unrecorded_steps(analysis),) or compiled_faults(analysis)
    # A wrapped model without a call shows no forward either, and its remedy is another one.
    said = schema.WITHOUT_CALLS.intersection(fault.code for fault in compiled)
    for fault in outside_phases(analysis):
        if not (said and fault.code == "no-forward-host"):
            yield fault
    yield from compiled
    yield from optimizers_in_backward(analysis)
    yield from updates_in_graphs(analysis)
    yield from unnamed_kernels(analysis)
    yield from late_first_row(analysis)
    yield from unseen_queue(analysis)
    yield from preempted_kernels(analysis)
    yield from unrecorded_device(analysis)


def _severity(fault: Fault) -> WarningSeverity:
    share = fault.share if fault.measured_share is None else fault.measured_share
    words = WORDS[fault.code]
    is_high = (share or 0.0) >= words.high_from and (fault.time or 0) >= words.high_from_ns
    return "high" if is_high else "low"


def _message(fault: Fault) -> str:
    time = "" if fault.time is None else format_us(to_us(fault.time))
    names = ", ".join(map(format_kernel, fault.names))
    share = format_share(fault.share, 1)
    return WORDS[fault.code].message.format(time=time, share=share, names=names)
