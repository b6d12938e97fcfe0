"""The details of a summary: what was recorded, and the mean step."""

from __future__ import annotations

from collections import defaultdict

from tb_hookview.formats import (
    MISSING,
    format_bytes,
    format_count,
    format_kernel,
    format_number,
    format_per,
    format_share,
    format_us,
)
from tb_hookview.schema import NOT_TORCHS, Module, PerStep, Recording, ReportData, module_label

MEMORY_CLASSES = 3
"""Classes of live bytes that are named at the peak."""
LUMPS = 3
"""Operators of compiled code that are named where it is on no module."""
LOADING = 5
"""Modules named whose host times hold lazy kernel loading."""


UNKNOWN_IDLE = 0.1
"""Share of idle time from which on it is said that its cause is unknown."""


def detail_lines(report: ReportData) -> list[str]:
    """Say in a few lines what was recorded, and what its mean step consists of."""
    lines = [
        _origin(report),
        f"{format_count(report.trace.events, 'event')} over "
        f"{format_us(report.trace.duration_us)}, {_recorder(report)}",
        *_recording(report.trace.recording),
        host_line(report.per_step),
    ]
    more = (*_memory(report), *_kernel_loading(report), *_compiled(report))
    return [*lines, *_device(report), _syncs(report), *more]


def _origin(report: ReportData) -> str:
    trace = report.trace
    devices = [f"{d.name or 'device'} ({d.kind} {d.id})" for d in trace.devices]
    origin = devices or ["no device events"]
    if trace.torch_version:
        origin.append(f"torch {trace.torch_version}")
    if trace.rank is not None:
        origin.append(f"rank {trace.rank} of {trace.world_size or '?'}")
    return ", ".join(origin)


def _recorder(report: ReportData) -> str:
    recorder = report.recorder
    if report.verdict.sentence == NOT_TORCHS:
        return "by another recorder: no event has a category that torch.profiler writes"
    if recorder is None:
        return "recorded by torch.profiler, without hookview's marks"
    marks = recorder.marks
    number = format_count(marks.forward + marks.gradient + marks.backward + marks.function, "mark")
    if recorder.own_host_us is None or recorder.own_share is None:
        return f"recorded by hookview, {number}"
    cost = f"{format_us(recorder.own_host_us)} or {format_share(recorder.own_share, 1)}"
    return f"recorded by hookview; its {number} took about {cost} of host time"


def _recording(recording: Recording | None) -> list[str]:
    if recording is None or recording.recorded_step_us is None:
        return []
    if recording.slowdown is None:
        return [_UNCOMPARED] if recording.unrecorded_steps == 1 else []
    recorded, others = map(format_number, (recording.recorded_steps, recording.unrecorded_steps))
    return [
        f"a step took {format_us(recording.recorded_step_us)} recorded and "
        f"{format_us(recording.unrecorded_step_us)} not recorded ({recording.slowdown:.2f}x, "
        f"medians of {recorded} and {others})"
    ]


_UNCOMPARED = (
    "how much longer recording made a step is unknown: one step alone was timed without it, and a "
    "single step may be one that warms up or compiles; give the schedule wait=3 or more"
)


def host_line(means: PerStep) -> str:
    """The phases of the host in a mean step."""
    phases = _parts(
        backward=means.backward_us,
        forward=means.forward_us,
        optimizer=means.optimizer_us,
        data=means.data_us,
    )
    waits = means.communication_wait_us
    waited = f"; {format_us(waits)} of it waits for other ranks" if waits else ""
    return f"host, {format_per(means.marked)}: {phases}, other {format_us(means.other_us)}{waited}"


def _device(report: ReportData) -> list[str]:
    """Say what the devices do in a step: time in use, and sums over their events."""
    means = report.per_step
    if means.device_us is None:
        return []
    several = len(report.trace.devices) > 1
    whose = f"{len(report.trace.devices)} devices, summed" if several else "device"
    use = _parts(busy=means.device_busy_us, idle=means.device_idle_us)
    parts = _parts(
        backward=means.backward_device_us,
        forward=means.forward_device_us,
        optimizer=means.optimizer_device_us,
        **{"graphs in no known phase": means.unplaced_graph_us or 0.0},
    )
    events = (
        f"device time {format_per(means.marked)}: {format_us(means.device_us)} "
        f"(sum over streams, which may overlap): {parts}"
    )
    if means.communication_device_us:
        events += f"; {format_us(means.communication_device_us)} of it is communication"
    return [f"{whose}, {format_per(means.marked)}: {use}{_unknown_idle(means)}", events]


def _unknown_idle(means: PerStep) -> str:
    """Say how much of the idle time may be none, where that is much."""
    unknown, idle = means.idle and means.idle.unknown, means.device_idle_us
    if not unknown or not idle or unknown < UNKNOWN_IDLE * idle:
        return ""
    return f" ({format_us(unknown)} of it unknown: the trace does not show what the device did)"


def _syncs(report: ReportData) -> str:
    means, totals = report.per_step, report.totals
    own = totals.own_syncs()
    if own is None:
        return "host blocked: unknown, no call of the device's runtime is recorded"
    backward = totals.backward_sync_count
    in_backward = format_number(backward) if backward else "none"
    if backward is None:
        in_backward = "an unknown number"
    text = (
        f"host blocked for {format_us(means.sync_blocked_us)} {format_per(means.marked)} in "
        f"{format_number(means.sync_count)} {'sync' if means.sync_count == 1 else 'syncs'}; "
        f"{format_count(own[0], 'sync')} {means.scope}, "
        f"{in_backward} in backward"
    )
    if totals.profiler_sync_count:
        text += f" (profiler's own excluded: {format_us(totals.profiler_sync_us)})"
    full = [step.queue_full_us or 0.0 for step in report.steps if step.counts]
    if any(full):
        mean = format_us(sum(full) / len(full))
        text += f"; launches waited {mean} {format_per(means.marked)} for a full queue"
    return text


def _memory(report: ReportData) -> list[str]:
    """Say where the most memory was in use, of the device that had the most of it."""
    peaks = [peak for peak in report.memory_peaks if peak.device != "cpu"] or report.memory_peaks
    if not peaks:
        return []
    peak = max(peaks, key=lambda each: each.allocated_bytes)
    where = [
        peak.operator or "",
        f"module {module_label(peak.module)}" if peak.module is not None else "",
        peak.phase or "",
    ]
    classes = sorted((peak.classes or {}).items(), key=lambda item: -item[1])[:MEMORY_CLASSES]
    held = ", ".join(f"{name.replace('_', ' ')} {format_bytes(size)}" for name, size in classes)
    text = f"memory of {peak.device}: peak {format_bytes(peak.allocated_bytes)}"
    if peak.reserved_bytes is not None:
        text += f" of {format_bytes(peak.reserved_bytes)} reserved"
    place = ", ".join(filter(None, where))
    return [text + (f" in {place}" if place else "") + (f": {held}" if held else "")]


def _parts(**times: float | None) -> str:
    """Name times, without those that are nothing."""
    named = [f"{name} {format_us(us)}" for name, us in times.items() if us or us is None]
    return ", ".join(named) or MISSING


def _kernel_loading(report: ReportData) -> list[str]:
    """Name the modules whose host times hold the first use of kernels."""
    own = {module.path: module.kernel_loading_us or 0.0 for module in report.modules}
    for module in report.modules:
        if module.parent is not None:
            own[module.parent] -= module.kernel_loading_us or 0.0
    ranked = sorted(((us, path) for path, us in own.items() if us > 0), reverse=True)
    if not ranked:
        return []
    most = [f"{module_label(path)} {format_us(us)}" for us, path in ranked[:LOADING]]
    more = f" and {len(ranked) - len(most)} more" if len(ranked) > len(most) else ""
    return [f"host times include lazy kernel loading: {', '.join(most)}{more}"]


def _compiled(report: ReportData) -> list[str]:
    """Say how much of compiled graphs modules have, or how they get it."""
    found, unknown = report.compiled, sum(_is_unknown(module) for module in report.modules)
    if found is None:
        return _lumps(report, unknown)
    directions = (found.forward, found.backward)
    placed, whole = (
        sum(getattr(each, name) for each in directions) for name in ("placed_host_us", "host_us")
    )
    return [
        f"compiled: {format_number(found.placed)} of {format_count(found.calls, 'call')} of graphs "
        f"placed on modules, {format_share(placed, whole)} of the host time of all"
    ]


def _lumps(report: ReportData, unknown: int) -> list[str]:
    """Say what compiled code runs that is on no module, and how modules get it."""
    rows = report.compiled_regions
    if not rows:
        return []
    without = f"{format_count(unknown, 'module')} without times"
    times: defaultdict[str, float] = defaultdict(float)
    for row in rows:
        times[row.operators] += row.host_us if row.device_us is None else row.device_us
    most = [
        f"{format_kernel(operators)} {format_us(time)}"
        for operators, time in sorted(times.items(), key=lambda item: -item[1])
        if operators and time
    ]
    alone = all(row.generated and row.region is None for row in rows)
    part = "most of the kernels that it generated" if alone else "most of it"
    largest = f"; {part} {', '.join(most[:LUMPS])} {report.per_step.scope}" if most else ""
    said = [*([without] if unknown else []), f"not broken down by module{largest}"]
    return [
        f"compiled: {'; '.join(said)}; to get modules' times, call hookview.wrap() before the "
        "first compiled step (torch 2.10 or later) and record with hookview.profile()"
    ]


def _is_unknown(module: Module) -> bool:
    return module.compiled and module.forward.host_us is None
