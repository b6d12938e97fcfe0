"""Operators, annotations and runtime calls as they nest."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.host.roles import Role
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.nesting import lookup
from tb_hookview.tables.events.names import Names, owner_columns
from tb_hookview.tables.model.values import Arrays, Numbers, Texts, known, microseconds

_ROLES = [None if role is Role.NONE else role.name.lower() for role in Role]


def host_rows(selection: Selection) -> Arrays:
    """The table `host_rows`: rows that began in a selected step."""
    analysis, names = selection.analysis, Names(selection.analysis)
    tree, attribution = analysis.call_tree, analysis.attribution
    owner = owner_columns(
        analysis,
        names,
        attribution.row_module,
        analysis.row_node,
        analysis.steps.at(tree.start),
        analysis.phases.row,
    )
    return Arrays(
        np.flatnonzero(selection.rows),
        {
            "id": lambda i: Numbers(tree.event[i]),
            "parent_id": lambda i: known(lookup(tree.event, tree.parent[i])),
            "thread_id": lambda i: Numbers(tree.thread[i]),
            "name": lambda i: names.event(tree.event[i]),
            "category": lambda i: names.category(tree.event[i]),
            "role": lambda i: Texts(_ROLES, analysis.host.role[i]),
            "start_us": lambda i: microseconds(tree.start[i]),
            "duration_us": lambda i: microseconds(tree.duration[i]),
            **owner,
            "recompute": lambda i: Numbers(attribution.row_recompute[i]),
        },
    )
