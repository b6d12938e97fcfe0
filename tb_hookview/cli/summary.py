"""A report as tables for a terminal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import asdict
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tb_hookview.cli.text import MISSING, count, duration, plural, printable, share
from tb_hookview.schema import module_label

if TYPE_CHECKING:
    from tb_hookview.schema import (
        Coverage,
        Finding,
        Module,
        Recording,
        ReportData,
        Step,
        Sync,
        Thread,
        TraceWarning,
        Work,
    )

Cell = str | Text

FINDINGS = 5
"""Findings shown in full, the most expensive first."""
SEVERITY_STYLE = {"high": "bold red", "medium": "yellow"}


def summarize(report: ReportData, *, rows: int) -> RenderableType:
    """Return the summary of a report, with at most `rows` rows a table."""
    parts = [
        _header(report),
        _steps(report.steps, rows),
        _idle(report.steps, rows),
        _modules(report, rows),
        _syncs(report.syncs, rows),
        _threads(report.threads, rows),
        _coverage(report.coverage),
        _findings(report, rows),
        *map(_warning, report.trace.warnings),
    ]
    return Group(*(part for part in parts if part is not None))


def module_name(path: str | None) -> str:
    """Return the name of a module in a table."""
    if path is None:
        return MISSING
    return printable(module_label(path))


def table(title: str, *columns: str, text_columns: int = 1) -> Table:
    """Return an empty table: the first columns hold text, the rest numbers."""
    made = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    made.show_edge = False
    for index, name in enumerate(columns):
        is_text = index < text_columns
        made.add_column(
            name,
            justify="left" if is_text else "right",
            overflow="fold",
            no_wrap=not is_text,
            header_style="dim",
        )
    return made


def _header(report: ReportData) -> Text:
    trace, totals = report.trace, report.totals
    devices = ", ".join(f"{d.name or 'device'} ({d.kind} {d.id})" for d in trace.devices)
    devices = devices or "no device"
    origin = [devices]
    if trace.torch_version:
        origin.append(f"torch {trace.torch_version}")
    if trace.rank is not None:
        origin.append(f"rank {trace.rank} of {trace.world_size or '?'}")
    lines = [
        printable(trace.path),
        printable(", ".join(origin)),
        f"{count(trace.events)} events over {duration(trace.duration_us)}, {_recorder(report)}",
        *_recording(trace.recording),
        _phases(report),
        f"host blocked for {duration(totals.sync_blocked_us)} in "
        f"{plural(totals.sync_count, 'sync')} ({count(totals.backward_sync_count)} in backward)",
    ]
    text = Text("\n".join(lines) + "\n")
    text.stylize("bold", 0, len(lines[0]))
    return text


def _recorder(report: ReportData) -> str:
    recorder = report.recorder
    if recorder is None:
        return "recorded by torch.profiler, without hookview's marks"
    marks = recorder.marks
    number = plural(marks.forward + marks.gradient + marks.backward + marks.function, "mark")
    if recorder.own_host_us is None or recorder.own_share is None:
        return f"recorded by hookview, {number}"
    cost = f"{duration(recorder.own_host_us)} or {share(recorder.own_share, 1)} of host time"
    return f"recorded by hookview; its {number} took about {cost}"


def _recording(recording: Recording | None) -> list[str]:
    if recording is None or recording.slowdown is None:
        return []
    unrecorded = f"{duration(recording.unrecorded_step_us)} not recorded"
    steps = f"medians of {count(recording.recorded_steps)} and {count(recording.unrecorded_steps)}"
    return [
        f"a step took {duration(recording.recorded_step_us)} recorded and "
        f"{unrecorded} ({recording.slowdown:.2f}x, {steps})"
    ]


def _phases(report: ReportData) -> str:
    measure, totals, steps = report.coverage.measure, report.totals, report.steps
    backward, forward, optimizer = (
        (totals.backward_device_us, totals.forward_device_us, totals.optimizer_device_us)
        if measure == "device"
        else (
            report.coverage.backward_host_us,
            sum(step.forward_us for step in steps),
            sum(step.optimizer_us for step in steps),
        )
    )
    return (
        f"{measure} time: backward {duration(backward)}, forward {duration(forward)}, "
        f"optimizer {duration(optimizer)}"
    )


def _steps(steps: Sequence[Step], rows: int) -> RenderableType | None:
    if not steps:
        return None
    names = ("step", "duration", "forward", "backward", "optimizer", "data", "other")
    made = table("Steps (host time by phase)", *names, "device busy", "device idle", "sync")
    for step in steps[:rows]:
        phases = (step.forward_us, step.backward_us, step.optimizer_us, step.data_us, step.other_us)
        device = (step.device_busy_us, step.device_idle_us, step.sync_blocked_us)
        numbers = (step.duration_us, *phases, *device)
        made.add_row(printable(step.name), *map(duration, numbers))
    return _closed(made, len(steps), rows)


def _idle(steps: Sequence[Step], rows: int) -> RenderableType | None:
    causes = [cause for step in steps if step.idle for cause, us in asdict(step.idle).items() if us]
    if not causes:
        return None
    names = list(dict.fromkeys(causes))
    made = table("Device idle by cause", "step", *(name.replace("_", " ") for name in names))
    for step in steps[:rows]:
        parts = asdict(step.idle) if step.idle else {}
        made.add_row(printable(step.name), *(duration(parts.get(name)) for name in names))
    return _closed(made, len(steps), rows)


def _modules(report: ReportData, rows: int) -> RenderableType | None:
    measure = report.coverage.measure
    on_device = measure == "device"

    def self_time(work: Work) -> float | None:
        return work.self_device_us if on_device else work.self_host_us

    def total_time(work: Work) -> float | None:
        return work.device_us if on_device else work.host_us

    ranked = sorted(report.modules, key=lambda m: -(self_time(m.backward) or 0.0))
    found = [module for module in ranked if self_time(module.backward)]
    if not found:
        return None
    whole = report.coverage.backward_device_us if on_device else report.coverage.backward_host_us
    per_step = max(len(report.steps), 1)
    collectives = bool(report.coverage.communication_device_us)
    made = table(
        f"Modules by their own backward ({measure} time per step)",
        *("module", "class", "backward", "share", "incl. children"),
        *(["communication"] if collectives else []),
        *("forward", "kernels", "syncs"),
        text_columns=2,
    )
    for module in found[:rows]:
        made.add_row(
            module_name(module.path),
            printable(module.module_class),
            _per_step(self_time(module.backward), per_step),
            share(self_time(module.backward), whole),
            _per_step(total_time(module.backward), per_step),
            *([_communication(module, per_step)] if collectives else []),
            _per_step(self_time(module.forward), per_step),
            _kernels(module, per_step),
            _sync_cell(module),
        )
    return _closed(made, len(found), rows)


def _communication(module: Module, per_step: int) -> str:
    time = (module.backward.by_kind or {}).get("communication", 0.0)
    return _per_step(time, per_step) if time else ""


def _kernels(module: Module, per_step: int) -> str:
    kernels = module.backward.kernels
    return MISSING if kernels is None else f"{kernels / per_step:,.4g}"


def _sync_cell(module: Module) -> str:
    if not module.sync.count:
        return ""
    return f"{count(module.sync.count)} ({duration(module.sync.blocked_us)})"


def _syncs(syncs: Sequence[Sync], rows: int) -> RenderableType | None:
    if not syncs:
        return None
    groups: defaultdict[tuple[str, str, str, str], list[Sync]] = defaultdict(list)
    for sync in syncs:
        where = module_name(sync.module)
        groups[(sync.cause, sync.operator or sync.api, sync.phase, where)].append(sync)
    names = ("cause", "operator or call", "phase", "module", "count", "host blocked", "device idle")
    made = table("Syncs (the host waits for the device)", *names, text_columns=4)
    ranked = sorted(groups.items(), key=lambda item: -sum(s.duration_us for s in item[1]))
    for (cause, what, phase, where), members in ranked[:rows]:
        idle = _sum_known(member.device_idle_us for member in members)
        blocked = sum(member.duration_us for member in members)
        style = "red" if phase == "backward" else ""
        made.add_row(
            *(printable(cause), printable(what), phase, where),
            *(count(len(members)), duration(blocked), duration(idle)),
            style=style,
        )
    return _closed(made, len(groups), rows)


def _threads(threads: Sequence[Thread], rows: int) -> RenderableType | None:
    """Return the host threads where there are several; the steps cover one alone."""
    if len(threads) < 2:
        return None
    phases = ("forward", "backward", "optimizer", "data", "other")
    made = table("Threads (host time)", "thread", "role", "busy", *phases, "sync", text_columns=2)
    for thread in threads[:rows]:
        times = [thread.by_phase.get(phase) for phase in phases]
        made.add_row(
            *(printable(thread.thread), printable(thread.role), duration(thread.busy_us)),
            *(duration(time) if time else "" for time in times),
            duration(thread.blocked_us) if thread.blocked_us else "",
        )
    return _closed(made, len(threads), rows)


def _coverage(coverage: Coverage) -> RenderableType | None:
    on_device = coverage.measure == "device"
    whole = coverage.backward_device_us if on_device else coverage.backward_host_us
    missing = coverage.unattributed_us if on_device else coverage.unattributed_host_us
    if not whole:
        return Text("No backward pass in this trace.\n")
    made = table(f"Backward {coverage.measure} time by evidence", "evidence", "time", "share")
    for evidence, us in _largest(coverage.by_evidence):
        made.add_row(printable(evidence), duration(us), share(us, whole))
    made.add_row("not attributed", duration(missing), share(missing, whole), style="yellow")
    for reason, us in _largest(coverage.unattributed_by_reason):
        made.add_row(Text(f"  {printable(reason)}"), duration(us), share(us, whole))
    return Group(made, Text())


def _findings(report: ReportData, rows: int) -> RenderableType | None:
    """Return the most expensive findings with their fixes; those without a cost are counted."""
    costly = [finding for finding in report.findings if finding.severity != "info"]
    latent = len(report.findings) - len(costly)
    if not report.findings:
        return None
    made = table("Findings (per step)", "severity", "finding", "cost", "gain", text_columns=2)
    made.columns[1].no_wrap = False
    shown = min(rows, FINDINGS)
    for finding in costly[:shown]:
        made.add_row(
            Text(finding.severity, style=SEVERITY_STYLE.get(finding.severity, "")),
            _finding(finding),
            duration(finding.cost_us_per_step),
            duration(finding.gain_us_per_step),
        )
    left = [f"{len(costly) - shown} more"] if len(costly) > shown else []
    left += [f"{latent} without a cost in this trace"] if latent else []
    note = f"{' and '.join(left)}; --json has them all\n" if left else ""
    return Group(*([made] if costly else [Text("Findings", style="bold")]), Text(note, style="dim"))


def _finding(finding: Finding) -> Text:
    lines = [finding.where, f"{finding.evidence}.", *finding.caveats]
    text = Text(printable(finding.title), style="bold")
    for line in lines:
        text.append(f"\n{printable(line)}", style="not bold")
    text.append(f"\n{finding.fix} ({finding.rule})\n", style="not bold cyan")
    return text


def _warning(warning: TraceWarning) -> Text:
    times = f" ({count(warning.count)})" if warning.count > 1 else ""
    return Text(f"warning: {printable(warning.message)}{times}", style="yellow")


def _closed(made: Table, total: int, shown: int) -> RenderableType:
    hidden = total - shown
    note = Text(f"... and {plural(hidden, 'row')} more\n", style="dim") if hidden > 0 else Text()
    return Group(made, note)


def _per_step(us: float | None, steps: int) -> str:
    return duration(None if us is None else us / steps)


def _sum_known(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _largest(parts: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(((k, v) for k, v in parts.items() if v), key=lambda item: -item[1])
