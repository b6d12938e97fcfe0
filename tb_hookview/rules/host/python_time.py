"""Python between operators, where the model runs on the CPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.host.activity import (
    CLOSURE,
    OPTIMIZER,
    closure_of,
    cut_by_activity,
    named_activity,
)
from tb_hookview.analysis.host.rows import MODULE_ROLES, node_name
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.nesting import innermost_at, lookup
from tb_hookview.arrays.types import Bool, Nanoseconds, TimeSet, TreeRow
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import HostTime, Occurrence, Rule
from tb_hookview.rules.evidence.host import computing, without_operators
from tb_hookview.schema.terms import module_label

_LONG_NS = 500_000
"""Gaps from this length on are no pace of operators: none takes that long to call."""
_SHARE = 0.03
"""Part of a step from which on the gaps of one place count."""
_MOST = 3 / 4
"""Part of the steps that has what recurs; what fewer have may be processes that took the core."""
_FEW = 2
"""Gaps per step up to which they may be slices of other processes."""
_PART = 0.05
"""Part of all such time; gaps are cut where what takes longer begins or ends."""
_OFTEN = 3
"""Times that something recurs after as many steps each, so that it is no chance."""
_NAMES = 4
"""Most operators before the gaps of one place that are listed."""
_UNNAMED = (
    "Record with with_stack=True, which names Python functions. Look for time.sleep, files, the "
    "network and logging, loops in Python or numpy, locks, and native code that records no "
    "operators (packages of AOTInductor, extensions)."
)
_NAMED = (
    "Move out of the step what has the same result each time. Write loops over elements as "
    "operators on tensors. Log, evaluate and write files less often, or in a thread."
)
_LOADING = (
    "If the next batch is loaded or prepared there, let DataLoader workers do so (num_workers "
    "above 0) while this step runs."
)
_STARTING = (
    "Each new iterator of the DataLoader starts its workers: pass persistent_workers=True, which "
    "keeps them from one epoch to the next."
)
_LARGE, _OF_HOST = 1 << 20, 0
"""Bytes from which on freeing a block may return its pages to the system (glibc's M_MMAP_THRESHOLD:
128 KiB to 32 MiB), and `Memory.device_type` of the host's memory."""
_FREEING = "freeing of large tensors"
_REUSE = (
    "The system takes back the pages of large tensors, and has to clear new ones. Reuse buffers "
    "(out=, inplace activations), work on smaller batches, or preload jemalloc or tcmalloc, which "
    "keep pages."
)
_OF_OPTIMIZER = (
    "Keep hooks and logging out of the optimizer's step. Its own Python goes through every "
    "parameter: have fewer of them, or compile the step."
)
_CLOSURE = (
    "The optimizer calls it: with Lightning it is the whole training step, with what is done "
    "before and after the model."
)
_NEXT_TO = ", before or after its closure"
_EITHER = "It is a part of the closure that the optimizer calls, or of the optimizer itself."


class _Place(NamedTuple):
    """What tells the gaps of one place from others."""

    module: int
    """Row of `Analysis.modules`, -1 for none."""
    where: str
    named: bool
    """Whether the trace names what the thread was in; else operators around the gaps name them."""


def _find(context: Context) -> Iterator[Occurrence]:
    if not (context.on_host and context.steps.marked and computing(context).any()):
        return  # where no operator was recorded none has to have run
    every = context.whole
    for thread in unique(context.analysis.steps.thread).tolist():
        time = _within_calls(every, thread)
        time = time[time[:, 1] - time[:, 0] >= _LONG_NS]
        held = context.steps.us_per_step(intervals.length(context.steps.cut(time)))
        if held > _SHARE * context.steps.duration_us:
            parts = cut_by_activity(context.host, thread, time, _PART)
            yield from _of_thread(context, every, thread, parts)


def _within_calls(context: Context, thread: int) -> TimeSet:
    """Gaps of a thread, cut where a module is called or returns: marks of many calls are no gap."""
    tree = context.call_tree
    called = isin(context.host.role, [int(role) for role in MODULE_ROLES])
    rows = np.flatnonzero(called & (tree.thread == thread))
    moments = unique(np.concatenate([tree.start[rows], tree.end[rows]]))
    return intervals.cut(without_operators(context, thread), moments)


def _of_thread(
    context: Context, every: Context, thread: int, time: TimeSet
) -> Iterator[Occurrence]:
    threads = np.full(len(time), thread)
    row = innermost_at(context.call_tree, threads, time.sum(axis=1) // 2)
    module = lookup(context.analysis.attribution.row_module, row)
    name = np.where(_frees(every, thread, time), _FREEING, _names(every, thread, time)).tolist()
    between, last = _between(every, thread, time)
    groups: dict[_Place, list[int]] = {}
    paths = context.analysis.modules.path
    for gap, (number, what, where) in enumerate(zip(module.tolist(), name, between, strict=True)):
        own = number >= 0 and what == module_label(paths[number])
        place = _Place(number, "forward" if own else what or where, bool(what))
        groups.setdefault(place, []).append(gap)
    for place, gaps in groups.items():
        found = HostTime(thread, context.steps.cut(time[gaps]))
        if _usual(context, found.time) > _SHARE * context.steps.duration_us:
            chance = _by_chance(every, HostTime(thread, time[gaps]), row[gaps])
            after = _after(place, (last[gap] for gap in gaps))
            yield _occurrence(context, found, place, after, chance)


def _names(context: Context, thread: int, time: TimeSet) -> list[str]:
    """What a thread is in at each time; of an optimizer, whether it is in its closure."""
    closures = context.analysis.phases.closures
    called = intervals.contains(closures, time.sum(axis=1) // 2)
    edges = closures.ravel()
    begun, over = np.searchsorted(edges, time[:, 0]), np.searchsorted(edges, time[:, 1], "right")
    found = named_activity(context.host, np.full(len(time), thread), time)
    for gap, what in enumerate(found):
        if called[gap]:
            found[gap] = closure_of(what)
        elif begun[gap] < over[gap] and what.startswith(OPTIMIZER):
            found[gap] = f"{what}{_NEXT_TO}"
    return found


def _frees(context: Context, thread: int, time: TimeSet) -> Bool:
    """Whether most of each gap comes after a large block of the host is freed in it."""
    memory = context.analysis.trace.memory
    large = (memory.device_type == _OF_HOST) & (memory.amount <= -_LARGE)
    freed = np.sort(memory.time[large & (memory.thread == thread)])
    first = np.searchsorted(freed, time[:, 0])
    inside = np.append(freed, np.iinfo(np.int64).max)[first]
    return np.asarray(inside < time.sum(axis=1) // 2)


def _usual(context: Context, time: TimeSet) -> float:
    """Lower median of the steps, microseconds: what comes once is a process that took the core.

    Of what comes in every n-th step, the mean.
    """
    each = intervals.lengths_within(time, context.steps.windows)
    usual = each.mean() if _every(each) else np.sort(each)[(len(each) - 1) // 2]
    return float(usual) / 1000


def _every(each: Nanoseconds) -> int:
    """After how many steps a time recurs, three times at least; 0 where it is in no or all steps.

    Args:
        each: the time in each step; of those between no more than a quarter of the longest.
    """
    steps = np.flatnonzero(2 * each > each.max())
    apart = unique(np.diff(steps))
    regular = len(steps) >= _OFTEN and len(apart) == 1 and apart[0] > 1
    return int(apart[0]) if regular and not (4 * np.delete(each, steps) > each.max()).any() else 0


def _by_chance(context: Context, found: HostTime, row: TreeRow) -> str:
    """Phrase of what speaks for other processes that took the core, "" where time recurs.

    Args:
        context: all measured steps.
        found: the gaps of one module and function.
        row: what each is in, -1 for none: few gaps recur where as much of it has run before them.
    """
    time, tree, steps = found.time, context.call_tree, context.steps
    each = intervals.lengths_within(time, steps.windows)
    if _every(each):
        return ""
    seen = np.count_nonzero(each)
    if seen < _MOST * len(steps):
        return f"; seen in {seen} of {steps.text} only"
    if len(time) > _FEW * len(steps):
        return ""
    begun = tree.start[computing(context) & (tree.thread == found.thread)]
    before = np.searchsorted(begun, time[:, 0]) - np.searchsorted(begun, lookup(tree.start, row))
    place = np.where(row >= 0, before, -1)
    same = sum(_usual(context, time[place == each]) for each in unique(place).tolist())
    most = steps.us_per_step(intervals.length(time)) / 2
    if same >= min(most, _SHARE * steps.duration_us):
        return ""
    part = f"only {format_us(same)}" if same else "none"
    return f"; {part} of it at the same places in most steps"


def _occurrence(
    context: Context, found: HostTime, place: _Place, after: str, chance: str
) -> Occurrence:
    held, longest = intervals.length(found.time), np.diff(found.time).max() / 1000
    share = context.steps.us_per_step(held) / context.steps.duration_us
    every = _every(intervals.lengths_within(found.time, context.steps.windows))
    doubt = chance and f"{chance}: other processes may take the core"
    doubt = f"; every {every} steps" if every and not doubt else doubt
    return Occurrence(
        place=place.where,
        module=place.module if place.module >= 0 else None,
        evidence=f"for {context.us_text(context.steps.us_per_step(held))}, {share:.0%} of it, no "
        f"operator ran: {format_count(len(found.time), 'time')} in {context.steps.text}, "
        f"{format_us(longest)} at most{after}{doubt}",
        host=(found,),
        examples=found.time[:, 0],
        confidence="low" if chance else "high" if place.module >= 0 or place.named else "medium",
        fix=_remedy(context, place.where, place.named),
        title="Freeing large tensors takes CPU time" if place.where == _FREEING else "",
    )


def _after(place: _Place, last: Iterable[str]) -> str:
    """Phrase of the operators before the gaps of one place, the most frequent first; "" for one."""
    names = [name for name, _ in Counter(filter(None, last)).most_common()]
    if place.named or not place.where.startswith("before ") or len(names) < 2:
        return ""
    *most, least = names if len(names) <= _NAMES else [*names[: _NAMES - 1], "others"]
    return f"; after {', '.join(most)} or {least}"


def _remedy(context: Context, where: str, named: bool) -> str:
    if where == _EPOCH:
        return _STARTING
    if where == _FREEING:
        return _REUSE
    if where == _FIRST:
        return f"{_LOADING} {_UNNAMED}"
    if where.startswith(OPTIMIZER) and not where.endswith(_NEXT_TO):
        return _OF_OPTIMIZER if context.with_stacks else f"{_OF_OPTIMIZER} {_UNNAMED}"
    of_closure = _CLOSURE if where.startswith(CLOSURE) else _EITHER
    remedy = f"{of_closure} {_NAMED}" if "closure" in where else _NAMED
    return remedy if named and context.with_stacks else f"{remedy} {_UNNAMED}"


_FIRST = "before the first operator of the step"
_EPOCH = "before the first batch of an iterator of the DataLoader"
_WITH_WORKERS = "#_MultiProcessingDataLoaderIter"
_SEED = "aten::random_"
"""Operator next to last before an iterator starts its workers: `item()` reads the seed."""


def _between(context: Context, thread: int, time: TimeSet) -> tuple[list[str], list[str]]:
    """Where each gap is by the operators around it, and the name of the one before, "" for none.

    What comes before the first operator of a step is one place whatever ends the step before it. In
    a step of several iterations, so is what comes before that operator of the same module.
    """
    tree = context.call_tree
    rows = np.flatnonzero(computing(context) & (tree.thread == thread))
    outermost = context.rows.outermost_operator_of(rows)
    outermost = np.where(outermost >= 0, outermost, rows)
    texts = context.analysis.trace.strings
    string = context.host.string[outermost].tolist()
    module = context.analysis.attribution.row_module[rows].tolist()
    before, after = (np.searchsorted(tree.start[rows], edge) for edge in time.T)
    begins = isin(after, np.searchsorted(tree.start[rows], context.steps.windows.ravel()))
    lasts = [node_name(texts[string[row - 1]]) if row else "" for row in before.tolist()]
    coming = [node_name(texts[string[row]]) if row < len(rows) else "" for row in after.tolist()]
    keys = [
        (module[row] if name and module[row] >= 0 else last, name)
        for row, last, name in zip(after.tolist(), lasts, coming, strict=True)
    ]
    loop = {keys[gap] for gap in np.flatnonzero(begins).tolist()}
    first = isin(time[:, 0], context.steps.windows[:, 0]).tolist()
    shown = ["" if is_first else last for is_first, last in zip(first, lasts, strict=True)]
    pairs = list(zip(shown, coming, strict=True))
    names = _place_names(pairs, [key in loop for key in keys])
    loads = tree.start[context.rows.passing(lambda name: _WITH_WORKERS in name)]
    for gap in np.flatnonzero(isin(time[:, 1], loads) & (before > 0)).tolist():
        seed = np.searchsorted(outermost, outermost[before[gap] - 1]) - 1
        if seed >= 0 and texts[string[seed]] == _SEED:
            names[gap] = _EPOCH
    return names, lasts


def _place_names(pairs: list[tuple[str, str]], between_steps: list[bool]) -> list[str]:
    """Names of gaps by the operators around them, "" for none: before the first and after the last
    step, where a gap is called as those between two steps are."""
    loop = {pair for pair, is_one in zip(pairs, between_steps, strict=True) if is_one}
    pairs = [(last, coming or _coming_after(last, loop)) for last, coming in pairs]
    before: dict[str, set[str]] = {}
    for (last, coming), is_one in zip(pairs, between_steps, strict=True):
        if is_one and last and coming:
            before.setdefault(coming, set()).add(last)
    found = []
    for (last, coming), is_one in zip(pairs, between_steps, strict=True):
        lasts = before.get(coming, set()) if is_one else {last}
        if len(lasts) == 1:
            found.append(f"between {min(lasts)} and {coming}")
        elif lasts:
            found.append(f"before {coming}")
        else:
            found.append(f"after {last}" if last else _FIRST)
    return found


def _coming_after(last: str, loop: set[tuple[str, str]]) -> str:
    """Operator that begins each step, or each after one that ends as this; "" for unknown."""
    known = {pair for pair in loop if all(pair)}
    names = {coming for _, coming in known}
    if len(names) > 1:
        names = {coming for each, coming in known if each == last}
    return min(names) if len(names) == 1 else ""


RULE = Rule(
    id="python-time",
    family="host",
    title="Python between operators takes CPU time",
    description="Where the model runs on the CPU: times of 0.5 ms or more in which the training "
    "thread runs no operator, no loader and no collective, over 3% of a step by module and "
    "function, by the lower median of the steps (by their mean, if every n-th has it). Where "
    "the trace names no function, operators before and after tell places apart; what comes before "
    "the first operator of a step is one place, whatever ends the step before; so are times of a "
    "module that mostly follow the free of 1 MiB or more of the host's memory. Confidence is low "
    "where less than three quarters of the measured steps have such times and not every n-th, or "
    "where few times are at other places in each step and what recurs is below that share.",
    fix=f"{_NAMED} {_UNNAMED}",
    reference="PyTorch Performance Tuning Guide",
    find=_find,
    advice=("host-cpu-tuning",),
)
