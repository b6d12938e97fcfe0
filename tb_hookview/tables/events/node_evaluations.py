"""Evaluations of autograd nodes, one by one."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.nesting import lookup
from tb_hookview.tables.events.keys import first_events
from tb_hookview.tables.events.names import Columns, Names, attribution_columns, owner_columns
from tb_hookview.tables.model.values import Arrays, Numbers, known, microseconds


def node_evaluations(selection: Selection) -> Arrays:
    """The table `node_evaluations`: those that began in a selected step."""
    analysis, names = selection.analysis, Names(selection.analysis)
    nodes, attribution = analysis.nodes, analysis.attribution
    start, each = analysis.call_tree.start[nodes.row], np.arange(len(nodes))
    owner = owner_columns(
        analysis, names, attribution.node_module, each, analysis.steps.at(start), each
    )
    return Arrays(
        np.flatnonzero(selection.nodes),
        {
            "name": names.node,
            **_references(analysis, names),
            "start_us": lambda i: microseconds(start[i]),
            "duration_us": lambda i: microseconds(analysis.call_tree.duration[nodes.row[i]]),
            "self_host_us": lambda i: microseconds(nodes.self_host[i]),
            **{name: owner[name] for name in ("step", "step_id", "module", "module_id")},
            **attribution_columns(attribution.node_evidence, attribution.node_reason),
        },
    )


def _references(analysis: Analysis, names: Names) -> Columns:
    nodes, tree = analysis.nodes, analysis.call_tree
    event, string = tree.event[nodes.row], analysis.host.string[nodes.row]
    by_name = first_events(string, event)
    return {
        "id": lambda i: Numbers(event[i]),
        "name_id": lambda i: Numbers(by_name[string[i]]),
        "parent_id": lambda i: known(lookup(event, nodes.around[i])),
        "thread_id": lambda i: Numbers(tree.thread[nodes.row[i]]),
        "forward_op": lambda i: names.event(lookup(tree.event, nodes.forward_op[i])),
        "forward_op_id": lambda i: known(lookup(tree.event, nodes.forward_op[i])),
    }
