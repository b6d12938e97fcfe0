"""`cuda_sync` rows with their arguments, and the calls that they are about."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.device.events import calls_of
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import asof, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import DeviceNumber, SyncIndex, TreeRow
from tb_hookview.tables.events.names import Columns, Names
from tb_hookview.tables.model.values import Arrays, Numbers, Texts, known, microseconds


def cuda_syncs(selection: Selection) -> Arrays:
    """The table `cuda_syncs`: those that began in a selected step."""
    analysis, names = selection.analysis, Names(selection.analysis)
    rows, events = analysis.trace.cuda_syncs, analysis.trace.events
    start = events.start[rows.event]
    step = analysis.steps.at(start)
    kinds, each = [kind or None for kind in rows.kind], np.arange(len(rows))
    return Arrays(
        np.flatnonzero(selection.times(start)),
        {
            "id": lambda i: Numbers(rows.event[i]),
            "cuda_sync_kind": lambda i: Texts(kinds, each[i]),
            "start_us": lambda i: microseconds(start[i]),
            "duration_us": lambda i: microseconds(events.duration[rows.event[i]]),
            "device_id": lambda i: _devices(rows.device[i]),
            "stream": lambda i: known(rows.stream[i]),
            **_calls(analysis, names),
            "step": lambda i: names.step(step[i]),
            "step_id": lambda i: known(step[i]),
        },
    )


def _devices(device: DeviceNumber) -> Texts:
    values, place = unique_inverse(device)
    return Texts([str(value) if value >= 0 else None for value in values.tolist()], place)


def _calls(analysis: Analysis, names: Names) -> Columns:
    """The call of each row, and the recording of the event that it waits for."""
    rows, tree = analysis.trace.cuda_syncs, analysis.call_tree
    start = analysis.trace.events.start[rows.event]
    call = calls_of(analysis.trace, tree, rows.correlation, start)
    record = calls_of(analysis.trace, tree, rows.record_correlation, start)
    sync = _sync_around(analysis, call)
    return {
        "correlation": lambda i: known(rows.correlation[i]),
        "call": lambda i: names.event(lookup(tree.event, call[i])),
        "call_id": lambda i: known(lookup(tree.event, call[i])),
        "sync_id": lambda i: known(sync[i]),
        "wait_on_stream": lambda i: known(rows.wait_on_stream[i]),
        "wait_on_cuda_event_id": lambda i: known(rows.cuda_event[i]),
        "wait_on_cuda_event_record_corr_id": lambda i: known(rows.record_correlation[i]),
        "record_id": lambda i: known(lookup(tree.event, record[i])),
    }


def _sync_around(analysis: Analysis, call: TreeRow) -> SyncIndex:
    """The sync that each call is part of, -1 for none."""
    syncs, tree = analysis.syncs, analysis.call_tree
    thread, start = lookup(tree.thread, call), lookup(tree.start, call)
    found = asof(tree.thread[syncs.row], syncs.start, thread, start)
    return np.where((call >= 0) & (lookup(syncs.end, found) > start), found, -1)
