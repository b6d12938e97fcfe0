"""Updates of parameters outside of `Optimizer.*` annotations.

Where torch.compile traces an optimizer's `step`, the annotation is left out. An update that is
not compiled itself still runs its operators:

    main ops  [Torch-Compiled Region: 0/0                                             ]
    main ops   [CompiledFunction seq=4]            [Torch-Compiled Region: 3/0       ]
    main ops                                         [aten::_fused_adamw_]
    auto ops                            [node seq=4]

The outer region holds the forward, the inner one the update alone: all of it is the optimizer's.
"""

from __future__ import annotations

import re

import numpy as np

from tb_hookview.analysis.compiled.graphs import REGION_ROW
from tb_hookview.analysis.compiled.launches import is_graph_launch
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.types import Bool

_FUSED = re.compile(r"aten::_fused_(adam|adamw|sgd|adagrad)_$")
_ON_LISTS = "aten::_foreach_addcdiv_"
"""Of all that updates on lists run, what little else does."""


def find_unmarked_updates(host: HostRows, marked: Bool, forward: Bool, node: Bool) -> Bool:
    """Rows of updates in no optimizer that is marked, shape (n,).

    A fused update is one. So is a compiled region that holds an update, and no forward, node or
    replayed graph, which may be either.

    Args:
        host: host rows.
        marked: rows of optimizers.
        forward: rows of the forward.
        node: rows in autograd nodes.
    """
    tree = host.call_tree
    fused = host.is_named(_FUSED.match)
    updates = fused | host.is_named(_ON_LISTS.__eq__)
    updates &= ~(tree.inside(marked) | node)
    if not updates.any():
        return updates
    regions = tree.holds(updates) & host.is_named(lambda text: text.startswith(REGION_ROW))
    regions &= ~tree.holds(forward | node | is_graph_launch(host)) & bool(forward.any())
    return np.asarray((updates & fused) | regions)
