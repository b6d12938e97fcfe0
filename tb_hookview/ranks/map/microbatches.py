"""Time that a rank works on each microbatch of a step, forward and backward.

Where ranges of a schedule name microbatches, it is theirs. Else calls of the outermost modules are
counted in each step: the third is microbatch 2, and so are the nodes that were made in it. Time
held in messages is left out: it is that of other stages. All of it is the host's.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.collectives.calls import CollectiveCalls
from tb_hookview.analysis.collectives.names import POINT_TO_POINT
from tb_hookview.analysis.host.pipeline_ranges import microbatch_ranges
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import dense_rank, first_of_each
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int, Nanoseconds, StepIndex, TimeSet, TreeRow


class MicrobatchTimes(Struct, frozen=True):
    """Work of a rank, one row per step, stage, microbatch and direction; shape (k,)."""

    step: StepIndex
    stage: Int
    """As the schedule numbers it, -1 where it does not."""
    number: Int
    """Microbatch within the step, from 0."""
    backward: Bool
    time: Nanoseconds


def find_microbatches(analysis: Analysis, calls: CollectiveCalls, held: TimeSet) -> MicrobatchTimes:
    """Find what a rank works on microbatches.

    Args:
        analysis: of its trace.
        calls: its collectives.
        held: time in which it does nothing but wait for other ranks.
    """
    if len(analysis.device_events) or set(POINT_TO_POINT).isdisjoint(calls.kind):
        none = np.zeros(0, np.int64)
        return MicrobatchTimes(none, none, none, none > 0, none)
    ranges = microbatch_ranges(analysis.host)
    if not len(ranges.row):
        return _by_calls(analysis, held)
    return _summed(analysis, held, ranges.row, ranges.stage, ranges.number, ranges.backward)


def _by_calls(analysis: Analysis, held: TimeSet) -> MicrobatchTimes:
    """Of calls of the outermost modules, and of the nodes that were made in them."""
    is_call = analysis.module_calls.module >= 0
    outer = is_call & (analysis.call_tree.nearest_above(is_call) < 0) & (analysis.row_node < 0)
    calls, nodes = np.flatnonzero(outer), analysis.nodes
    number = _in_order(analysis, calls, analysis.module_calls.module[calls])
    of_row = np.full(len(outer), -1)
    of_row[calls] = number
    made_in = lookup(of_row, lookup(analysis.call_tree.nearest(outer), nodes.forward_op))
    mine = (made_in >= 0) & (nodes.around < 0)
    rows = np.concatenate([calls, nodes.row[mine]])
    numbers = np.concatenate([number, made_in[mine]])
    return _summed(
        analysis, held, rows, np.full(len(rows), -1), numbers, np.arange(len(rows)) >= len(calls)
    )


def _in_order(analysis: Analysis, rows: TreeRow, group: Int) -> Int:
    """Place of each row among those of its group in its step, by time."""
    start = analysis.call_tree.start[rows]
    step = analysis.steps.at(start)
    order = np.lexsort((start, step, group))
    begins = np.r_[True, (np.diff(group[order]) != 0) | (np.diff(step[order]) != 0)][: len(rows)]
    first = np.maximum.accumulate(np.where(begins, np.arange(len(rows)), 0))
    place = np.empty(len(rows), np.int64)
    place[order] = np.arange(len(rows)) - first
    return place


def _summed(
    analysis: Analysis, held: TimeSet, rows: TreeRow, stage: Int, number: Int, backward: Bool
) -> MicrobatchTimes:
    unnumbered = np.flatnonzero(number < 0)
    number = number.copy()
    group = 2 * stage[unnumbered] + backward[unnumbered]
    number[unnumbered] = _in_order(analysis, rows[unnumbered], group)
    tree = analysis.call_tree
    span = np.stack([tree.start[rows], tree.end[rows]], axis=1)
    time = tree.duration[rows] - intervals.lengths_within(held, span)
    step = analysis.steps.at(span[:, 0])
    place = dense_rank(step, stage, number, backward.astype(np.int64))
    first = first_of_each(place)
    total = np.zeros(len(first), np.int64)
    np.add.at(total, place, time)
    known = step[first] >= 0
    chosen = first[known]
    return MicrobatchTimes(
        step[chosen], stage[chosen], number[chosen], backward[chosen], total[known]
    )
