"""Kernels, copies and sets, with the launch and the module of each."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Int, Nanoseconds
from tb_hookview.tables.events.keys import numbered_kernels, stream_ids
from tb_hookview.tables.events.names import (
    Columns,
    Names,
    attribution_columns,
    kind_texts,
    owner_columns,
)
from tb_hookview.tables.model.values import Arrays, Numbers, known, microseconds


def device_events(selection: Selection) -> Arrays:
    """The table `device_events`: those launched in a selected step."""
    analysis = selection.analysis
    events, names = analysis.device_events, Names(analysis)
    attribution = analysis.device_attribution
    step = analysis.device_event_step
    phase = lookup(analysis.phases.row, events.launch)
    return Arrays(
        np.flatnonzero(selection.device_events),
        {
            "id": lambda i: Numbers(events.event[i]),
            "name": lambda i: names.event(events.event[i]),
            "category": lambda i: names.category(events.event[i]),
            "kind": lambda i: kind_texts(analysis.kinds.kind[i]),
            "device_id": lambda i: names.device(events.device[i]),
            "start_us": lambda i: microseconds(events.start[i]),
            "duration_us": lambda i: microseconds(events.duration[i]),
            **_references(analysis),
            **_launches(analysis),
            **owner_columns(analysis, names, attribution.module, attribution.node, step, phase),
            **attribution_columns(attribution.evidence, attribution.reason),
            "recompute": lambda i: Numbers(attribution.recompute[i]),
            **_properties(analysis),
        },
    )


def _references(analysis: Analysis) -> Columns:
    events, call_tree = analysis.device_events, analysis.call_tree
    number, ids = numbered_kernels(analysis)
    stream = stream_ids(analysis)
    return {
        "kernel_id": lambda i: Numbers(ids[number[i]]),
        "stream_id": lambda i: Numbers(stream[i]),
        "launch_id": lambda i: known(lookup(call_tree.event, events.launch[i])),
        "launch_thread_id": lambda i: known(lookup(call_tree.thread, events.launch[i])),
    }


def _launches(analysis: Analysis) -> Columns:
    events, call_tree = analysis.device_events, analysis.call_tree

    def delay(i: Int) -> Int:
        waited = events.start[i] - lookup(call_tree.end, events.launch[i])
        return np.where(events.launch[i] < 0, -1, np.maximum(waited, 0))

    return {
        "launch_us": lambda i: _time(lookup(call_tree.duration, events.launch[i])),
        "launch_delay_us": lambda i: _time(delay(i)),
    }


def _time(nanoseconds: Nanoseconds) -> Numbers:
    """Microseconds; what is below 0 stands for none."""
    return Numbers(nanoseconds / 1000, nanoseconds >= 0)


def _properties(analysis: Analysis) -> Columns:
    event, events = analysis.device_events.event, analysis.trace.events
    core, occupancy = analysis.kinds.tensor_core, events.occupancy
    return {
        "tensor_core": lambda i: Numbers(core[i] > 0, core[i] >= 0),
        "bytes": lambda i: known(events.bytes[event[i]]),
        "occupancy_pct": lambda i: Numbers(occupancy[event[i]], ~np.isnan(occupancy[event[i]])),
    }
