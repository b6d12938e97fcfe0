"""Rules about the optimizer: its kernels, zeroed gradients, gradients of embeddings."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique, unique_counts
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.devices import ADDS
from tb_hookview.rules.evidence.host import (
    Inputs,
    compiled_code,
    computing,
    inputs_of,
    units,
    with_inputs,
)
from tb_hookview.schema import Phase

# The optimizer updates one parameter after the other.


_UPDATED = ("add", "addcdiv", "addcmul", "mul", "div", "sqrt", "lerp", "sub", "maximum", "copy")
_UPDATES = tuple(f"aten::{name}{in_place}" for name in _UPDATED for in_place in ("", "_"))
_FUSED = ("aten::_fused_", "fbgemm::")
_FUSE = (
    "Pass fused=True to the optimizer (Adam, AdamW, SGD, Adagrad): it updates a parameter in one "
    "pass. foreach=True loops over the parameters on the CPU."
)
_LISTS = (
    "Pass foreach=True to the optimizer, and keep few parameter groups: only Adam, AdamW, SGD and "
    "Adagrad have a fused form. Put an optimizer of your own on torch._foreach_* functions, or "
    "compile its step."
)
_PASSES = (
    "The gain takes a fused update to last as long as two of the operators that it replaces, on "
    "average: the update, and the counters of steps. Python between operators is taken to stay."
)
_FUSIBLE = tuple(f"Optimizer.step#{name}.step" for name in ("Adam", "AdamW", "SGD", "Adagrad"))
"""Steps of torch's optimizers that have a fused form."""
_OTHERS = ("Optimizer.step#LBFGS.step", "Optimizer.step#SparseAdam.step")
"""They take all parameters as one vector, or sparse gradients: they have no form on lists."""
_SHARE = 0.03
"""Part of a step from which on Optimizer.step counts on the CPU."""
_MANY = 20
"""Updates a step; a model of a few parameters has nothing to group."""


def _find_optimizer_single_tensor(context: Context) -> Iterator[Occurrence]:
    fusible = context.rows.named(*_FUSIBLE) & context.rows.counted
    in_hooks = context.analysis.row_node >= 0  # often of one parameter each: nothing to group
    stepping = context.rows.beginning("Optimizer.step#") & context.rows.counted
    stepping &= ~(context.rows.named(*_OTHERS) | in_hooks)
    stepping = fusible if context.on_host else fusible | stepping
    if not stepping.any():
        return
    inside = context.rows.inside(stepping) & (context.analysis.phases.row == Phase.OPTIMIZER)
    inside |= context.rows.inside(stepping & in_hooks)
    if context.on_host:
        yield from _on_host(context, stepping, inside)
        return
    grouped = context.rows.beginning("aten::_foreach_", *_FUSED)
    if (inside & (grouped | context.rows.containing("multi_tensor"))).any():
        return
    work, rows = _kernels(context, inside), inside & context.rows.named(*_UPDATES)
    eager = context.rows.inside(rows) & ~compiled_code(context)
    updates = work & context.device_events.launched_by(eager)
    count, whole = int(np.count_nonzero(updates)), int(np.count_nonzero(work))
    if not count or count < _MANY * len(context.steps) or 2 * count < whole:
        return
    gaps = context.gaps.at(eager, Cause.LAUNCH)
    yield Occurrence(
        place="Optimizer.step",
        evidence=f"{count / len(context.steps):.0f} kernels{context.each} by operators on single "
        "tensors, "
        "none by operators on lists; the host spends "
        f"{context.us_text(_stepping_us(context, stepping))} in Optimizer.step, "
        f"these kernels take {format_us(context.device_events.us_per_step(updates))}",
        gaps=gaps[lookup(updates, context.analysis.gaps.device_event[gaps]) == 1],
        examples=context.device_events.starts(updates),
        latent="the device does not idle because of it in this trace; an optimizer that is fused "
        "or on lists launches fewer kernels",
        fix=_LISTS if (rows & ~context.rows.inside(fusible)).any() else "",
    )


def _kernels(context: Context, rows: Bool) -> Bool:
    """Kernels that some rows launch, but collectives: neither copies nor memsets."""
    work = context.device_events.launched_by(rows) & context.device_events.counted
    collective = context.device_events.of_kinds("communication")
    return np.asarray(work & context.analysis.device_events.is_kernel & ~collective)


def _on_host(context: Context, stepping: Bool, inside: Bool) -> Iterator[Occurrence]:
    """Yield an occurrence where the CPU runs an operator per parameter and part of the update.

    So do operators on lists, which loop over them on the CPU.
    """
    if (inside & context.rows.beginning(*_FUSED)).any():
        return
    updates = inside & context.rows.named(*_UPDATES)
    rows = np.flatnonzero(updates)
    rows = rows[context.call_tree.nearest_above(updates)[rows] < 0]
    counts = unique_counts(context.host.string[rows])[1]
    total, held = int(counts.sum()), _stepping_us(context, stepping)
    if total < _MANY * len(context.steps) or held <= _SHARE * context.steps.duration_us:
        return
    passes = total / np.sort(counts)[(len(counts) - 1) // 2]  # most run once for each parameter
    yield Occurrence(
        place="Optimizer.step",
        evidence=f"{total / len(context.steps):.0f} operators{context.each} on single "
        f"tensors, about {passes:.0f} for each parameter, none that does a whole update; "
        f"Optimizer.step takes {context.part_text(held)}",
        count=total,
        host=context.rows.host_time(inside & computing(context)),
        saved=max(0.0, 1 - 2 / passes),
        examples=context.call_tree.start[stepping],
        confidence="medium",
        caveats=(_PASSES,),
        fix=_FUSE,
    )


def _stepping_us(context: Context, stepping: Bool) -> float:
    """Time in some steps of optimizers, microseconds per step.

    That of their closures is not in it, nor kernel loading, which happens once.
    """
    loads = context.analysis.kernel_loads
    once = intervals.of(loads.start, loads.end)
    others = intervals.normal(np.concatenate([context.analysis.phases.closures, once]))
    parts = [intervals.subtract(each.time, others) for each in context.rows.host_time(stepping)]
    return context.steps.us_per_step(sum(map(intervals.length, parts)))


OPTIMIZER_SINGLE_TENSOR = Rule(
    id="optimizer-single-tensor",
    family="optimizer",
    title="The optimizer updates parameters one by one",
    description="At least 20 kernels per step in Optimizer.step by aten::add_, mul_, addcdiv_, "
    "sqrt and the like outside of compiled code, half or more of all kernels there (copies and "
    "collectives are none), and no aten::_foreach_*, aten::_fused_* or multi-tensor kernel. "
    "The cost is the idle time before their launches. "
    "Where the model runs on the CPU at least 20 such operators, none of them fused, and over 3% "
    "of a step in Optimizer.step without its closures: of Adam, AdamW, SGD and Adagrad, which have "
    "a fused form. So of optimizers that step in hooks of gradients, during the backward. Not for "
    "LBFGS, which updates all parameters as one vector, nor for SparseAdam.",
    fix="Pass fused=True, or foreach=True, to the optimizer, and keep few parameter groups. Put an "
    "optimizer of your own on torch._foreach_* functions, or compile its step.",
    reference="torch.optim documentation: foreach, fused; pattern matcher OptimizerSingleTensor",
    find=_find_optimizer_single_tensor,
)


# Adam updates by operators on lists of tensors, which pass over memory once each.


_ADAM = ("Optimizer.step#Adam.step", "Optimizer.step#AdamW.step")
_FEWER = 7 / 18
"""Tensors as large as the parameters that are read or written: a parameter, its gradient and both
moments by a fused update; 3, 2, 3, 2, 2, 2 and 4 by lerp_, mul_, addcmul_, sqrt, div_, add_ and
addcdiv_. An H200 took 361 us for 48 layers with the one, 1025 us with the other."""
_SHARE_ON_LISTS = 0.03
"""Part of the device work from which on the update counts."""


def _find_optimizer_not_fused(context: Context) -> Iterator[Occurrence]:
    stepping = context.rows.named(*_ADAM) & context.rows.counted
    if not stepping.any():
        return
    inside = context.rows.inside(stepping)
    if (inside & context.rows.beginning("aten::_fused_")).any():
        return
    lists = context.rows.inside(inside & context.rows.beginning("aten::_foreach_"))
    work = context.device_events.launched_by(lists) & context.device_events.counted
    share = context.device_events.share(work)
    if share < _SHARE_ON_LISTS:
        return
    count = np.count_nonzero(work) / len(context.steps)
    yield Occurrence(
        place="Optimizer.step",
        evidence=f"{count:.0f} kernels{context.each} of operators on lists (aten::_foreach_*) take "
        f"{format_us(context.device_events.us_per_step(work))}: {share:.0%} of device work",
        wasted=np.flatnonzero(work),
        saved=1 - _FEWER,
        caveats=(
            "The gain takes these kernels to be limited by memory: a fused update reads and writes "
            "7 tensors as large as the parameters, operators on lists 18.",
        ),
    )


OPTIMIZER_NOT_FUSED = Rule(
    id="optimizer-not-fused",
    family="optimizer",
    title="The optimizer runs foreach kernels, not the fused one",
    description="Kernels of aten::_foreach_* operators in steps of Adam or AdamW take 3% of device "
    "work or more, and no aten::_fused_* operator runs there.",
    fix="Pass fused=True to the optimizer: one kernel updates parameter and moments, and no "
    "temporary tensors as large as the parameters are made.",
    reference="torch.optim documentation: fused",
    confidence="medium",
    find=_find_optimizer_not_fused,
)


# Gradients are filled with zeros instead of dropped.


_SINK = "AccumulateGrad"
_SHARE_ZERO_GRAD_FILL = 0.005
"""Part of a step from which on this counts on the CPU: it is no noise, and one word ends it."""


def _find_zero_grad_fill(context: Context) -> Iterator[Occurrence]:
    zeroing = context.rows.beginning("Optimizer.zero_grad#")
    if not zeroing.any():
        return
    inside = context.rows.inside(zeroing)
    zeros = inside & context.rows.inside(context.rows.named("aten::zero_", "aten::_foreach_zero_"))
    fills = context.device_events.launched_by(zeros) & context.device_events.counted
    if context.on_host:
        yield from _on_host_zero_grad_fill(context, zeros)
    if not fills.any():
        return
    adding = context.rows.inside(context.rows.containing(_SINK)) & context.rows.named(*ADDS)
    adds = context.work_of(adding)
    filled, added = int(np.count_nonzero(fills)), int(np.count_nonzero(adds))
    # With gradients summed over several backward passes only the first sum of each is in vain.
    share = min(1.0, filled / added) if added else 0.0
    wasted, duration = np.flatnonzero(fills | adds), context.analysis.device_events.duration
    time = np.where(fills[wasted], 1.0, share) * duration[wasted]
    yield Occurrence(
        place="Optimizer.zero_grad",
        evidence=f"{format_count(filled / len(context.steps), 'fill')}{context.each} take "
        f"{format_us(context.device_events.us_per_step(fills))}, adding to those zeros in the "
        f"backward {format_us(context.device_events.us_per_step(adds) * share)}",
        gaps=context.gaps.at(zeros, Cause.LAUNCH),
        wasted=wasted,
        wasted_ns=time.astype(np.int64),
        examples=context.device_events.starts(fills),
    )


def _on_host_zero_grad_fill(context: Context, zeros: Bool) -> Iterator[Occurrence]:
    """Yield an occurrence where the CPU fills gradients, and adds to them in the backward."""
    filling = zeros & context.rows.named("aten::zero_", "aten::_foreach_zero_")
    adding = context.rows.inside(context.rows.containing(_SINK)) & context.rows.named("aten::add_")
    filled = int(np.count_nonzero(filling & context.rows.counted))
    added = np.flatnonzero(adding & context.rows.counted)
    adding[added[filled:]] = False  # a sum for each fill; further backwards add to what is there
    fill, add = context.rows.host_us(filling), context.rows.host_us(adding)
    if fill + add > _SHARE_ZERO_GRAD_FILL * context.steps.duration_us:
        yield Occurrence(
            place="Optimizer.zero_grad",
            evidence=f"{format_count(filled / len(context.steps), 'fill')}{context.each} take "
            f"{format_us(fill)}, adding to those zeros in the backward {format_us(add)}",
            host=context.rows.host_time(filling | adding),
            examples=context.call_tree.start[filling & context.rows.counted],
        )


ZERO_GRAD_FILL = Rule(
    id="zero-grad-fill",
    family="optimizer",
    title="Gradients are filled with zeros instead of set to None",
    description="Device events of aten::zero_ or aten::_foreach_zero_ inside Optimizer.zero_grad. "
    "Additions in AccumulateGrad are counted with it, as many as there are fills. Where the model "
    "runs on the CPU those operators themselves, over 0.5% of a step.",
    fix="Call zero_grad(set_to_none=True), the default since torch 2.0. With "
    "DistributedDataParallel also pass gradient_as_bucket_view=True.",
    reference="PyTorch, Performance Tuning Guide; pattern matcher GradNotSetToNone",
    find=_find_zero_grad_fill,
)


# Gradients of embeddings that are, or are made, dense, where the model runs on the CPU.


_SHARE_DENSE_EMBEDDING_GRADIENT = 0.03
_BACKWARD = ("aten::embedding_dense_backward", "aten::_embedding_bag_dense_backward")
_SPARSE = ("aten::embedding_sparse_backward", "aten::_embedding_bag_sparse_backward")
_KEEP = (
    "Leave the gradient sparse: no to_dense(), and SGD without weight decay, Adagrad or SparseAdam "
    "for the embedding's weight. clip_grad_norm_ takes dense gradients alone: scale what "
    "grad.coalesce().values() holds."
)
_FILLS = ("aten::zeros", "aten::zero_", "aten::fill_")
_FILLING = 0.15
"""Part of its time in which such an operator fills zeros, from which on few rows are used."""
_CAVEAT = (
    "The optimizer then reads and writes every row, too, which is not in the figures: with sparse "
    "gradients it skips what no index names."
)


def _find_dense_embedding_gradient(context: Context) -> Iterator[Occurrence]:
    yield from _made_dense(context)
    yield from _filled(context)


def _made_dense(context: Context) -> Iterator[Occurrence]:
    """Yield an occurrence for sparse gradients made dense, and for the updates of every row."""
    sparse = context.rows.named(*_SPARSE) & context.rows.counted
    dense = context.rows.named("aten::to_dense") & context.rows.counted
    if not (context.on_host and sparse.any() and dense.any()):
        return
    shapes, _ = inputs_of(context, np.flatnonzero(dense))
    tables = [call[0][0] for call in shapes if call]
    part, updates = _updates(context, tables)
    made, updated = context.rows.host_us(dense), context.rows.host_us(updates)
    if made + updated <= _SHARE_DENSE_EMBEDDING_GRADIENT * context.steps.duration_us:
        return
    yield Occurrence(
        place="aten::to_dense of its gradient",
        module=context.rows.common_module(np.flatnonzero(sparse)),
        evidence=f"aten::to_dense takes {context.us_text(made)}"
        + (f", the update of every row {format_us(updated * part)}" if shapes else ""),
        host=context.rows.host_time(dense | updates),
        saved=(made + updated * part) / (made + updated),
        examples=context.call_tree.start[dense],
        caveats=() if shapes else (_CAVEAT,),
        title="A sparse gradient is made dense",
        fix=_KEEP,
    )


def _updates(context: Context, tables: list[list[Any]]) -> tuple[float, Bool]:
    """Operators of the optimizer that update some tables, and the part of their elements."""
    stepping = (context.analysis.phases.row == Phase.OPTIMIZER) & units(context)
    rows = with_inputs(context, stepping, lambda call: any(e in tables for e in _tensors(call)))
    calls, _ = inputs_of(context, np.flatnonzero(rows))
    sizes = [[prod(shape) * (shape in tables or -1) for shape in _tensors(call)] for call in calls]
    mine = sum(size for call in sizes for size in call if size > 0)
    return mine / max(sum(abs(size) for call in sizes for size in call), 1), rows


def _tensors(call: Inputs) -> list[list[int]]:
    """Shapes of the first input: a tensor, or a list of them."""
    first: list[Any] = call[0][0] if call else []
    return first if first and isinstance(first[0], list) else [first]


def _filled(context: Context) -> Iterator[Occurrence]:
    backward = context.rows.named(*_BACKWARD) & context.rows.counted
    if not (context.on_host and backward.any()):
        return
    fills = context.rows.inside(backward) & context.rows.named(*_FILLS)
    modules = context.analysis.attribution.row_module
    for module in unique(modules[backward]).tolist():
        mine, filling = backward & (modules == module), fills & (modules == module)
        held, filled = context.rows.host_us(mine), context.rows.host_us(filling)
        if (
            filled < _FILLING * held
            or held <= _SHARE_DENSE_EMBEDDING_GRADIENT * context.steps.duration_us
        ):
            continue
        rows = np.flatnonzero(mine)
        yield Occurrence(
            place="the gradient of its weight",
            module=module,
            evidence=f"{format_count(len(rows), 'gradient')} in {context.steps.text} take "
            f"{context.us_text(held)}, {filled / held:.0%} of it to fill zeros",
            host=context.rows.host_time(mine),
            examples=context.call_tree.start[rows],
            caveats=(_CAVEAT,),
        )


DENSE_EMBEDDING_GRADIENT = Rule(
    id="dense-embedding-gradient",
    family="optimizer",
    title="The gradient of an embedding is dense and mostly zeros",
    description="Where the model runs on the CPU: aten::embedding_dense_backward takes over 3% of "
    "a step, and 15% of that or more to fill zeros. Or the gradients are sparse, and "
    "aten::to_dense with the updates of the whole weight (by recorded shapes) takes as much.",
    fix="Pass sparse=True to nn.Embedding, and give its weight to an optimizer that takes sparse "
    "gradients: SGD without weight decay, Adagrad or SparseAdam.",
    reference="torch.nn.Embedding, sparse; torch.optim.SparseAdam",
    find=_find_dense_embedding_gradient,
)
