"""What the calls of compiled graphs ran, placed on modules by the recorder's map."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.autograd.nodes import Nodes
from tb_hookview.analysis.compiled.alignment import Alignment, align
from tb_hookview.analysis.compiled.calls import DIFFERENT, HOLDS_OTHERS, PLACED, GraphCalls
from tb_hookview.analysis.compiled.graphs import Variants
from tb_hookview.analysis.compiled.names import row_name
from tb_hookview.analysis.compiled.times import Portions, gap_portions, portions, spans_of
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.modules.tree import ModuleCalls
from tb_hookview.arrays.joins import index_of, isin, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Bool, Int, ModuleIndex, Nanoseconds, StringIndex, TreeRow
from tb_hookview.trace import EventCategory

_UNPAIRED = 0.05
"""Part of a range that rows without a call may take; above it, row and map are of two graphs."""


class Placement(Struct, frozen=True):
    """Rows and host time of compiled graphs by call of the map."""

    calls: GraphCalls
    row_call: Int
    """Call around each row of the call tree, an index into the calls of `Variants`; -1 for none."""
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


def place(host: HostRows, nodes: Nodes, module_calls: ModuleCalls, calls: GraphCalls) -> Placement:
    """Pair the rows of graphs with calls of the map, and split their host time."""
    whole = calls.whole.copy()
    holding = _holds(host, calls.row, nodes, module_calls)
    whole[(whole == PLACED) & holding] = HOLDS_OTHERS
    tried = np.flatnonzero(whole == PLACED)
    child, group = _children(host, calls.row[tried])
    name = call_names(host, calls.variants, host.string[child])
    variant = calls.variant[tried]
    found = align(calls.variants, variant, group, name)
    spans = spans_of(host.call_tree, calls.row[tried], child, group)
    lost = sum_by(group, np.where(found.call < 0, spans.own, 0), len(tried))
    duration = host.call_tree.duration[calls.row[tried]]
    different = found.disordered | (lost > _UNPAIRED * duration)
    found = Alignment(np.where(different[group], -1, found.call), found.disordered)
    whole[tried[different]] = DIFFERENT
    on_host = ~different & ~_calls_runtime(host, calls.row[tried])
    paired = np.flatnonzero(found.call >= 0)
    shown = portions(calls.variants, found.call[paired], group[paired], spans.own[paired])
    gaps = gap_portions(calls.variants, variant, spans, name, found, on_host)
    row_call = np.full(len(host), -1, np.int64)
    row_call[child[paired]] = found.call[paired]
    is_paired = row_call >= 0
    return _placement(
        _with(calls, whole),
        lookup(row_call, host.call_tree.nearest(is_paired)),
        tried,
        shown,
        gaps,
    )


def _with(calls: GraphCalls, whole: Int) -> GraphCalls:
    return GraphCalls(
        calls.row, calls.key, calls.region, calls.backward, calls.variant, whole, calls.variants
    )


def _placement(
    calls: GraphCalls, row_call: Int, tried: Int, shown: Portions, gaps: Portions
) -> Placement:
    part = np.concatenate([shown.part, gaps.part])
    return Placement(
        calls=calls,
        row_call=row_call,
        range=tried[np.concatenate([shown.group, gaps.group])],
        module=calls.variants.module[part],
        near=calls.variants.near[part],
        several=np.concatenate([shown.several, gaps.several]),
        time=np.concatenate([shown.time, gaps.time]),
    )


def call_names(host: HostRows, variants: Variants, string: StringIndex) -> Int:
    """Number of each text as the name of a call's row, -1 for none."""
    texts, strings = host.trace.strings, unique_inverse(string)
    numbers = [variants.names.get(row_name(texts[text]), -1) for text in strings[0].tolist()]
    return np.array(numbers, np.int64)[strings[1]]


def _children(host: HostRows, row: TreeRow) -> tuple[TreeRow, Int]:
    """Operators and annotations directly inside each range, and the range."""
    index = index_of(row, len(host))
    group = lookup(index, host.call_tree.parent)
    named = isin(host.kind, [int(EventCategory.OPERATOR), int(EventCategory.ANNOTATION)])
    child = np.flatnonzero((group >= 0) & named)
    return child, group[child]


def _holds(host: HostRows, row: TreeRow, nodes: Nodes, module_calls: ModuleCalls) -> Bool:
    """Whether calls of modules or evaluations of nodes are inside each range."""
    other = module_calls.module >= 0
    other[nodes.row] = True
    return _inside(host, row, other)


def _calls_runtime(host: HostRows, row: TreeRow) -> Bool:
    return _inside(host, row, host.kind == EventCategory.RUNTIME)


def _inside(host: HostRows, row: TreeRow, wanted: Bool) -> Bool:
    before = np.append(0, np.cumsum(wanted))
    return np.asarray(before[host.call_tree.subtree_end[row]] > before[row])
