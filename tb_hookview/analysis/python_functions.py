"""Autograd functions that are written in Python, and what their backward runs again."""

from __future__ import annotations

import re

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.rows import node_name
from tb_hookview.arrays.joins import mask_of, unique
from tb_hookview.arrays.types import Bool

_BUILT_IN_NODE = re.compile(r"\w+Backward\d+")
_TORCHS = re.compile("(Checkpoint|Compiled)FunctionBackward")


def is_native(name: str) -> bool:
    """Whether an operator or node of this name is torch's, and not written in Python."""
    return "::" in name or _BUILT_IN_NODE.fullmatch(name) is not None


def in_python(analysis: Analysis) -> Bool:
    """Whether each node is of a function that is written in Python."""
    return np.array([not is_native(name) for name in node_names(analysis)], bool)


def node_names(analysis: Analysis) -> list[str]:
    """Name of each node."""
    texts, rows = analysis.trace.strings, analysis.nodes.row
    return [node_name(texts[each]) for each in analysis.host.string[rows].tolist()]


def recomputing(analysis: Analysis) -> Bool:
    """Whether each node is of a function whose backward is written to run a forward again.

    A checkpoint runs its block again in the node of the last operator that saved something, and
    that operator with it.
    """
    names, again = node_names(analysis), analysis.attribution.row_recompute
    torchs = np.array([_TORCHS.fullmatch(name) is not None for name in names], bool)
    found = in_python(analysis) & ~torchs
    found &= mask_of(unique(analysis.row_node[again]), len(names))
    for name in {names[node] for node in np.flatnonzero(found).tolist()}:
        called = analysis.host.named(name.removesuffix("Backward").__eq__)
        for node in unique(analysis.row_node[called[again[called]]]).tolist():
            found[node] &= names[node] != name
    return np.asarray(found)
