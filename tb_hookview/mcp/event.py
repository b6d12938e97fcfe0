"""One event of a timeline explained, and events found by name."""

from __future__ import annotations

from collections.abc import Sequence

from tb_hookview.document.markdown import Page, name, paged, quoted, table
from tb_hookview.formats import format_us
from tb_hookview.schema.timeline import EventDetail, EventLink, EventSummary

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
