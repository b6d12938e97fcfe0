"""Modules that replayed graphs may have run, whose device time is unknown.

A graph calls no module. One that is launched in a module's call or node runs the modules below it
that are not called; one that is launched in no pass runs any module that is not called in its step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.device.events import in_capture, of_graph
from tb_hookview.analysis.modules.attribution import COMPILED, EVIDENCE
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import isin, mask_of, unique
from tb_hookview.arrays.types import Bool, TreeRow
from tb_hookview.schema import Phase


class UnknownDeviceTimes(NamedTuple):
    """Whether the device time of each module is unknown, by pass; shape (m,).

    It is where graphs may hold work of the module; of the backward also where all of it is unknown.
    """

    forward: Bool
    backward: Bool


def unknown_device_times(selection: Selection) -> UnknownDeviceTimes:
    """Find the modules of whose device time the selection does not show all."""
    analysis = selection.analysis
    events, size = analysis.device_events, len(analysis.modules)
    graphs = of_graph(analysis.host, events, np.arange(len(events))) & selection.device_events
    unknown = bool(selection.unknown_phases[Phase.BACKWARD])
    if not graphs.any():
        return UnknownDeviceTimes(np.zeros(size, bool), np.full(size, unknown))
    calls = _calls(selection)
    uncalled = np.bincount(analysis.module_calls.module[calls], minlength=size) == 0
    forward = _below(selection, graphs & ~analysis.in_backward) & uncalled
    backward = _below(selection, graphs & analysis.in_backward) & uncalled
    forward |= ~_called_wherever_unknown(selection, calls)
    return UnknownDeviceTimes(forward, backward | unknown)


def _calls(selection: Selection) -> TreeRow:
    """Calls of modules that ran what they launched, and did not run again in the backward."""
    analysis = selection.analysis
    calls = np.flatnonzero((analysis.module_calls.module >= 0) & selection.rows)
    again = analysis.attribution.row_recompute[calls]
    return calls[~again & ~in_capture(analysis.host, calls)]


def _below(selection: Selection, graphs: Bool) -> Bool:
    """Modules below those in which some graphs were launched that no map places; shape (m,)."""
    parts = selection.analysis.device_parts.of(graphs)
    placed = isin(parts.evidence, [EVIDENCE.index(name) for name in COMPILED])
    modules = selection.analysis.modules
    holds = mask_of(unique(parts.module[(parts.module >= 0) & ~placed]), len(modules))
    below = np.zeros(len(modules), bool)
    for module, parent in enumerate(modules.parent.tolist()):  # parents before children
        below[module] = parent >= 0 and (below[parent] or holds[parent])
    return below


def _called_wherever_unknown(selection: Selection, calls: TreeRow) -> Bool:
    """Modules called in each step whose forward a graph may hold, or all right below them were."""
    analysis, size = selection.analysis, len(selection.analysis.modules)
    steps = len(analysis.steps.name)
    unknown = analysis.replayed_graphs.unknown[:, Phase.FORWARD].copy()
    if selection.chosen is not None:
        unknown &= mask_of(np.array(selection.chosen), steps + 1)
    step = analysis.steps.at(analysis.call_tree.start[calls])
    step = np.where(step < 0, steps, step)
    asked = unknown[step]
    distinct = unique(analysis.module_calls.module[calls][asked] * (steps + 1) + step[asked])
    known = np.bincount(distinct // (steps + 1), minlength=size) == unknown.sum()
    any_below, all_below = np.zeros(size, bool), np.ones(size, bool)
    for module, parent in reversed([*enumerate(analysis.modules.parent.tolist())]):
        known[module] |= any_below[module] and all_below[module]
        if parent >= 0:
            any_below[parent] = True
            all_below[parent] &= known[module]
    return np.asarray(known)
