"""Rules about what is computed again: parametrized tensors, and the backward of one graph."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import dense_rank, isin, mask_of, pair_key, unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Int, TreeRow
from tb_hookview.formats import format_count
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.schema import Phase

# Parametrized tensors that are computed again although nothing changed them.


_CLASS = "ParametrizationList"
"""What torch calls for each access to a parametrized tensor."""
_SHARE = 0.03
"""Part of a step, or of device work, in the calls after the first."""
_CAVEAT = (
    "Under cached() a parametrization with a state, such as spectral_norm's power iteration, "
    "advances once per block and not with each call."
)


def _find_parametrization_repeated(context: Context) -> Iterator[Occurrence]:
    modules = context.analysis.modules
    lists = [row for row, name in enumerate(modules.module_class) if name == _CLASS]
    rows = _calls(context, lists)
    again = rows[_repeated(context, rows)]
    if not len(again):
        return
    tree = context.call_tree
    calls = mask_of(again, len(tree))
    calls |= context.rows.nodes_of(calls)
    work = context.work_of(calls)
    held, least = context.rows.host_us(calls), _SHARE * context.steps.duration_us
    if context.device_events.share(work) <= _SHARE and not (context.on_host and held > least):
        return
    tensors = unique(context.analysis.module_calls.module[again])
    yield Occurrence(
        place="" if len(tensors) == 1 else "parametrizations",
        module=int(tensors[0]) if len(tensors) == 1 else None,
        evidence=f"{format_count(len(tensors), 'parametrized tensor')} computed "
        f"{format_count(int(isin(_module(context, rows), tensors).sum()), 'time')} in "
        f"{context.steps.text}, {len(again)} of these with neither a backward pass nor an "
        "optimizer step since the last; with their backward, these take the host "
        f"{context.us_text(held)}",
        host=context.rows.host_time(calls) if context.on_host else (),
        wasted=np.flatnonzero(work),
        gone=np.flatnonzero(calls),
        examples=tree.start[again],
        caveats=(_CAVEAT,),
    )


def _module(context: Context, rows: TreeRow) -> Int:
    return np.asarray(context.analysis.module_calls.module[rows])


def _calls(context: Context, modules: list[int]) -> TreeRow:
    """Calls of some modules in the forward of measured steps."""
    analysis = context.analysis
    mine = isin(analysis.module_calls.module, modules) & context.rows.counted
    return np.flatnonzero(mine & ~analysis.attribution.row_recompute & (analysis.row_node < 0))


def _repeated(context: Context, rows: TreeRow) -> Bool:
    """Whether each call finds what an earlier one of its module computed.

    Both are of one step and thread, with gradients or both without, and neither a node of autograd
    nor an optimizer begins between them: a second backward cannot go through what the first one
    freed.
    """
    tree, analysis = context.call_tree, context.analysis
    around = lookup(tree.nearest(mask_of(rows, len(tree))), analysis.nodes.forward_op)
    ends = np.concatenate(
        [tree.start[analysis.nodes.row], analysis.phases.time[Phase.OPTIMIZER][:, 0]]
    )
    start = tree.start[rows]
    group = dense_rank(
        _module(context, rows),
        tree.thread[rows],
        np.searchsorted(context.steps.windows[:, 0], start, side="right"),
        np.searchsorted(np.sort(ends), start),
        isin(rows, around).astype(np.int64),
    )
    order = np.lexsort((start, group))
    again = np.zeros(len(rows), bool)
    again[order[1:]] = np.diff(group[order]) == 0
    return again


PARAMETRIZATION_REPEATED = Rule(
    id="parametrization-repeated",
    family="host",
    title="A parametrized tensor is computed again and again",
    description="Calls of a ParametrizationList (torch.nn.utils.parametrize: weight_norm, "
    "spectral_norm, orthogonal) in the forward, after another one of the same step with neither a "
    "backward pass nor an optimizer in between: 3% of a step where the model runs on the CPU, or "
    "of device work, with their backward.",
    fix="Run the forward passes up to each backward() within "
    "`with torch.nn.utils.parametrize.cached():`, which computes each parametrized tensor once. "
    "Not around forwards with and without gradients together, and not around functional_call.",
    reference="PyTorch, torch.nn.utils.parametrize.cached",
    confidence="medium",
    find=_find_parametrization_repeated,
)


# Backward passes that go through one graph again and again.


_TIMES = 4
"""Evaluations of a node from which on they count: penalties and a second loss take two or three."""
_SHARE = 0.03
"""Part of a step, or of device work, in such evaluations."""
_BATCHED = (
    "The gain takes each node to be evaluated once, in its usual time. Where gradients of many "
    "outputs are needed, one batched evaluation takes longer than one of a single output."
)


def _find_repeated_backward(context: Context) -> Iterator[Occurrence]:
    nodes, rows = context.analysis.nodes, context.rows
    known = np.flatnonzero((nodes.forward_op >= 0) & rows.counted[nodes.row])
    key = pair_key(nodes.forward_op[known], context.host.string[nodes.row[known]])
    distinct, which = unique_inverse(key)
    times = np.bincount(which, minlength=len(distinct))
    again = times >= _TIMES
    if not again.any():
        return
    evaluated = mask_of(nodes.row[known[again[which]]], len(context.call_tree))
    made = rows.inside(evaluated)[nodes.forward_op[known]]  # with create_graph=True
    evaluated |= mask_of(nodes.row[known[made]], len(context.call_tree))
    work = context.work_of(evaluated)
    held = rows.host_us(evaluated)
    least = _SHARE * context.steps.duration_us
    if context.device_events.share(work) <= _SHARE and not (context.on_host and held > least):
        return
    count = int(times[again].sum())
    yield Occurrence(
        place="the backward pass",
        evidence=f"{format_count(int(again.sum()), 'node')} of autograd are evaluated "
        f"{format_count(count, 'time')} in {context.steps.text}, up to {times.max()} times each; "
        f"their evaluations take the host {context.us_text(held)}",
        count=count,
        host=rows.host_time(evaluated) if context.on_host else (),
        wasted=np.flatnonzero(work),
        saved=1 - int(again.sum()) / count,
        examples=context.call_tree.start[evaluated],
        caveats=(_BATCHED,),
    )


REPEATED_BACKWARD = Rule(
    id="repeated-backward",
    family="host",
    title="The backward runs through one graph several times",
    description="Autograd nodes of one forward operator that are evaluated four times or more, "
    "which takes 3% of a step where the model runs on the CPU, or of device work.",
    fix="Call torch.autograd.grad once, with all inputs. Add up losses before backward(). For "
    "gradients of several outputs use torch.func.jacrev, vmap, or grad with is_grads_batched=True. "
    "In truncated backpropagation through time detach the state.",
    reference="PyTorch, torch.autograd.grad: retain_graph, is_grads_batched; torch.func.jacrev",
    confidence="medium",
    find=_find_repeated_backward,
)
