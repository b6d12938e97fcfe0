"""The rows of the trace with the analysis of each, as columns of shape (n,).

Columns are indices; -1 stands for none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int, ModuleIndex, NodeIndex, StepIndex


@dataclass(frozen=True)
class EventRows:
    """The analysis of each row of `Events`."""

    chosen: Bool
    """Rows in the selection: by their start, device events by that of their launch."""
    step: StepIndex
    phase: Int
    """Host rows and launched device events."""
    module: ModuleIndex
    """Host rows and launched device events: the module they belong to."""
    node: NodeIndex
    """The autograd node that a row is, lies in, or was launched in."""
    evidence: Int
    """Of nodes and device events: index into EVIDENCE."""
    reason: Int
    """Of nodes and device events without a module: index into REASONS."""
    recompute: Bool
    """Forward operators that run again within a node, and their device events."""
    work_kind: Int
    """Of device events: index into KINDS."""


def event_rows(selection: Selection) -> EventRows:
    """Spread the analysis of host rows and device events over the trace's rows."""
    analysis = selection.analysis
    device_attribution, attribution = analysis.device_attribution, analysis.attribution
    launch, start = analysis.device_events.launch, analysis.trace.events.start
    step = analysis.steps.at(start)
    step[analysis.device_events.event] = analysis.device_event_step
    phase, nothing = analysis.phases.row, np.full(len(analysis.call_tree), -1, np.int64)
    again = attribution.row_recompute.astype(np.int64)
    return EventRows(
        chosen=selection.within(step),
        step=step,
        phase=_spread(analysis, phase, lookup(phase, launch)),
        module=_spread(analysis, attribution.row_module, device_attribution.module),
        node=_spread(analysis, analysis.row_node, device_attribution.node),
        evidence=_of_nodes(analysis, attribution.node_evidence, device_attribution.evidence),
        reason=_of_nodes(analysis, attribution.node_reason, device_attribution.reason),
        recompute=_spread(analysis, again, device_attribution.recompute.astype(np.int64)) > 0,
        work_kind=_spread(analysis, nothing, analysis.kinds.kind),
    )


def _spread(analysis: Analysis, of_host_rows: Int, of_device_events: Int) -> Int:
    """Put columns over host rows and over device events onto the rows of the trace."""
    column = np.full(len(analysis.trace.events), -1, np.int64)
    column[analysis.call_tree.event] = of_host_rows
    column[analysis.device_events.event] = of_device_events
    return column


def _of_nodes(analysis: Analysis, of_node: Int, of_device_events: Int) -> Int:
    host = np.full(len(analysis.call_tree), -1, np.int64)
    host[analysis.nodes.row] = of_node
    return _spread(analysis, host, of_device_events)
