"""Loops in Python over elements, samples or time, where the model runs on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.host.rows import Role, node_name
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, median, pair_key, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Int, TimeSet, TreeRow
from tb_hookview.formats import format_count
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import HostTime, Occurrence, Rule
from tb_hookview.rules.engine.syncs import READS
from tb_hookview.rules.evidence.host import computing, units, units_of_python_nodes
from tb_hookview.schema import Phase, module_label

_REPEATS = 32
"""Calls of one name under one parent, in one step, from which on they are a loop."""
_COPYING, _COPIES = ("aten::clone", "aten::set_"), 8
"""What copy.deepcopy calls for each tensor of a model, and how often it does for a small one."""
_ITERATION_NS, _LONG_ITERATION_NS = 2_000_000, 20_000_000
"""Longest iteration, by the median: of any, and of one that is in operators for half of it."""
_SMALL_NS = 50_000
"""Longest mean of operators for which calling counts for more than computing."""
_FAR = 10
"""An iteration of that many medians is none: something else came in between."""
_SHARE = 0.03
_READ = (
    "Read all values at once, with one tolist(), in place of item() for each. Compute on the whole "
    "tensor: comparisons, masks, sums and torch.where take the place of loops over elements."
)
_UNBIND = "aten::unbind"
_UPDATES = tuple(
    f"aten::{name}_" for name in ("add", "addcdiv", "addcmul", "copy", "div", "lerp", "mul", "sub")
)
_ELEMENT = "aten::select"
_UPDATE = (
    "Update all tensors in one call: torch._foreach_mul_, _foreach_add_, _foreach_lerp_. For an "
    "average of weights (EMA) use torch.optim.swa_utils.AveragedModel with "
    "multi_avg_fn=get_ema_multi_avg_fn(), for gradients torch.nn.utils.clip_grad_norm_."
)
_COPY = (
    "copy.deepcopy of a model or of its state_dict makes every tensor one by one: keep one copy, "
    "and update it with torch._foreach_copy_(copies, originals); or copy less often."
)
_CAVEAT = (
    "The gain takes one operator on everything to last as long as one iteration, which is right "
    "for small tensors. Where an iteration needs the previous result, only compiling or a fused "
    "operator saves something."
)


class _Loop(NamedTuple):
    module: int
    name: str
    repeats: int
    thread: int
    time: TimeSet
    updates: bool
    """Whether it updates whole tensors in place, outside of modules."""


def _find(context: Context) -> Iterator[Occurrence]:
    if not (context.on_host and context.steps.marked):
        return
    places: dict[tuple[int, str], list[_Loop]] = {}
    for loop in _loops(context):
        places.setdefault((loop.module, loop.name), []).append(loop)
    for group in places.values():
        host = _with_backward(context, group)
        held = context.steps.us_per_step(sum(intervals.length(each.time) for each in host))
        if held > _SHARE * context.steps.duration_us:
            yield _occurrence(context, group, host, held)


def _occurrence(
    context: Context, group: list[_Loop], host: tuple[HostTime, ...], held: float
) -> Occurrence:
    repeats, name = max(each.repeats for each in group), group[0].name
    module = group[0].module
    forward = context.steps.us_per_step(sum(intervals.length(each.time) for each in group))
    backward = "with what they made run in the backward " if held > forward else ""
    return Occurrence(
        place=f"a loop around {name}",
        module=module if module >= 0 else None,
        evidence=f"{name} up to {format_count(repeats, 'time')} in a row, "
        f"{format_count(sum(len(each.time) for each in group), 'loop')} in {context.steps.text}; "
        f"{backward}{context.part_text(held)}",
        host=host,
        saved=1 - 1 / repeats,
        examples=np.concatenate([each.time[:, 0] for each in group]),
        caveats=(_CAVEAT,),
        fix=_remedy(group),
    )


def _remedy(group: list[_Loop]) -> str:
    if group[0].name in READS:
        return _READ
    if group[0].name == "aten::set_" or (group[0].name in _COPYING and group[0].module < 0):
        return _COPY
    return _UPDATE if all(loop.updates for loop in group) else ""


def _name(context: Context, row: int) -> str:
    module = int(context.analysis.module_calls.module[row])
    if module < 0:
        return node_name(context.host.name(row))
    return f"calls of {module_label(context.analysis.modules.path[module])}"


def _loops(context: Context) -> Iterator[_Loop]:
    rows = _candidates(context)
    place = context.rows.siblings(rows)
    _, group = unique_inverse(pair_key(place, context.host.string[rows]))
    order = np.argsort(group, kind="stable")
    size = np.bincount(group)
    end = np.cumsum(size)
    by_parent: dict[int, list[TreeRow]] = {}
    for number in np.flatnonzero(size >= _least(context, rows[order[end - 1]])).tolist():
        mine = rows[order[end[number] - size[number] : end[number]]]
        by_parent.setdefault(int(place[order[end[number] - 1]]), []).append(mine)
    operators = np.flatnonzero(computing(context))
    for same in by_parent.values():
        if loop := _loop(context, operators, same):
            yield loop


def _least(context: Context, rows: TreeRow) -> Int:
    """Calls from which on each of some rows' names is a loop where it is."""
    copying = context.rows.named(*_COPYING)[rows]
    copying &= context.analysis.attribution.row_module[rows] < 0
    return np.where(copying, _COPIES, _REPEATS)


def _candidates(context: Context) -> TreeRow:
    """Operators and calls of modules, but in the optimizer and in nodes of torch's own."""
    analysis = context.analysis
    wanted = units(context) & (context.host.role != Role.NODE)
    wanted |= (analysis.module_calls.module >= 0) & context.rows.counted
    wanted &= analysis.row_node < 0
    wanted |= units_of_python_nodes(context)
    wanted &= analysis.phases.row != Phase.OPTIMIZER
    return np.flatnonzero(wanted & ~context.rows.inside(context.host.role == Role.DATA))


def _loop(context: Context, operators: TreeRow, same: list[TreeRow]) -> _Loop | None:
    """The loop of names that one parent repeats; None where its iterations are not small."""
    tree, found = context.call_tree, [each for rows in same if (each := _spans(context, rows))]
    found = [each for each in found if _is_small(context, operators, each)]
    if not found:
        return None
    found.sort(key=lambda each: int(tree.start[each[1][0]]))  # the first to begin names the loop
    time = intervals.normal(np.concatenate([spans for spans, _ in found]))
    thread = int(tree.thread[found[0][1][0]])
    lead = max((rows for _, rows in found), key=len)
    around = int(tree.parent[lead[0]])
    long = median(np.diff(tree.start[lead])) > _ITERATION_NS
    if long and not _is_filled(context, around, time, thread):
        return None
    module = int(context.analysis.attribution.row_module[around]) if around >= 0 else -1
    repeated = {int(context.host.string[rows[0]]) for _, rows in found}
    updates = not repeated.isdisjoint(context.rows.name_indices(*_UPDATES))
    updates &= repeated.isdisjoint(context.rows.name_indices(_ELEMENT))
    named = _read(context, [rows for _, rows in found], lead)
    name = _name(context, int(named[0]))
    if name in READS:
        time = _with_unbind(context, operators, time, thread)
    of_span = np.searchsorted(time[:, 0], tree.start[named], side="right")
    return _Loop(
        module,
        name,
        int(np.bincount(of_span).max()),
        thread,
        context.steps.cut(time),
        module < 0 and updates,
    )


def _with_unbind(context: Context, operators: TreeRow, time: TimeSet, thread: int) -> TimeSet:
    """The time of loops over values, with the unbind right before each, which makes the values."""
    tree = context.call_tree
    rows = operators[slice(*np.searchsorted(tree.thread[operators], [thread, thread + 1]))]
    place = np.searchsorted(tree.start[rows], time[:, 0]) - 1
    before = context.rows.outermost_operator_of(rows[np.maximum(place, 0)])
    made = (place >= 0) & isin(context.host.string[before], context.rows.name_indices(_UNBIND))
    spans = intervals.of(tree.start[before[made]], time[made, 0])
    return intervals.normal(np.concatenate([spans, time]))


def _is_filled(context: Context, around: int, time: TimeSet, thread: int) -> bool:
    """Whether half of a time is in rows straight inside of one row, and not in Python."""
    tree = context.call_tree
    rows = np.flatnonzero((tree.parent == around) & (tree.thread == thread))
    held = tree.duration[rows[intervals.contains(time, tree.start[rows])]].sum()
    return bool(2 * held >= intervals.length(time))


def _is_small(context: Context, operators: TreeRow, spans: tuple[TimeSet, TreeRow]) -> bool:
    """Whether operators within the iterations are so short that calling them counts."""
    tree, (time, begun) = context.call_tree, spans
    thread = tree.thread[begun[0]]
    begin, end = np.searchsorted(tree.thread[operators], [thread, thread + 1])
    rows = operators[begin:end]
    within = rows[intervals.contains(time, tree.start[rows])]
    return bool(len(within)) and float(tree.duration[within].mean()) <= _SMALL_NS


def _read(context: Context, repeated: list[TreeRow], lead: TreeRow) -> TreeRow:
    """What names a loop: the read of a value, where it has one."""
    reads = set(context.rows.name_indices(*READS))
    return next((r for r in repeated if int(context.host.string[r[0]]) in reads), lead)


def _spans(context: Context, rows: TreeRow) -> tuple[TimeSet, TreeRow] | None:
    """Time from each row to the next of its name, and the rows with a next one near."""
    start, end = context.call_tree.start[rows], context.call_tree.end[rows]
    pitch = np.diff(start)
    usual = median(pitch)
    near = pitch <= max(_FAR * usual, 1)
    if usual > _LONG_ITERATION_NS or int(near.sum()) + 1 < int(_least(context, rows[:1])[0]):
        return None
    until = np.append(np.where(near, start[1:], end[:-1]), end[-1])
    return intervals.of(start, until), rows


def _with_backward(context: Context, group: list[_Loop]) -> tuple[HostTime, ...]:
    """Time of loops, and of the nodes that their operators made."""
    analysis, nodes = context.analysis, context.analysis.nodes
    made = np.zeros(len(context.call_tree), bool)
    start: Int = lookup(context.call_tree.start, nodes.forward_op)
    thread = lookup(context.call_tree.thread, nodes.forward_op)
    for loop in group:
        inside = intervals.contains(loop.time, start)
        inside &= (nodes.forward_op >= 0) & (thread == loop.thread)
        made[nodes.row[inside]] = True
    times: dict[int, list[TimeSet]] = {}
    for loop in group:
        times.setdefault(loop.thread, []).append(loop.time)
    for each in context.rows.host_time(made & (analysis.row_node >= 0)):
        times.setdefault(each.thread, []).append(each.time)
    return tuple(
        HostTime(thread, intervals.normal(np.concatenate(time))) for thread, time in times.items()
    )


RULE = Rule(
    id="operator-loop",
    family="host",
    title="A Python loop calls small operators",
    description="Where the model runs on the CPU: 32 calls or more of one operator, or of one "
    "module, under one parent in a step (8 of aten::clone or aten::set_ outside of modules), at "
    "most 2 ms apart by the median, or 20 ms where half of that is in operators. Operators take at "
    "most 50 us by the mean, and the loop over 3% of a step, with the nodes that it made.",
    fix="Work on the whole tensor at once: a dimension for what the loop runs over, torch.vmap, "
    "padded or nested tensors, grouped matrix products. Where an iteration needs the "
    "previous one, use the fused form (nn.LSTM, nn.GRU, cumsum) or compile the loop "
    "with torch.compile.",
    reference="PyTorch, torch.vmap; pattern matcher ForLoopIndexing",
    confidence="medium",
    find=_find,
)
