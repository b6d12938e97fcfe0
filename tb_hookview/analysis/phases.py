"""Forward, backward, optimizer, data and other: the phase of each host row.

A host row is in the phase of the first of these that holds:

1. inside an autograd node's evaluation: backward
2. inside the optimizer (3.), and forward by 6., as a closure is: forward
3. inside an `Optimizer.*` annotation, a marked call that scales or clips gradients, or an update
   that is not marked (`unmarked_updates`), but not in a closure (`_closures`): optimizer
4. inside a `DataLoader` annotation: data
5. inside a range by which a pipeline marks its backward, or FSDP its end (`phase_ranges`): backward
6. inside such a range of its forward or of torch's wrappers (DDP, FSDP), a module's call, or an
   operator that is or holds one that made a node, evaluated or not: forward

The rest is other. The forward is unknown where nothing outside of nodes holds by 6.: a recomputed
forward does not show the one whose nodes are evaluated after the recording. A sequence number by
itself is no sign of the forward: it is the number the *next* node will get, and `loss.item()` has
one too; that a later operator has a higher one is. Where no row has one, names decide
(`autograd/forward_by_name.py`).
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.autograd.nodes import forward_by_name, made_nodes
from tb_hookview.analysis.device.events import DeviceEvents, of_graph
from tb_hookview.analysis.host.activity import phase_ranges
from tb_hookview.analysis.host.rows import MARK_ROLES, HostRows, Role
from tb_hookview.analysis.modules.tree import ModuleCalls
from tb_hookview.analysis.unmarked_updates import find_unmarked_updates
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import Bool, Int, NodeIndex, StepIndex, TimeSet, TreeRow
from tb_hookview.schema.terms import Phase
from tb_hookview.trace import EventCategory

_UPDATING = (Role.OPTIMIZER, Role.FUNCTION_MARK)
REASONS = (
    Phase.BACKWARD,
    Phase.FORWARD,
    Phase.OPTIMIZER,
    Phase.DATA,
    Phase.BACKWARD,
    Phase.FORWARD,
    Phase.OTHER,
)
"""Phase by each reason, first match first."""


class Phases(Struct, frozen=True):
    """Phase of each host row, and the host time of each phase."""

    row: Int
    """`Phase` of each row of the call tree, shape (n,)."""
    reason: Int
    """Index into `REASONS` of each row of the call tree."""
    time: tuple[TimeSet, ...]
    """Host time of each phase up to FORWARD.

    The sets are disjoint: a moment belongs to the first phase that any thread is in.
    """
    closures: TimeSet
    """Time inside of optimizers in which a closure runs."""
    rows_known: bool
    """Whether operators, annotations or calls of modules say what ran where."""
    known: Bool
    """Whether the trace has rows that would show each phase but OTHER, in which the rest is; (p,).

    `rows_known` shows one, of the forward all of it. The backward is shown by operators, nodes,
    marks or ranges, the optimizer where no gradient is accumulated or some optimizer is marked.
    """
    unmarked: Bool
    """Rows of updates in no optimizer that is marked, shape (n,)."""


def find_phases(
    host: HostRows, row_node: NodeIndex, module_calls: ModuleCalls, forward_ops: TreeRow
) -> Phases:
    """Find the phase of every row of the call tree.

    Args:
        host: host rows.
        row_node: node inside which each row is, -1 outside the backward pass; shape (n,).
        module_calls: calls of modules.
        forward_ops: forward operators of the nodes, -1 for none.
    """
    updating = isin(host.role, [int(role) for role in _UPDATING])
    forward, forward_known = _forward(host, row_node, module_calls, forward_ops)
    unmarked = find_unmarked_updates(host, updating, forward, row_node >= 0)
    updating |= unmarked
    closure = forward & (host.call_tree.nearest_above(updating) >= 0)
    ahead, back = phase_ranges(host)
    forward_known |= bool(ahead.any())
    tests = (row_node >= 0, closure, updating, host.role == Role.DATA, back, forward | ahead)
    called, closures = _closures(host, row_node, closure, updating)
    reason = np.full(len(host), len(tests), np.int64)
    taken, times = intervals.EMPTY, [intervals.EMPTY] * len(Phase)
    for number, test in enumerate(tests):
        if not test.any():
            continue
        inside = host.call_tree.nearest(test) >= 0
        whole = host.call_tree.time_of(test)
        if test is updating:
            inside &= ~called
            whole = intervals.subtract(whole, closures)
        reason[inside & (reason == len(tests))] = number
        phase = REASONS[number]
        times[phase] = _union(times[phase], intervals.subtract(whole, taken))
        taken = _union(taken, whole)
    marked = isin(host.role, [int(role) for role in MARK_ROLES])
    operator, noted = (
        bool((host.kind == kind).any())
        for kind in (EventCategory.OPERATOR, EventCategory.ANNOTATION)
    )
    rows_known = operator or noted or bool((module_calls.module >= 0).any())
    known = np.full(Phase.OTHER, rows_known)
    known[Phase.FORWARD] &= forward_known
    known[Phase.BACKWARD] &= operator or bool((row_node >= 0).any() or (back | marked).any())
    known[Phase.OPTIMIZER] &= bool(updating.any() or not (host.role == Role.GRADIENT_SINK).any())
    return Phases(
        row=np.array(REASONS)[reason],
        reason=reason,
        time=tuple(times[: Phase.OTHER]),
        closures=closures,
        rows_known=rows_known,
        known=known,
        unmarked=unmarked,
    )


def _closures(
    host: HostRows, row_node: NodeIndex, forward: Bool, updating: Bool
) -> tuple[Bool, TimeSet]:
    """Rows and time of closures that optimizers call, but for optimizers' calls within them.

    A closure is over after the last node before the next forward: its time that is no forward and
    no backward is not the optimizer's. The first begins with the optimizer's step, each other one
    (LBFGS) with its forward at the latest: what it does before that is taken for the optimizer's.

    Args:
        host: host rows.
        row_node: node inside which each row is, -1 outside the backward pass; shape (n,).
        forward: rows of the forward inside of optimizers.
        updating: rows of optimizers.
    """
    tree = host.call_tree
    above = tree.nearest_above(updating)
    rows = np.flatnonzero(forward & (row_node < 0))
    nodes = np.flatnonzero((row_node >= 0) & (lookup(row_node, tree.parent) < 0))
    nodes = nodes[np.argsort(tree.start[nodes], kind="stable")]
    called, times = np.zeros(len(host), bool), [intervals.EMPTY]
    around = unique(above[rows])
    for row in around[host.role[around] == Role.OPTIMIZER].tolist():
        inside = np.arange(row + 1, tree.subtree_end[row])
        own = rows[slice(*np.searchsorted(rows, [row, tree.subtree_end[row]]))]
        within = slice(*np.searchsorted(tree.start[nodes], [tree.start[own[0]], tree.end[row]]))
        whole = _alternating(tree, row, own, nodes[within])
        inside = inside[(above[inside] == row) & intervals.contains(whole, tree.start[inside])]
        called[inside] = ~updating[inside]
        nested = inside[updating[inside]]
        times.append(intervals.subtract(whole, tree.time_of(nested)))
    return called, intervals.normal(np.concatenate(times))


def _alternating(tree: CallTree, optimizer: int, forward: TreeRow, nodes: TreeRow) -> TimeSet:
    """Time from each forward to the end of its backward, the last node before the next forward.

    Args:
        tree: the call tree.
        optimizer: row of the optimizer's step, with which the first of these times begins.
        forward: rows of forwards on one thread, by start.
        nodes: nodes that begin after the first of them, by start.
    """
    before = np.searchsorted(tree.start[nodes], tree.start[forward])
    first = np.flatnonzero(np.diff(before, prepend=-1))
    end = np.maximum.reduceat(tree.end[forward], first)
    follows = np.searchsorted(before[first], np.arange(len(nodes)), side="right") - 1
    np.maximum.at(end, follows, tree.end[nodes])
    start = tree.start[forward[first]]
    start[0] = tree.start[optimizer]
    return intervals.of(start, end)


def _forward(
    host: HostRows, row_node: NodeIndex, module_calls: ModuleCalls, forward_ops: TreeRow
) -> tuple[Bool, bool]:
    """Rows of the forward, and whether it is known."""
    forward = (module_calls.module >= 0) & (module_calls.role != Role.LABEL)
    made = np.flatnonzero(made_nodes(host, row_node))
    forward |= _operators_up_from(host, np.concatenate([forward_ops, made]))
    if forward.any() or (host.sequence >= 0).any():
        return forward, bool((forward & (row_node < 0)).any())
    forward, unknown = forward_by_name(host, row_node)
    return forward, bool(forward.any()) and not unknown


def _union(first: TimeSet, second: TimeSet) -> TimeSet:
    return intervals.normal(np.concatenate([first, second]))


def _operators_up_from(host: HostRows, forward_ops: TreeRow) -> Bool:
    """The given operators, and the operators around them."""
    operator = host.kind == EventCategory.OPERATOR
    result = np.zeros(len(host), bool)
    hop = unique(forward_ops[forward_ops >= 0])
    while len(hop):
        result[hop] = operator[hop]
        hop = unique(host.call_tree.parent[hop])
        hop = hop[hop >= 0]
    return result


# Replayed graphs that the trace places in no pass, and what is unknown because of them.
#
# The replay of a captured graph (CUDA, HIP) is one launch, and its kernels have no operators. In a
# module's call or a node's evaluation, they are that one's. Launched elsewhere, they may be of any
# pass that the host is not seen to launch in the same step:
#
#     host     [GraphLaunch]                      forward, backward and optimizer are unknown
#     host     [GraphLaunch]   [Optimizer.step]   forward and backward are
#     host     [forward] [nodes] [GraphLaunch]    the optimizer is
#
# A forward without a backward is unknown too: inference replays most of it and launches the rest.


PASSES = (Phase.FORWARD, Phase.BACKWARD, Phase.OPTIMIZER)
"""Phases that a graph may hold."""
_OPTIMIZER_STEP = "Optimizer.step#"
"""The optimizer's other annotation, `zero_grad`, stays outside of graphs."""


class ReplayedGraphs(Struct, frozen=True):
    """What graphs ran in no known pass, and the passes that this may be of."""

    unplaced: Bool
    """Device events of graphs that were launched in no pass, shape (d,)."""
    unknown: Bool
    """Whether such a graph may hold work of each phase in each step, shape (steps + 1, phases).

    The last row is of what lies outside of all steps.
    """


def find_replayed_graphs(
    host: HostRows, events: DeviceEvents, phases: Phases, step: StepIndex, steps: int
) -> ReplayedGraphs:
    """Find the graphs that were launched in no known pass.

    Args:
        host, events, phases: of the trace.
        step: of each device event, -1 for none; shape (d,).
        steps: number of the trace's steps.
    """
    phase = lookup(phases.row, events.launch)
    unplaced = (phase == Phase.OTHER) & of_graph(host, events, np.arange(len(events)))
    unknown = np.zeros((steps + 1, len(Phase)), bool)
    if not unplaced.any():
        return ReplayedGraphs(unplaced, unknown)
    updates = host.is_named(lambda text: text.startswith(_OPTIMIZER_STEP))
    in_update = lookup(host.call_tree.inside(updates | phases.unmarked), events.launch) > 0
    shows = (phase == Phase.FORWARD) | (phase == Phase.BACKWARD)
    shows |= (phase == Phase.OPTIMIZER) & in_update
    seen = np.zeros_like(unknown)
    seen[step[shows], phase[shows]] = True
    seen[:, Phase.FORWARD] &= seen[:, Phase.BACKWARD]
    for each in PASSES:
        unknown[step[unplaced], each] = True
    return ReplayedGraphs(unplaced, unknown & ~seen)
