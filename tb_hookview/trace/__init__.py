"""Reading chrome traces into columns."""

from tb_hookview.trace.columns import Events, Flows, StringTable, Thread, Trace
from tb_hookview.trace.discovery import Run, TraceFile, Worker, find_runs
from tb_hookview.trace.reader import read_trace
from tb_hookview.trace.vocabulary import Kind

__all__ = [
    "Events",
    "Flows",
    "Kind",
    "Run",
    "StringTable",
    "Thread",
    "Trace",
    "TraceFile",
    "Worker",
    "find_runs",
    "read_trace",
]
