"""What the calls of compiled graphs ran, placed on modules by the recorder's map."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_hookview.analysis.autograd.nodes import Nodes
from tb_hookview.analysis.compiled.graphs import Alignment, Variants, align, row_name
from tb_hookview.analysis.compiled.launches import UNPAIRED, calls_of_events, is_graph_launch
from tb_hookview.analysis.compiled.times import (
    DIFFERENT,
    HOLDS_OTHERS,
    PLACED,
    GraphCalls,
    Portions,
    gap_portions,
    portions,
    spans_of,
)
from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.modules.tree import ModuleCalls
from tb_hookview.arrays.joins import index_of, scatter
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Bool, Int, ModuleIndex, Nanoseconds, StringIndex, TreeRow
from tb_hookview.trace import EventCategory

_COPIES = frozenset({"aten::_foreach_copy_", "aten::copy_", "aten::fill_"})
"""What torch runs before it replays a graph."""


class Placement(Struct, frozen=True):
    """Rows, device events and host time of compiled graphs by call of the map."""

    calls: GraphCalls
    row_call: Int
    """Call around each row of the call tree, an index into the calls of `Variants`; -1 for none."""
    event_call: Int
    """Call of each device event, as `row_call`."""
    range: Int
    """Index into `calls` of each share of host time, shape (s,)."""
    module: ModuleIndex
    """-1 for the region's own."""
    near: Bool
    several: Bool
    """Whether other modules took a share of the same time."""
    time: Nanoseconds

    @property
    def variants(self) -> Variants:
        """Calls of the map that rows are paired with."""
        return self.calls.variants

    @property
    def placed(self) -> Bool:
        """Whether each call of a graph was placed, shape (r,)."""
        return np.asarray(self.calls.whole == PLACED)


def place(
    host: HostRows, nodes: Nodes, module_calls: ModuleCalls, calls: GraphCalls, events: DeviceEvents
) -> Placement:
    """Pair rows and device events of graphs with calls of the map, and split their host time."""
    whole = calls.whole.copy()
    holding = _holds(host, calls.row, nodes, module_calls)
    whole[(whole == PLACED) & holding] = HOLDS_OTHERS
    tried = np.flatnonzero(whole == PLACED)
    row, variant = calls.row[tried], calls.variant[tried]
    child, group = _children(host, row)
    tree = host.call_tree
    replays = tree.holds(is_graph_launch(host))[row]
    name = _names(host, calls.variants, host.string[child], replays[group])
    found = align(calls.variants, variant, group, name)
    spans = spans_of(tree, row, child, group)
    lost = sum_by(group, np.where(found.call < 0, spans.own, 0), len(tried))
    # What a graph replays has no rows; those next to it are copies, and what it was made of.
    different = found.disordered | (~replays & (lost > UNPAIRED * tree.duration[row]))
    around = index_of(row, len(host))
    around[row[different]] = -1
    around = lookup(around, tree.nearest(around >= 0))  # of each row of the call tree
    row_call = scatter(child, np.where(different[group], -1, found.call), len(host))
    row_call = lookup(row_call, tree.nearest(row_call >= 0))
    event_call, others = calls_of_events(host, calls.variants, variant, around, row_call, events)
    different |= others
    row_call[lookup(different, around) > 0] = -1
    found = Alignment(np.where(different[group], -1, found.call), found.disordered)
    whole[tried[different]] = DIFFERENT
    on_host = ~different & ~tree.holds(host.kind == EventCategory.RUNTIME)[row]
    paired = np.flatnonzero(found.call >= 0)
    shown = portions(calls.variants, found.call[paired], group[paired], spans.own[paired])
    gaps = gap_portions(calls.variants, variant, spans, name, found, on_host)
    return _placement(replace(calls, whole=whole), row_call, event_call, tried, shown, gaps)


def _placement(
    calls: GraphCalls, row_call: Int, event_call: Int, tried: Int, shown: Portions, gaps: Portions
) -> Placement:
    part = np.concatenate([shown.part, gaps.part])
    return Placement(
        calls=calls,
        row_call=row_call,
        event_call=event_call,
        range=tried[np.concatenate([shown.group, gaps.group])],
        module=calls.variants.module[part],
        near=calls.variants.near[part],
        several=np.concatenate([shown.several, gaps.several]),
        time=np.concatenate([shown.time, gaps.time]),
    )


def _names(host: HostRows, variants: Variants, string: StringIndex, replays: Bool) -> Int:
    """Number of each text as the name of a call's row, -1 for none.

    Args:
        string: of the rows, shape (k,).
        replays: whether a graph is replayed next to each. Its inputs and its random state are
            copied by operators that may be in the map too.
    """
    texts, number = host.trace.strings, variants.names.get
    copies = texts.map(string, _COPIES.__contains__, bool)
    called = texts.map(string, lambda name: number(row_name(name), -1), np.int64)
    return np.where(replays & copies, -1, called)


def _children(host: HostRows, row: TreeRow) -> tuple[TreeRow, Int]:
    """Operators and annotations directly inside each range, and the range."""
    index = index_of(row, len(host))
    group = lookup(index, host.call_tree.parent)
    child = np.flatnonzero((group >= 0) & host.operators_and_annotations)
    return child, group[child]


def _holds(host: HostRows, row: TreeRow, nodes: Nodes, module_calls: ModuleCalls) -> Bool:
    """Whether calls of modules or evaluations of nodes are inside each range."""
    other = module_calls.module >= 0
    other[nodes.row] = True
    return host.call_tree.holds(other)[row]
