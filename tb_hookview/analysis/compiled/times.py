"""Host time of the calls of compiled graphs, row by row and gap by gap.

    graph    [                                    ]      a row's time belongs to its call; between
    rows        [mm  ]      [mm  ]  [copy_]              rows run the kernels that leave none
    slot     0         1              2       2

Generated C++ kernels on a CPU leave no row. The time between two rows that were paired belongs to
the silent calls between them, by weight. A graph that calls the runtime of a device has no silent
calls. What no silent call is in is the region's own: code around two calls serves both.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.compiled.alignment import Alignment
from tb_hookview.analysis.compiled.graphs import Variants
from tb_hookview.arrays.joins import isin
from tb_hookview.arrays.nesting import CallTree
from tb_hookview.arrays.split import ranges, split
from tb_hookview.arrays.types import Bool, Int, Nanoseconds, TreeRow


class Portions(Struct, frozen=True):
    """Time that parts of calls took; arrays of shape (p,)."""

    group: Int
    """The range, or whatever else was split."""
    part: Int
    """Index into the parts of `Variants`."""
    time: Nanoseconds
    several: Bool
    """Whether other modules took a share of the same time."""


class Spans(Struct, frozen=True):
    """Ranges with the rows directly inside of them, which share the time of each exactly."""

    row: TreeRow
    """Ranges, shape (r,)."""
    child: TreeRow
    """Rows directly inside, shape (k,), ascending; so are their ranges."""
    group: Int
    """Range of each."""
    own: Nanoseconds
    """Time of each child, without what another one of its range took before."""
    before: Nanoseconds
    """Time in no child before each."""
    after: Nanoseconds
    """Time in no child after the last one of each range, shape (r,)."""


def spans_of(call_tree: CallTree, row: TreeRow, child: TreeRow, group: Int) -> Spans:
    """Cut ranges at the bounds of the rows in them."""
    since, until = call_tree.start[row], call_tree.end[row]
    end = np.minimum(call_tree.end[child], until[group])
    # Neighbours overlap by rounding only, and the later one ends later.
    first = np.append(True, np.diff(group) != 0)[: len(group)]
    reached = np.where(first, since[group], np.append(0, end)[: len(end)])
    start = np.maximum(call_tree.start[child], reached)
    end = np.maximum(end, start)
    last = since.copy()
    np.maximum.at(last, group, end)
    return Spans(row, child, group, end - start, start - reached, until - last)


def portions(variants: Variants, call: Int, group: Int, time: Nanoseconds) -> Portions:
    """Split times, each of one call, by the parts of these calls."""
    part, place = ranges(*variants.parts(call))
    shares = split(time, place, variants.weight[part])
    size = np.diff(np.append(np.searchsorted(place, np.arange(len(call))), len(place)))
    return Portions(group[place], part, shares, (size > 1)[place])


def gap_portions(
    variants: Variants, variant: Int, spans: Spans, name: Int, found: Alignment, on_host: Bool
) -> Portions:
    """Split the gaps of ranges by the parts of the calls that they are of.

    Args:
        variants: the calls.
        variant: of each range, shape (r,).
        spans: the ranges and their rows.
        name: number of each row's name, -1 for none.
        found: rows paired with calls.
        on_host: whether each range calls no runtime of a device, shape (r,).
    """
    gaps = _gaps(variants, variant, spans, found)
    call, place = ranges(
        gaps.first, np.where((gaps.time > 0) & on_host[gaps.group], gaps.end, gaps.first)
    )
    width = len(variants.names) + 1
    shown = spans.group * width + name
    silent = ~isin(gaps.group[place] * width + variants.name[call], shown)
    return _shared(variants, gaps, call[silent], place[silent])


class _Gaps(Struct, frozen=True):
    """Time before, between and after the paired rows of ranges; arrays of shape (s,)."""

    group: Int
    time: Nanoseconds
    first: Int
    """First call that may have run there."""
    end: Int
    """The one after the last."""


def _shared(variants: Variants, gaps: _Gaps, call: Int, place: Int) -> Portions:
    """Split gaps among the parts of calls, each with the gap it ran in, ascending."""
    part, at = ranges(*variants.parts(call))
    place = place[at]
    has = np.zeros(len(gaps.time), bool)
    has[place] = True
    dense = np.cumsum(has) - 1
    shares = split(gaps.time[has], dense[place], variants.weight[part])
    module, size = variants.module[part], len(gaps.time)
    low, high = np.full(size, np.iinfo(np.int64).max), np.full(size, -2)
    np.minimum.at(low, place, module)
    np.maximum.at(high, place, module)
    return Portions(gaps.group[place], part, shares, (low < high)[place])


def _gaps(variants: Variants, variant: Int, spans: Spans, found: Alignment) -> _Gaps:
    paired = found.call >= 0
    count = np.bincount(spans.group[paired], minlength=len(variant))
    offset = np.cumsum(count + 1) - (count + 1)
    before: Int = np.cumsum(paired) - paired  # paired rows before each
    earlier = np.cumsum(count) - count
    time = np.zeros(int((count + 1).sum()), np.int64)
    np.add.at(time, (offset - earlier)[spans.group] + before, spans.before)
    np.add.at(time, offset + count, spans.after)
    first, end = np.zeros(len(time), np.int64), np.zeros(len(time), np.int64)
    at = (offset - earlier)[spans.group[paired]] + before[paired]
    first[offset] = variants.first_call[variant]
    first[at + 1] = found.call[paired] + 1
    end[offset + count] = variants.first_call[variant + 1]
    end[at] = found.call[paired]
    return _Gaps(np.repeat(np.arange(len(variant)), count + 1), time, first, end)
