"""Reading chrome traces into columns.

Names are loaded on first use: who only looks which traces there are needs no columns.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tb_hookview.trace.columns.trace import Events, Flows, StringTable, Thread, Trace
    from tb_hookview.trace.format.vocabulary import EventCategory, Wanted
    from tb_hookview.trace.reader import read_trace
    from tb_hookview.trace.source.file import LocalFile, TraceFile, trace_file
    from tb_hookview.trace.source.runs import Run, TraceEntry, Worker, find_runs

__all__ = [
    "EventCategory",
    "Events",
    "Flows",
    "LocalFile",
    "Run",
    "StringTable",
    "Thread",
    "Trace",
    "TraceEntry",
    "TraceFile",
    "Wanted",
    "Worker",
    "find_runs",
    "read_trace",
    "trace_file",
]

_HOMES = {
    **dict.fromkeys(("Events", "Flows", "StringTable", "Thread", "Trace"), "columns.trace"),
    **dict.fromkeys(("Run", "TraceEntry", "Worker"), "source.runs"),
    **dict.fromkeys(("LocalFile", "TraceFile", "trace_file"), "source.file"),
    "EventCategory": "format.vocabulary",
    "Wanted": "format.vocabulary",
    "find_runs": "source.runs",
    "read_trace": "reader",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
