"""How much of compiled graphs was placed on modules."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.compiled.calls import WHOLE
from tb_hookview.analysis.compiled.placement import Placement
from tb_hookview.analysis.modules.attribution import EVIDENCE
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays.joins import index_of, isin
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool
from tb_hookview.arrays.units import to_us
from tb_hookview.schema import CompiledGraphs, PlacedTime

COMPILED = ("compiled", "compiled_split", "compiled_near")


def compiled_summary(selection: Selection) -> CompiledGraphs | None:
    """Calls of graphs and their time; None where no graph was called, or there is no map."""
    compiled = selection.analysis.compiled
    if compiled is None or not len(compiled.placement.calls.row):
        return None
    placement = compiled.placement
    calls = placement.calls
    chosen = selection.rows[calls.row]
    whole = np.bincount(calls.whole[chosen & (calls.whole >= 0)], minlength=len(WHOLE)).tolist()
    return CompiledGraphs(
        calls=int(chosen.sum()),
        placed=int((chosen & placement.placed).sum()),
        whole_by_reason={reason: n for reason, n in zip(WHOLE, whole, strict=True) if n},
        forward=_placed(selection, placement, chosen & ~calls.backward),
        backward=_placed(selection, placement, chosen & calls.backward),
    )


def _placed(selection: Selection, placement: Placement, wanted: Bool) -> PlacedTime:
    """Host and device time of some calls, and the parts that modules have."""
    analysis = selection.analysis
    row = placement.calls.row
    mine = wanted[placement.range] & (placement.module >= 0)
    leaf: Bool = analysis.modules.end == np.arange(len(analysis.modules)) + 1
    on_leaf = mine & (lookup(leaf.astype(np.int64), placement.module) > 0)
    index = index_of(row, len(analysis.host))
    around = lookup(index, analysis.call_tree.nearest(index >= 0))
    launched = lookup(around, analysis.device_events.launch)
    events = analysis.device_parts.of(
        selection.device_events
        & (lookup(wanted.astype(np.int64), launched) > 0)
        & ~analysis.device_attribution.recompute
    )
    placed = isin(events.evidence, [EVIDENCE.index(name) for name in COMPILED])
    known = analysis.launches_known
    return PlacedTime(
        host_us=to_us(analysis.call_tree.duration[row[wanted]].sum()),
        placed_host_us=to_us(placement.time[mine].sum()),
        leaf_host_us=to_us(placement.time[on_leaf].sum()),
        split_host_us=to_us(placement.time[mine & placement.several].sum()),
        near_host_us=to_us(placement.time[mine & placement.near].sum()),
        device_us=to_us(events.time.sum()) if known else None,
        placed_device_us=to_us(events.time[placed].sum()) if known else None,
    )
