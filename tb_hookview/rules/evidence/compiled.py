"""Regions of code that torch.compile made, and calls of the graphs in them.

    thread  [Torch-Compiled Region: 0/0                                           ]
              [CompiledFunction]  aten::item  [lookup] [Torch-Compiled Region: 1/0]
                                                          [CompiledFunction      ]

A region is the code of one function, graph/variant. Where the graph breaks, it runs Python and then
calls the rest of the function, which is a region of its own inside.
"""

from __future__ import annotations

import numpy as np

from tb_hookview.arrays.types import Bool, GapIndex, TreeRow
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.evidence.host_activity import launches_after

REGION = r"^Torch-Compiled Region: (\d+)/(\d+)"
_GRAPHS = ("CompiledFunction", "## Call CompiledFxGraph")
LOOKUP = "TorchDynamo Cache Lookup"


def regions(context: Context) -> Bool:
    """Compiled regions in measured steps, shape (n,)."""
    return context.rows.beginning("Torch-Compiled Region: ") & context.rows.counted


def graph_calls(context: Context) -> Bool:
    """Calls of the graphs in compiled regions, shape (n,)."""
    return context.rows.beginning(*_GRAPHS)


def region_around(context: Context) -> TreeRow:
    """Compiled region whose Python code runs each row, -1 for none and inside a graph."""
    region, call = regions(context), graph_calls(context)
    around = context.call_tree.nearest_above(region | call)
    around[(around >= 0) & ~region[around]] = -1
    return around


def mostly_before_compiled_code(context: Context, gaps: GapIndex) -> bool:
    """Whether most of the time of some gaps of the cause LAUNCH ended with a compiled launch."""
    time = context.analysis.gaps.duration[gaps]
    inside = context.rows.inside(graph_calls(context) | regions(context))
    compiled = np.append(inside, False)[launches_after(context, gaps)]
    return 2 * int(time[compiled].sum()) > int(time.sum())
