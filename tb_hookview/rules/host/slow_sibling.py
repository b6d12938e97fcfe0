"""One of several modules of one class that takes longer than the others, on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
import numpy as np

from tb_hookview.analysis.host.rows import node_name
from tb_hookview.analysis.selection import Selection
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import grouped, isin, pair_key, unique, unique_inverse
from tb_hookview.arrays.nesting import innermost_at, lookup
from tb_hookview.arrays.sums import least_by
from tb_hookview.arrays.types import (
    Bool,
    Float,
    Int,
    Intervals,
    ModuleIndex,
    Nanoseconds,
    StringIndex,
)
from tb_hookview.formats import format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import HostTime, Occurrence, Rule
from tb_hookview.rules.evidence.host import siblings, unit_names, units, without_operators

_RATIO = 1.5
_MOST = 3 / 4
"""Part of the steps in which it takes that much longer: once is a process that took the core."""
_NOISE = 4.0
"""By how many times what the others differ among themselves."""
_NOISE_OF_TWO = 2
"""By how many times what a module differs by between two steps, where there are no more."""
_SHARE = 0.03
_FEW = 4
"""Steps below which chance slows a module in all of them, though hardly the same operators."""
_NAMED = 3
"""Operators in the evidence."""
_DIFFERS = 0.1
"""Part of the excess from which on an operator is named and charged."""
_COMPARE = (
    "Compare what it runs with a sibling in the view Modules: inputs of another size, an option, a "
    "hook, a branch that only it takes. Its operators that the siblings lack are the first to look "
    "at."
)
_SHAPES = "Record with record_shapes=True: sizes and types of inputs show another size, or float64."
_CALLED = (
    "Look for what calls it: a loop in a forward, a hook, another module that shares it. Keep its "
    "output where a second call gets the same input."
)
_UNKNOWN = 1 << 62
"""Noise of a single step: nanoseconds that nothing takes."""
_PYTHON = -1
"""In the place of an operator's name: time in no operator."""


class _Work(NamedTuple):
    """Operators, nodes and Python between them, in measured steps; columns of shape (k,)."""

    module: ModuleIndex
    name: StringIndex
    """String of its name; `_PYTHON` for time in no operator."""
    thread: Int
    time: Intervals

    def of(self, first: int, end: int) -> _Work:
        """What belongs to modules of consecutive numbers."""
        mine = np.flatnonzero((self.module >= first) & (self.module < end))
        return _Work(*(column[mine] for column in self))

    @property
    def length(self) -> Nanoseconds:
        """Of each, nanoseconds."""
        return np.asarray(self.time[:, 1] - self.time[:, 0])

    def steps(self, context: Context) -> Int:
        """Measured step in which each begins, shape (k,)."""
        begun = np.searchsorted(context.steps.windows[:, 0], self.time[:, 0], side="right") - 1
        return np.asarray(np.maximum(begun, 0))

    def by_name(self, context: Context) -> dict[int, float]:
        """Nanoseconds by name, all steps as the lower median: one may hold a hiccup."""
        names, place = unique_inverse(self.name)
        time = np.zeros((len(names), max(len(context.steps), 1)), np.int64)
        np.add.at(time, (place, self.steps(context)), self.length)
        usual = _lower_median(time) * time.shape[1]
        return dict(zip(names.tolist(), usual.tolist(), strict=True))


def _find(context: Context) -> Iterator[Occurrence]:
    found = list(_slower(context))
    yield from (one for one, _, certain in found if certain)
    if perhaps := [(excess, one) for one, excess, certain in found if not certain]:
        yield _perhaps(max(perhaps, key=lambda each: each[0])[1])


def _slower(context: Context) -> Iterator[tuple[Occurrence, float, bool]]:
    """Yield what takes longer, by how much, and whether that is certain."""
    if not (groups := siblings(context) if context.on_host and context.steps.marked else []):
        return
    work, every = _work(context), context.whole
    mean, whole = _by_step(context, work).mean(axis=1), context.steps.duration_us * 1000
    by_step = _by_step(every, work if every is context else _work(every))
    time, noise = by_step, np.zeros(len(by_step), np.int64)
    if len(every.steps) < _FEW:
        time, noise, whole = _fastest(context)
    least = _SHARE * whole
    found: dict[int, float] = {}
    calls, more = _calls(context, groups)
    parent, inside = context.analysis.modules.parent, more.astype(np.int64)
    compiled = context.analysis.compiled_modules
    for group in reversed(groups):  # what lies deeper first
        mixed = compiled[group].any() and not compiled[group].all()
        if mixed or _is_pyramid(_lower_median(time[group])):
            continue
        usual = np.median(time[group], axis=0)
        usual_calls = float(np.median(calls[group]))
        for module in group[
            lookup(inside, parent[group]) != 1
        ].tolist():  # or the one above is named
            own, end = time[module], int(context.analysis.modules.end[module])
            if more[module]:
                excess = float(_lower_median(own)) * (1 - usual_calls / float(calls[module]))
            else:
                excess = float(_lower_median(own - usual))
            others, chance = time[group[group != module]], int(noise[group].max())
            stands_out = chance < _UNKNOWN and _stands_out(own, usual, others)
            stands_out &= _often(by_step[module], by_step[group])
            if excess > least and (more[module] or stands_out):
                deeper = sum(more for inner, more in found.items() if module < inner < end)
                found[module] = max(excess - deeper, 0.0)
                if excess - deeper > least:
                    times = float(mean[module]), float(np.median(mean[group]))
                    count = (float(calls[module]), usual_calls) if more[module] else None
                    one = _occurrence(context, work, group, module, times, count)
                    yield one, excess, bool(more[module]) or excess > chance


def _stands_out(own: Nanoseconds, usual: Float, others: Nanoseconds) -> bool:
    """Whether the time of a module in each step is none that its siblings have by chance."""
    slower = _lower_median(own) > _RATIO * _lower_median(usual)
    return bool(slower and _lower_median(own - usual) > _NOISE * _scatter(others))


def _often(own: Nanoseconds, group: Nanoseconds) -> bool:
    """Whether a module takes that much longer than its group in most steps: of three, in each."""
    return bool(np.mean(own > _RATIO * np.median(group, axis=0)) >= _MOST)


def _lower_median(values: Nanoseconds | Float) -> Float:
    """Lower median of the last axis: of two steps the lower, as one may be a hiccup."""
    return np.asarray(np.sort(values)[..., (values.shape[-1] - 1) // 2], np.float64)


def _is_pyramid(times: Float) -> bool:
    """Whether times fall, or rise, from each to the next: inputs that are halved, or doubled."""
    ratio = times[1:] / np.maximum(times[:-1], 1)
    return bool((ratio >= _RATIO).all() or (ratio <= 1 / _RATIO).all())


def _scatter(time: Nanoseconds) -> float:
    """By how much modules differ from their median in each step, the median of all."""
    return float(np.median(np.abs(time - np.median(time, axis=0))))


def _work(context: Context) -> _Work:
    rows = np.flatnonzero(units(context))
    tree, module_of = context.call_tree, context.analysis.attribution.row_module
    parts = [
        _Work(
            module_of[rows],
            unit_names(context, rows),
            tree.thread[rows],
            np.stack([tree.start[rows], tree.end[rows]], axis=1),
        )
    ]
    for each in unique(context.analysis.steps.thread).tolist():
        span = without_operators(context, each)
        thread = np.full(len(span), each)
        around = innermost_at(tree, thread, span.sum(axis=1) // 2)
        name = np.full(len(span), _PYTHON)
        parts.append(_Work(lookup(module_of, around), name, thread, span))
    return _Work(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _by_step(context: Context, work: _Work) -> Nanoseconds:
    """Time of each module with those below it in each step, shape (m, s)."""
    known = np.flatnonzero(work.module >= 0)
    modules = context.analysis.modules
    time = np.zeros((len(modules), len(context.steps.windows)), np.int64)
    np.add.at(time, (work.module[known], work.steps(context)[known]), work.length[known])
    return modules.rolled_up(time)


def _fastest(context: Context) -> tuple[Nanoseconds, Nanoseconds, float]:
    """Time of each module with those below it, every operator as in its fastest step.

    The step that warms up counts too. Operators are the same by module, name and number in the
    step. Other processes may hold up one operator in both of two steps, but not to the same extent.

    Returns:
        These times, shape (m, 1); what a module may be slower by through chance, known of one or
        two steps, shape (m,); the sum of all operators.
    """
    steps, modules = context.analysis.steps, context.analysis.modules
    worked = np.flatnonzero(steps.counted | (np.arange(len(steps.name)) == steps.warm_up))
    every = Context(Selection(context.analysis, tuple(worked.tolist())), context.rules)
    work = _work(every)
    if len(worked) < 2:
        unknown = np.full(len(modules), _UNKNOWN)
        return _by_step(every, work), unknown, every.steps.duration_us * 1000
    time = np.zeros((len(modules) + 1, 1), np.int64)  # the last is of no module, index -1
    module, length = _always(work, work.steps(every), len(worked))
    np.add.at(time[:, 0], module, length)
    differs = np.ptp(_by_step(every, work), axis=1) if len(worked) == 2 else 0
    noise = np.full(len(modules), _NOISE_OF_TWO * differs)
    return modules.rolled_up(time[:-1]), noise, float(time.sum())


def _always(work: _Work, step: Int, steps: int) -> tuple[ModuleIndex, Nanoseconds]:
    """Module and least time of what runs in each of some steps."""
    _, same = unique_inverse(pair_key(work.module + 1, work.name + 1))
    order = np.lexsort((work.time[:, 0], step, same))
    group = pair_key(same, step)[order]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    number = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    _, lead, place = grouped(pair_key(same[order], number))
    least = least_by(place, work.length[order], len(lead))
    always = np.bincount(place, minlength=len(lead)) == steps
    return work.module[order][lead][always], least[always]


def _occurrence(
    context: Context,
    work: _Work,
    group: ModuleIndex,
    module: int,
    times: tuple[float, float],
    calls: tuple[float, float] | None,
) -> Occurrence:
    """What a module does more than the usual one of a group.

    Args:
        context: the trace.
        work: of all modules.
        group: its siblings and itself.
        module: the one that takes longer.
        times: of its own and the usual, means of the steps, nanoseconds.
        calls: its own and the usual per step, where it is called more often.
    """
    modules = context.analysis.modules
    mine = work.of(module, int(modules.end[module]))
    if calls is None:
        others = [
            work.of(each, int(modules.end[each])).by_name(context)
            for each in group.tolist()
            if each != module
        ]
        difference = (times[0] - times[1]) * len(context.steps)
        excess = _excess(mine.by_name(context), others, difference)
        charged = isin(mine.name, list(excess))
        saved = min(sum(excess.values()) / max(int(mine.length[charged].sum()), 1), 1.0)
        why = f"most of the difference is in {_named(context, excess)}"
    else:
        charged, saved = np.ones(len(mine.name), bool), 1 - calls[1] / calls[0]
        why = f"it is called {calls[0]:.3g} times per step, the others {calls[1]:.3g}"
    compare = _COMPARE if calls is None else _CALLED
    return Occurrence(
        place="",
        module=module,
        evidence=f"forward and backward take {context.us_text(times[0] / 1000)}, those of "
        f"{len(group) - 1} others of class {modules.module_class[module]} "
        f"{format_us(times[1] / 1000)} by the median; {why}",
        host=_spans(mine, charged),
        saved=saved,
        examples=mine.time[charged, 0],
        fix=compare if calls or context.with_shapes else f"{_COMPARE} {_SHAPES}",
    )


def _perhaps(found: Occurrence) -> Occurrence:
    """An occurrence that chance explains as well: of two steps, one of which slows others too."""
    return msgspec.structs.replace(
        found,
        title="One module may take longer than its siblings",
        host=(),
        latent="two steps are too few to rule out chance",
        fix=f"Record three steps or more. {found.fix}",
        confidence="low",
    )


def _calls(context: Context, groups: list[ModuleIndex]) -> tuple[Float, Bool]:
    """Calls of each module per step, and whether they are more than those of its siblings.

    Those that run again in the backward pass are not counted.
    """
    own = context.rows.counted & ~context.analysis.attribution.row_recompute
    module = context.analysis.module_calls.module[own]
    count = np.bincount(module[module >= 0], minlength=len(context.analysis.modules))
    more = np.zeros(len(count), bool)
    for group in groups:
        usual = np.median(count[group])
        more[group] = (usual > 0) & (count[group] > _RATIO * usual)
    return np.asarray(count / max(len(context.steps), 1)), more


def _excess(
    mine: dict[int, float], others: list[dict[int, float]], most: float
) -> dict[int, float]:
    """Time by name beyond what the median of the others takes; most first, if it matters.

    No more than `most` in all: medians of parts may add up to more.
    """
    more = {n: time - float(np.median([o.get(n, 0) for o in others])) for n, time in mine.items()}
    whole = sum(time for time in more.values() if time > 0)
    ranked = sorted(more.items(), key=lambda item: -item[1])
    part = min(max(most, 0.0) / whole, 1.0) if whole else 0.0
    return {name: part * time for name, time in ranked if time > _DIFFERS * whole}


def _named(context: Context, excess: dict[int, float]) -> str:
    texts = context.analysis.trace.strings
    return context.listed(
        ("Python" if name == _PYTHON else node_name(texts[name]), time)
        for name, time in list(excess.items())[:_NAMED]
    )


def _spans(work: _Work, charged: Bool) -> tuple[HostTime, ...]:
    return tuple(
        HostTime(thread, intervals.normal(work.time[charged & (work.thread == thread)]))
        for thread in unique(work.thread[charged]).tolist()
    )


RULE = Rule(
    id="slow-sibling",
    family="host",
    title="One module takes longer than its siblings",
    description="Where the model runs on the CPU: of three or more modules of one class, with "
    "equal parameters, at places that differ by a number alone, one takes 1.5 times as long as "
    "their median or longer in 3 of 4 measured steps (of fewer in each), by 3% of a step or more "
    "by the lower median of the steps, and by four times what the others differ by among "
    "themselves; of fewer than 4 steps also by what each operator takes in its fastest step, of "
    "two steps with low confidence where modules "
    "differ as much from one to the other; or one is called 1.5 times as "
    "often as their median or more, and the further calls take 3% of a step. "
    "Not where each takes 1.5 times as long as the next, or as the one before: such have inputs of "
    "other sizes by design; nor where only some run in compiled code. Forward and backward "
    "together.",
    fix=_COMPARE,
    reference="docs/how-to/tuning.md",
    confidence="medium",
    find=_find,
)
