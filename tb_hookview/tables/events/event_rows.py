"""The rows of the trace with what the analysis says of each: one column per question, shape (n,).

Columns are indices into what they speak of, -1 where there is nothing to say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int


@dataclass(frozen=True)
class EventRows:
    """What is known of each row of `Events`."""

    chosen: Bool
    """Rows in the selection: by their start, device events by that of their launch."""
    step: Int
    phase: Int
    """Host rows and launched device events."""
    module: Int
    """Host rows and launched device events: the module they belong to."""
    node: Int
    """The autograd node that a row is, lies in, or was launched in."""
    evidence: Int
    """Of nodes and device events: index into EVIDENCE."""
    reason: Int
    """Of nodes and device events without a module: index into REASONS."""
    recompute: Bool
    """Forward work that runs again within a node."""
    work_kind: Int
    """Of device events: index into KINDS."""


def event_rows(selection: Selection) -> EventRows:
    """Lay out what the analysis knows of host rows and device events over the rows of the trace."""
    analysis = selection.analysis
    owners, attribution = analysis.device_attribution, analysis.attribution
    launch, start = analysis.device_events.launch, analysis.trace.events.start.copy()
    start[analysis.device_events.event] = np.where(
        launch >= 0, lookup(analysis.call_tree.start, launch), analysis.device_events.start
    )
    phase, nothing = analysis.phases.row, np.full(len(analysis.call_tree), -1, np.int64)
    again = attribution.row_recompute.astype(np.int64)
    return EventRows(
        chosen=selection.times(start),
        step=analysis.steps.at(start),
        phase=_spread(analysis, phase, lookup(phase, launch)),
        module=_spread(analysis, attribution.row_module, owners.module),
        node=_spread(analysis, analysis.row_node, owners.node),
        evidence=_of_nodes(analysis, attribution.node_evidence, owners.evidence),
        reason=_of_nodes(analysis, attribution.node_reason, owners.reason),
        recompute=_spread(analysis, again, owners.recompute.astype(np.int64)) > 0,
        work_kind=_spread(analysis, nothing, analysis.kinds.kind),
    )


def _spread(analysis: Analysis, of_host: Int, of_work: Int) -> Int:
    """Put columns over host rows and over device events onto the rows of the trace."""
    column = np.full(len(analysis.trace.events), -1, np.int64)
    column[analysis.call_tree.event] = of_host
    column[analysis.device_events.event] = of_work
    return column


def _of_nodes(analysis: Analysis, of_node: Int, of_work: Int) -> Int:
    host = np.full(len(analysis.call_tree), -1, np.int64)
    host[analysis.nodes.row] = of_node
    return _spread(analysis, host, of_work)
