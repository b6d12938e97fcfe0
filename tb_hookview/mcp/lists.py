"""Syncs and findings of a report, a page at a time; and one event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tb_hookview.document.markdown import Page, name, paged, quoted, table
from tb_hookview.formats import (
    MISSING,
    format_bytes,
    format_count,
    format_per,
    format_step,
    format_us,
)
from tb_hookview.report.summary.tables import cost, saving
from tb_hookview.schema import Finding, ReportData, Sync, module_label, own_syncs
from tb_hookview.schema.timeline import EventDetail, EventLink, EventSummary

# Rows that answer a query in SQL, and the runs of a folder.


def rows(trace: str, columns: Sequence[str], values: Sequence[Sequence[object]], page: Page) -> str:
    """The rows of an answer.

    Args:
        trace: path of the trace or run that was asked.
        columns: their names.
        values: their values.
        page: which of them.
    """
    head, lines = table([quoted(column) for column in columns], map(_cells, values))
    return paged(["# Answer to a query", "", f"Asked: {name(trace)}."], head, lines, page)


def _cells(row: Sequence[object]) -> list[str]:
    return [_cell(value) for value in row]


def _cell(value: object) -> str:
    if value is None:
        return MISSING
    if isinstance(value, bool | int):
        return str(value)
    return f"{value:.10g}" if isinstance(value, float) else quoted(str(value))


class TracePath(NamedTuple):
    """A trace of a folder."""

    path: str
    """Relative to the folder."""
    run: str
    worker: str
    size: int
    """Bytes."""


def runs(found: Sequence[TracePath], contains: str, page: Page) -> str:
    """The traces of a folder by run and worker, of each worker the newest first.

    Args:
        found: the traces.
        contains: text that the name of run, worker or file has, in any case.
        page: which traces.
    """
    traces = [
        trace
        for trace in found
        if contains.casefold() in f"{trace.run} {trace.worker} {trace.path}".casefold()
    ]
    cells = (
        (quoted(trace.path, 400), quoted(trace.run), quoted(trace.worker), format_bytes(trace.size))
        for trace in traces
    )
    number = len({trace.run for trace in traces})
    lines = ["# Runs", "", f"{number:,} runs. `path` is a trace's, or the folder of a run."]
    return paged(lines, *table(("path", "run", "worker", "size"), cells), page)


_FRAMES = 3
"""Frames of a stack that are shown, innermost first."""
_EXAMPLES = 5
_LONGEST_SENTENCE = 600


def intro(title: str, data: ReportData) -> list[str]:
    """Say what an answer is of: the trace, and the steps over which its means are."""
    means = data.per_step
    return [
        f"# {title}",
        "",
        f"Trace {name(data.trace.path)}; times {format_per(means.marked)}: {quoted(means.text)}.",
    ]


def syncs(data: ReportData, contains: str, page: Page) -> str:
    """Syncs with their chains, the longest first, without the profiler's own.

    Args:
        data: the report.
        contains: text that the sync's names have, in any case.
        page: which rows.
    """
    found = [sync for sync in own_syncs(data.syncs) if contains.casefold() in _names(sync)]
    found.sort(key=lambda sync: -sync.duration_us)
    total = sum(sync.duration_us for sync in found)
    lines = [
        *intro("Syncs: the host waits for the device", data),
        f"{len(found):,} syncs, {format_us(total)} of waiting, {data.per_step.scope}; longest "
        "first, at the time since the trace's start. `event` explains the event of an id.",
    ]
    return paged(lines, [], [_sync(sync, data) for sync in found], page)


def _names(sync: Sync) -> str:
    texts = (sync.api, sync.operator, sync.node, sync.module, sync.cause, sync.phase, sync.step)
    return " ".join(text or "" for text in texts).casefold()


def _sync(sync: Sync, data: ReportData) -> str:
    """One sync on one line: how long, why, and what is around it from the outside in."""
    chain = [
        f"{kind} {quoted(text)}"
        for kind, text in (
            ("step", sync.step if data.per_step.marked else None),
            ("phase", sync.phase),
            ("module", None if sync.module is None else module_label(sync.module)),
            ("node", sync.node),
            ("operator", sync.operator),
            ("call", sync.api),
        )
        if text
    ]
    start = f"{sync.start_us - data.trace.start_us:,.1f} us"
    parts = [
        f"- {format_us(sync.duration_us)} at {start}, event {sync.event_id}, "
        f"cause {name(sync.cause)}: {' > '.join(chain)}",
        f"device idle for it {format_us(sync.device_idle_us)}",
    ]
    if waited := sync.waited_for:
        parts.append(f"waited for {quoted(waited.name)} ({format_us(waited.duration_us)})")
    if sync.stack:
        parts.append(f"from {' < '.join(quoted(frame) for frame in sync.stack[:_FRAMES])}")
    return "; ".join(parts)


def findings(data: ReportData, page: Page) -> str:
    """What costs time and could be changed, most expensive first, with gains by replay."""
    step = format_step(data.per_step.marked)
    lines = [
        *intro("Findings", data),
        f"Saves: how much shorter the {step} is in a replay without the cause (est.: without the "
        "cost of recording and kernel loading; now: as long as the other side is slower); savings "
        "do not add up, `whatif` replays several together. `info`: no cost in this trace.",
    ]
    return paged(lines, [], [_finding(finding, data) for finding in data.findings], page)


def _finding(finding: Finding, data: ReportData) -> str:
    why = finding.gain_unknown and f" ({quoted(finding.gain_unknown)})"
    starts = _starts([start - data.trace.start_us for start in finding.examples])
    parts = [
        f"- {quoted(finding.id)}, {finding.severity}, confidence {finding.confidence}",
        f"saves {saving(finding)}{why or ''}, costs {cost(finding)}, "
        f"found {format_count(finding.count, 'time')}",
        f"what: {quoted(finding.title)} at {quoted(finding.where)}",
        f"evidence: {quoted(finding.evidence, _LONGEST_SENTENCE)}",
        *(f"but: {quoted(text, _LONGEST_SENTENCE)}" for text in finding.caveats),
        f"fix: {quoted(finding.fix, _LONGEST_SENTENCE)}",
        *([f"begins at {starts}"] if starts else []),
    ]
    return "; ".join(parts)


def _starts(examples: Sequence[float]) -> str:
    shown = ", ".join(f"{start:,.1f}" for start in examples[:_EXAMPLES])
    left = len(examples) - _EXAMPLES
    return f"{shown} us" + (f" and {left} more" if left > 0 else "") if shown else ""


# One event of a timeline explained, and events found by name.


_LONGEST_VALUE = 300
_LONGEST_CHAIN = 12
_ARGUMENTS = 20


def event(trace: str, found: EventDetail, page: Page) -> str:
    """What is known of an event: where it is, what is around it, what it is linked to.

    Args:
        trace: path of the trace.
        found: the event.
        page: which links.
    """
    lines = [
        f"# Event {found.id}",
        "",
        f"Trace {name(trace)}.",
        f"- what: {quoted(found.name)}, {name(found.category)}, {format_us(found.duration)} from "
        f"{found.start:,.1f} us on",
        *_whereabouts(found),
        *_chain(found),
        *_arguments(found.args or {}),
        "",
        "Linked events:" if found.links else "It is linked to no other event.",
    ]
    columns = ("relation", "kind", "event", "name", "start, us", "duration", "evidence")
    head, rows = table(columns, map(_link, found.links))
    if found.links_omitted:
        lines.append(f"{found.links_omitted:,} further links are in no list.")
    return paged(lines, head, rows, page)


def _whereabouts(found: EventDetail) -> list[str]:
    texts = {
        "step": found.step,
        "phase": found.phase,
        "module": None if found.module is None else found.module or "(root)",
        "module unknown, because": found.no_module,
        "evidence for the module": found.evidence,
        "autograd node": found.node,
        "thread": found.thread,
        "device": found.device,
        "stream": found.stream,
    }
    times = {"self time": found.self_us, "device work inside": found.device_us}
    return [
        *(f"- {label}: {quoted(text)}" for label, text in texts.items() if text),
        *(f"- {label}: {format_us(time)}" for label, time in times.items() if time is not None),
    ]


def _chain(found: EventDetail) -> list[str]:
    around = [f"{link.kind} {quoted(link.text)}" for link in found.chain[:_LONGEST_CHAIN]]
    return [f"- around it, outwards: {' < '.join(around)}"] if around else []


def _arguments(args: dict[str, str]) -> list[str]:
    shown = list(args.items())[:_ARGUMENTS]
    lines = [f"- argument {quoted(key)}: {quoted(value, _LONGEST_VALUE)}" for key, value in shown]
    left = len(args) - len(shown)
    return [*lines, f"- ... and {left} more arguments"] if left else lines


def _link(link: EventLink) -> Sequence[str]:
    return (
        *(link.relation, link.kind or "", str(link.id), quoted(link.name)),
        *(f"{link.start:,.1f}", format_us(link.duration), link.evidence or ""),
    )


def events(trace: str, text: str, total: int, hits: Sequence[EventSummary], page: Page) -> str:
    """Events with a text in their names, the longest first.

    Args:
        trace: path of the trace.
        text: what was looked for.
        total: events found.
        hits: the first of them by start.
        page: which rows.
    """
    lines = [
        f"# Events named like {quoted(text)}",
        "",
        f"Trace {name(trace)}. {total:,} events; of the first {len(hits):,}, longest first.",
    ]
    ranked = sorted(hits, key=lambda hit: -hit.duration)
    columns = ("event", "name", "start, us", "duration")
    cells = (
        (str(hit.id), quoted(hit.name), f"{hit.start:,.1f}", format_us(hit.duration))
        for hit in ranked
    )
    return paged(lines, *table(columns, cells), page)
