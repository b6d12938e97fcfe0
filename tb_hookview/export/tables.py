"""The tables of an export: those of the report, and the rows of the trace as `events`.

A table comes in batches of columns, so that no more than one batch is held as Python values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.roles import node_name
from tb_hookview.analysis.modules.attribution import EVIDENCE, REASONS
from tb_hookview.arrays.types import Int
from tb_hookview.export.event_rows import EventRows
from tb_hookview.report.result import Report
from tb_hookview.schema import KINDS, Phase
from tb_hookview.trace import EventCategory

BATCH = 20_000
"""Rows of a batch."""

Batch = dict[str, list[Any]]


@dataclass(frozen=True)
class Table:
    """A named table.

    `types` gives the type of each column, of which lists, mappings and lists of rows are some; any
    value may be None.
    """

    name: str
    types: dict[str, Any]
    rows: int
    batches: Callable[[], Iterator[Batch]]


def report_tables(report: Report) -> Iterator[Table]:
    """Every list of rows in the report is a table."""
    for field, hint in get_type_hints(type(report.data)).items():
        if get_origin(hint) is list and is_struct(row_type := get_args(hint)[0]):
            yield _report_table(field, row_type, getattr(report.data, field))


def _report_table(name: str, row_type: Any, rows: list[Any]) -> Table:
    columns = list(_columns(row_type))

    def batches() -> Iterator[Batch]:
        for first in range(0, len(rows), BATCH):
            some = rows[first : first + BATCH]
            yield {column: [_value(row, path) for row in some] for column, path, _ in columns}

    return Table(name, {column: hint for column, _, hint in columns}, len(rows), batches)


def _columns(
    row_type: Any, name: str = "", path: tuple[str, ...] = ()
) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """Name, attributes to follow and type of each column; nested rows give names with dots."""
    for encoded, field, hint in fields_of(row_type):
        column, inner = f"{name}{encoded}", (*path, field)
        if is_struct(hint):
            yield from _columns(hint, f"{column}.", inner)
        else:
            yield column, inner, hint


def fields_of(row_type: Any) -> Iterator[tuple[str, str, Any]]:
    """Name as written, attribute and type of each field of a row."""
    hints = get_type_hints(row_type)
    for field in msgspec.structs.fields(row_type):
        yield field.encode_name, field.name, without_none(hints[field.name])


def without_none(hint: Any) -> Any:
    """The type itself, of one that may be None."""
    possible = [inner for inner in get_args(hint) if inner is not NoneType]
    return possible[0] if NoneType in get_args(hint) and len(possible) == 1 else hint


def is_struct(hint: Any) -> bool:
    """Whether a type is that of rows."""
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


def _value(row: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        row = None if row is None else attrgetter(name)(row)
    return row


_EVENT_TYPES: dict[str, Any] = {
    "name": str,
    "kind": str,
    "start_ns": int,
    "duration_ns": int,
    "pid": str,
    "tid": str,
    "thread": str,
    **dict.fromkeys(("correlation", "sequence", "forward_thread", "external_id", "device"), int),
    **dict.fromkeys(("step", "phase", "module", "node", "evidence", "no_module", "work_kind"), str),
    "recompute": bool,
}


def events_table(analysis: Analysis, rows: EventRows) -> Table:
    """The chosen rows of the trace in the order of the file, with what the analysis says of each.

    Times are whole nanoseconds: an absolute time in microseconds is more than a float can hold.
    """
    chosen = np.flatnonzero(rows.chosen)

    def batches() -> Iterator[Batch]:
        for first in range(0, len(chosen), BATCH):
            yield _event_batch(analysis, rows, chosen[first : first + BATCH])

    return Table("events", _EVENT_TYPES, len(chosen), batches)


def _event_batch(analysis: Analysis, rows: EventRows, chunk: Int) -> Batch:
    events, trace = analysis.trace.events, analysis.trace
    threads = [trace.threads[index] for index in events.thread[chunk].tolist()]
    return {
        "name": _texts(trace.strings.texts, events.name[chunk]),
        "kind": _texts([kind.name.lower() for kind in EventCategory], events.kind[chunk]),
        "start_ns": events.start[chunk].tolist(),
        "duration_ns": events.duration[chunk].tolist(),
        "pid": [thread.pid for thread in threads],
        "tid": [thread.tid for thread in threads],
        "thread": [thread.name or None for thread in threads],
        "correlation": _numbers(events.correlation[chunk]),
        "sequence": _numbers(events.sequence[chunk]),
        "forward_thread": _numbers(events.forward_thread[chunk], least=1),
        "external_id": _numbers(events.external[chunk]),
        "device": _numbers(events.device[chunk]),
        "step": _texts(analysis.steps.name, rows.step[chunk]),
        "phase": _texts([phase.name.lower() for phase in Phase], rows.phase[chunk]),
        "module": _texts(analysis.modules.path, rows.module[chunk]),
        "node": _nodes(analysis, rows.node[chunk]),
        "evidence": _texts(EVIDENCE, rows.evidence[chunk]),
        "no_module": _texts(REASONS, rows.reason[chunk]),
        "work_kind": _texts(KINDS, rows.work_kind[chunk]),
        "recompute": rows.recompute[chunk].tolist(),
    }


def _texts(table: Any, numbers: Any) -> list[str | None]:
    return [table[number] if number >= 0 else None for number in numbers.tolist()]


def _numbers(column: Int, least: int = 0) -> list[int | None]:
    return [number if number >= least else None for number in column.tolist()]


def _nodes(analysis: Analysis, nodes: Int) -> list[str | None]:
    """Name of each node."""
    strings = analysis.host.string[analysis.nodes.row]
    named = {s: node_name(analysis.trace.strings[s]) for s in np.unique(strings).tolist()}
    return [named[int(strings[node])] if node >= 0 else None for node in nodes.tolist()]
