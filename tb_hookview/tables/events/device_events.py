"""Kernels, copies and sets, with the launch and the owner of each."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.nesting import lookup
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
    work, owners, names = analysis.device_events, analysis.device_attribution, Names(analysis)
    began = lookup(analysis.call_tree.start, work.launch)
    step = analysis.steps.at(np.where(work.launch >= 0, began, work.start))
    phase = lookup(analysis.phases.row, work.launch)
    return Arrays(
        np.flatnonzero(selection.work),
        {
            "id": lambda i: Numbers(work.event[i]),
            "name": lambda i: names.event(work.event[i]),
            "category": lambda i: names.category(work.event[i]),
            "kind": lambda i: kind_texts(analysis.kinds.kind[i]),
            "device_id": lambda i: names.device(work.device[i]),
            "start_us": lambda i: microseconds(work.start[i]),
            "duration_us": lambda i: microseconds(work.duration[i]),
            **_references(analysis),
            **owner_columns(analysis, names, owners.module, owners.node, step, phase),
            **attribution_columns(owners.evidence, owners.reason),
            "recompute": lambda i: Numbers(owners.recompute[i]),
            **_properties(analysis),
        },
    )


def _references(analysis: Analysis) -> Columns:
    work, call_tree = analysis.device_events, analysis.call_tree
    number, ids = numbered_kernels(analysis)
    stream = stream_ids(analysis)
    return {
        "kernel_id": lambda i: Numbers(ids[number[i]]),
        "stream_id": lambda i: Numbers(stream[i]),
        "launch_id": lambda i: known(lookup(call_tree.event, work.launch[i])),
        "launch_thread_id": lambda i: known(lookup(call_tree.thread, work.launch[i])),
    }


def _properties(analysis: Analysis) -> Columns:
    event, events = analysis.device_events.event, analysis.trace.events
    core, occupancy = analysis.kinds.tensor_core, events.occupancy
    return {
        "tensor_core": lambda i: Numbers(core[i] > 0, core[i] >= 0),
        "bytes": lambda i: known(events.bytes[event[i]]),
        "occupancy_pct": lambda i: Numbers(occupancy[event[i]], ~np.isnan(occupancy[event[i]])),
    }
