"""The rows of the trace in the file's order, with the analysis of each."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.selection import Selection
from tb_hookview.tables.events.event_rows import event_rows
from tb_hookview.tables.events.names import (
    Columns,
    Names,
    attribution_columns,
    kind_texts,
    owner_columns,
)
from tb_hookview.tables.model.values import Arrays, Numbers, Texts, known
from tb_hookview.trace import Thread
from tb_hookview.trace.columns.trace import Events


def events(selection: Selection) -> Arrays:
    """The table `events`: rows that began in a selected step, device events by their launch."""
    analysis, rows = selection.analysis, event_rows(selection)
    names = Names(analysis)
    return Arrays(
        np.flatnonzero(rows.chosen),
        {
            "id": Numbers,
            "name": names.event,
            "kind": names.category,
            **_traced(analysis.trace.events),
            **_threads(analysis.trace.events, analysis.trace.threads),
            **owner_columns(analysis, names, rows.module, rows.node, rows.step, rows.phase),
            **attribution_columns(rows.evidence, rows.reason),
            "work_kind": lambda i: kind_texts(rows.work_kind[i]),
            "recompute": lambda i: Numbers(rows.recompute[i]),
        },
    )


def _traced(events: Events) -> Columns:
    """The trace's own numbers."""
    return {
        "start_ns": lambda i: Numbers(events.start[i]),
        "duration_ns": lambda i: Numbers(events.duration[i]),
        "correlation": lambda i: known(events.correlation[i]),
        "sequence": lambda i: known(events.sequence[i]),
        "forward_thread": lambda i: known(events.forward_thread[i], least=1),
        "external_id": lambda i: known(events.external[i]),
        "device": lambda i: known(events.device[i]),
    }


def _threads(events: Events, threads: tuple[Thread, ...]) -> Columns:
    thread = events.thread.astype(np.int64)
    return {
        "pid": lambda i: Texts([place.pid for place in threads], thread[i]),
        "tid": lambda i: Texts([place.tid for place in threads], thread[i]),
        "thread": lambda i: Texts([place.name or None for place in threads], thread[i]),
        "thread_id": lambda i: Numbers(thread[i]),
    }
