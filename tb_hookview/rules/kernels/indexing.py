"""Rules about indexing: sums by an index, and loops over the samples of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.joins import isin, mask_of, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int, StringIndex, TreeRow
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.host import Inputs, with_inputs, with_value
from tb_hookview.schema import Phase

# An index sums what it puts in one place: sorted on a device, one by one on the CPU.


_SORTED = (
    *("aten::_index_put_impl_", "aten::index_put", "aten::index_put_"),
    "aten::embedding_dense_backward",
)
_KERNELS = (
    r"(?i)radix_?sort|merge_?sort|indexing_backward_kernel|compute_grad_weight|sum_and_scatter"
    r"|krn_partial"
)
_SORTS = r"(?i)radix_?sort|merge_?sort"
_SHARE = 0.03
_SHARE_OF_MODULE = 0.01
"""Part of device work from which a module has a finding of its own."""
_SAVED = 0.5
_HOST_SHARE = 0.03
"""Part of a step from which on it counts on the CPU."""
_ACCUMULATE = 3
"""Place of index_put's input of that name."""
_BACKWARD = "IndexPutBackward0"


class _Kind(NamedTuple):
    """What values have an index for, where the CPU puts them."""

    what: str
    saved: float
    """What index_add saves on the CPU, as timed on one thread of a Xeon (torch 2.13, 512 to 4,096
    rows of 64 and 256 columns): 0.51 to 0.59 of index_put's time with an index for each row, and
    0.88 to 0.99 with one for each element."""
    fix: str
    caveat: str = "The saving is that of index_add as it was timed elsewhere."


_ROW = _Kind(
    " with accumulate=True and an index for each row",
    0.55,
    "Sum rows by index_add or scatter_add in place of index_put with accumulate=True. Select them "
    "by index_select in place of x[index], whose backward is such an index_put.",
)
_ELEMENT = _Kind(
    " with accumulate=True and an index for each element",
    0.9,
    "Sum whole rows by out.index_add(0, row, values) in place of index_put with accumulate=True "
    "and an index for each element; where the places differ from column to column, by scatter_add.",
)
_UNKNOWN = _Kind(
    "",
    1.0,
    f"Where it sums (accumulate=True, or the backward of x[index]): {_ROW.fix} Record with "
    "record_shapes=True, which shows whether it does.",
    "Without shapes of inputs the trace does not show whether it sums.",
)


def _on_host(context: Context) -> Iterator[Occurrence]:
    """Yield an occurrence for each module whose sums by an index take long on the CPU."""
    puts = context.rows.named(*_SORTED[:3])
    if not puts.any():
        return
    modules = context.analysis.attribution.row_module
    for kind, sums in _sums(context, puts & context.rows.counted):
        work = context.rows.inside(sums)
        if kind is not _ROW:
            work |= _gathered(context, sums)
        for module in unique(modules[work]).tolist():
            mine = work & (modules == module)
            held = context.rows.host_us(mine)
            if held > _HOST_SHARE * context.steps.duration_us:
                yield _occurrence(context, module, mine, held, kind)


def _sums(context: Context, puts: Bool) -> Iterator[tuple[_Kind, Bool]]:
    """Yield those that accumulate, by what they have an index for; all where no shapes show it."""
    if not context.with_shapes:
        # An optimizer (Rprop) replaces values where a mask holds, and sums nothing.
        yield _UNKNOWN, puts & (context.analysis.phases.row != Phase.OPTIMIZER)
        return
    sums = puts & with_value(context, puts, _ACCUMULATE, "True")
    by_element = with_inputs(context, sums, _has_index_of_elements)
    yield _ROW, sums & ~by_element
    yield _ELEMENT, by_element


def _has_index_of_elements(inputs: Inputs) -> bool:
    """Whether values are put one by one into a tensor of several dimensions."""
    return len(inputs) > 2 and len(inputs[0][0]) > 1 and len(inputs[2][0]) == 1


def _gathered(context: Context, puts: Bool) -> Bool:
    """Evaluations of the nodes of some index_put: they select the gradient by the same index."""
    nodes = context.rows.nodes_of(puts)
    return nodes & context.rows.containing(_BACKWARD) & context.rows.counted


def _occurrence(context: Context, module: int, rows: Bool, held: float, kind: _Kind) -> Occurrence:
    puts = rows & context.rows.named(*_SORTED[:3])
    shown = puts if puts.any() else rows  # of the backward alone, where the recording begins there
    return Occurrence(
        place="aten::index_put",
        module=module if module >= 0 else None,
        evidence=f"aten::index_put{kind.what}, with its backward {context.part_text(held)}",
        host=context.rows.host_time(rows),
        saved=kind.saved,
        claims_gain=kind is not _UNKNOWN,
        examples=context.call_tree.start[shown],
        title="Values are put one by one by index_put",
        fix=kind.fix,
        caveats=(kind.caveat,),
    )


def _on_devices(context: Context) -> Iterator[Occurrence]:
    asking = context.rows.named(*_SORTED)
    if not asking.any() or not context.device_events.matching(_SORTS).any():
        return
    asked = context.work_of(asking)
    found = asked & context.device_events.matching(_KERNELS)
    sorts = (asked & context.device_events.matching(_SORTS)).any()
    if context.device_events.share(found) <= _SHARE or not sorts:
        return
    launch = context.analysis.device_events.launch
    modules = lookup(context.analysis.attribution.row_module, launch)
    for module in unique(modules[found]).tolist():
        mine = found & (modules == module)
        if context.device_events.share(mine) <= _SHARE_OF_MODULE:
            modules[mine] = -1
    for module in unique(modules[found]).tolist():
        yield _sorting(context, module, found & (modules == module))


def _sorting(context: Context, module: int, found: Bool) -> Occurrence:
    share, time = context.device_events.share(found), context.device_events.us_per_step(found)
    return Occurrence(
        place="index_put, embedding",
        module=module if module >= 0 else None,
        evidence=f"{context.us_text(time)} ({share:.0%} of device work) in kernels that "
        "sort indices and sum by them",
        wasted=np.flatnonzero(found),
        saved=_SAVED,
        caveats=("Assumes that half of this time can be saved.",),
    )


INDEX_PUT_SORT_KERNELS = Rule(
    id="index-put-sort-kernels",
    family="kernels",
    title="The backward of indexing sorts its indices",
    description="Sorting kernels and those that sum by sorted indices inside "
    "aten::_index_put_impl_ or aten::embedding_dense_backward, in more than 3% of device work; a "
    "finding for each module with more than 1%, and one for the rest. "
    "Where the model runs on the CPU aten::index_put with accumulate=True, or any "
    "without recorded shapes, with the nodes of those with an index for each element, in more than "
    "3% of a step.",
    fix="Where results may differ from run to run, use index_select or gather, whose backward adds "
    "atomically unless torch.use_deterministic_algorithms is on. Avoid indices that repeat often. "
    "Detach what is selected and needs no gradient.",
    reference="PyTorch issue 15245",
    confidence="medium",
    find=lambda context: _on_host(context) if context.on_host else _on_devices(context),
)


# A Python loop that takes samples out of a batch, one by one.


_LEADS = ("aten::select", "aten::slice", "aten::unbind")
_GATHERED = ("aten::stack", "aten::cat")
_REPEATS = 10
_FACTOR = np.uint64(6364136223846793005)
"""Odd, so that no weight of a place in an iteration becomes 0."""
_SOON = 3
"""Operators after the last iteration, one of which gathers the results."""


class _Siblings(NamedTuple):
    """Operators and annotations, ordered by what is around them and by start."""

    row: TreeRow
    around: Int
    """As `RowContext.siblings`."""
    name: StringIndex


class _Loop(NamedTuple):
    first: int
    """Rows of its first operator and of the one after its last iteration."""
    end: int
    repeats: int


def _find_python_loop_over_batch(context: Context) -> Iterator[Occurrence]:
    launched = mask_of(context.analysis.device_events.launches, len(context.call_tree))
    places: dict[tuple[int, int], list[_Loop]] = {}
    for loop in _loops(context):
        if launched[loop.first : loop.end].any():
            module = context.rows.module_of(loop.first)
            places.setdefault((module, loop.repeats), []).append(loop)
    for (module, repeats), group in places.items():
        yield _one(context, module, repeats, group)


def _one(context: Context, module: int, repeats: int, group: list[_Loop]) -> Occurrence:
    inside = np.zeros(len(context.call_tree), bool)
    for loop in group:
        inside[loop.first : loop.end] = True
    start = context.call_tree.start[[loop.first for loop in group]]
    length = context.call_tree.start[[loop.end for loop in group]] - start
    lead = context.host.name(group[0].first)
    return Occurrence(
        place=f"a loop around {lead}",
        module=module,
        evidence=f"{repeats} times in a row the same operators, each time from {lead} on, and then "
        "a stack or cat; this takes the host "
        f"{context.us_text(context.steps.us_per_step(length.sum()))}",
        gaps=context.gaps.at(inside, Cause.LAUNCH),
        examples=start,
        latent="the device did not idle in it in this trace, but its kernels work on one sample at "
        "a time",
    )


def _loops(context: Context) -> Iterator[_Loop]:
    leads, gathered = context.rows.name_indices(*_LEADS), set(context.rows.name_indices(*_GATHERED))
    if not leads or not gathered:
        return
    siblings = _siblings(context)
    lead = isin(siblings.name, leads)
    same = siblings.around[1:] == siblings.around[:-1]
    begins = lead.copy()
    begins[1:] &= ~(lead[:-1] & same)  # of several leads in a row the first
    first = np.flatnonzero(begins)
    if len(first) < _REPEATS:
        return
    sequence, around = _sequences(siblings, first), siblings.around[first]
    alike = (sequence[1:] == sequence[:-1]) & (around[1:] == around[:-1])
    like = np.concatenate([[False], alike, [False]])
    edges = np.flatnonzero(like[1:] != like[:-1])
    for start, last in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        # What follows the loop belongs to its last iteration, which therefore differs.
        if last - start + 2 < _REPEATS or last + 1 == len(first):
            continue
        names, ending = _names(siblings, first, last), _names(siblings, first, last + 1)
        size = len(names)
        if ending[:size] == names and gathered & set(ending[size : size + _SOON]):
            row = siblings.row
            end = int(row[first[last + 1] + size])
            yield _Loop(int(row[first[start]]), end, last - start + 2)


def _siblings(context: Context) -> _Siblings:
    row = np.flatnonzero(context.host.operators_and_annotations & context.rows.counted)
    around = context.rows.siblings(row)
    order = np.argsort(around, kind="stable")  # rows of one parent are by start already
    return _Siblings(row[order], around[order], context.host.string[row[order]])


def _sequences(siblings: _Siblings, first: Int) -> Int:
    """A number for each iteration: equal for iterations of the same names."""
    size = np.diff(np.append(first, len(siblings.row)))
    within = np.arange(first[0], len(siblings.row)) - np.repeat(first, size)
    inside = siblings.around[first[0] :] == np.repeat(siblings.around[first], size)
    weight = np.cumprod(np.full(size.max(), _FACTOR))
    value = (siblings.name[first[0] :].astype(np.uint64) + np.uint64(1)) * weight[within] * inside
    return np.asarray(np.add.reduceat(value, first - first[0]).view(np.int64))


def _names(siblings: _Siblings, first: Int, iteration: int) -> list[int]:
    """Names of one iteration."""
    begin = int(first[iteration])
    end = int(first[iteration + 1]) if iteration + 1 < len(first) else len(siblings.row)
    inside = siblings.around[begin:end] == siblings.around[begin]
    return [int(name) for name in siblings.name[begin:end][inside]]


PYTHON_LOOP_OVER_BATCH = Rule(
    id="python-loop-over-batch",
    family="kernels",
    title="Python loop over the samples of a batch",
    description="At least ten times in a row the same operators under one parent, each time led by "
    "aten::select, slice or unbind, that launch kernels and end in aten::stack or aten::cat.",
    fix="Work on the whole batch at once: write it with a batch dimension, use torch.vmap, pad or "
    "nest tensors of unequal size, or group matrix products.",
    reference="Pattern matcher ForLoopIndexing; PyTorch, torch.vmap",
    find=_find_python_loop_over_batch,
)
