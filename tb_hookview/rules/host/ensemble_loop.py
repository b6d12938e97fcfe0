"""Equal modules of one ensemble that run one after another, where the model runs on the CPU."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import isin, mask_of, median, pair_key, unique, unique_inverse
from tb_hookview.arrays.types import Bool, Int, TreeRow
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.host import siblings, units
from tb_hookview.schema import module_label

_LEAST = 4
"""Members from which on running them together saves something."""
_SMALL_NS = 50_000
"""Longest median of operators for which calling counts for more than computing."""
_SHARE = 0.03
_LINEAR = "aten::linear"
_OF_ONE_INPUT = (
    _LINEAR,
    *(
        f"aten::{name}"
        for name in (
            *("batch_norm", "celu", "dropout", "elu", "flatten", "gelu", "hardswish", "hardtanh"),
            *("layer_norm", "leaky_relu", "leaky_relu_", "log_softmax", "mish", "relu", "relu_"),
            *("rms_norm", "selu", "sigmoid", "silu", "softmax", "softplus", "squeeze", "tanh"),
        )
    ),
)
"""Operators that compute on one tensor, besides weights."""
_AFTER = tuple(
    f"aten::{name}"
    for name in (
        *("add", "add_", "div", "mul", "squeeze", "unsqueeze"),
        *("sigmoid", "softmax", "log_softmax", "tanh"),
        *("binary_cross_entropy_with_logits", "cross_entropy_loss", "huber_loss", "l1_loss"),
        *("mse_loss", "smooth_l1_loss"),
    )
)
"""Operators between two members that prepare no input of the next one."""
_PRODUCTS = ("AddmmBackward0", "MmBackward0")
_CAVEAT = (
    "The gain takes one operator on all members to last as long as on one, which is right for "
    "small tensors and an upper bound for larger ones."
)


def _find(context: Context) -> Iterator[Occurrence]:
    if not (context.on_host and context.steps.marked):
        return
    places: dict[tuple[int, ...], list[TreeRow]] = {}
    parts = _Parts(context)
    for rows in _runs(context):
        if parts.are_independent(rows):
            key = tuple(context.analysis.module_calls.module[rows].tolist())
            places.setdefault(key, []).append(rows)
    for members, runs in places.items():
        calls = mask_of(np.concatenate(runs), len(context.call_tree))
        with_nodes = calls | context.rows.nodes_of(calls)
        held = context.rows.host_us(with_nodes)
        if held > _SHARE * context.steps.duration_us and parts.are_small(calls):
            yield _occurrence(context, members, with_nodes, calls, held)


def _occurrence(
    context: Context, members: tuple[int, ...], time: Bool, calls: Bool, held: float
) -> Occurrence:
    modules = context.analysis.modules
    first, last = (module_label(modules.path[each]) for each in (members[0], members[-1]))
    return Occurrence(
        place=f"{first} to {last}",
        evidence=f"{len(members)} modules of class {modules.module_class[members[0]]} run one "
        "after another, none on what another one computed; with their backward they take "
        f"{context.us_text(held)}",
        host=context.rows.host_time(time),
        saved=1 - 1 / len(members),
        examples=context.call_tree.start[calls],
        caveats=(_CAVEAT,),
    )


def _runs(context: Context) -> Iterator[TreeRow]:
    """Forward calls of siblings under one parent in a step, each called once, in order of time."""
    analysis, tree = context.analysis, context.call_tree
    group = np.full(len(analysis.modules) + 1, -1, np.int64)  # the last is of no module, index -1
    for number, mine in enumerate(siblings(context)):
        group[mine] = number
    module = analysis.module_calls.module
    wanted = (group[module] >= 0) & context.rows.counted & (analysis.row_node < 0)
    rows = np.flatnonzero(wanted)
    parent, threads = tree.parent[rows], len(analysis.trace.threads)
    around = np.where(parent >= 0, parent + threads, tree.thread[rows])
    step = np.searchsorted(context.steps.windows[:, 0], tree.start[rows], side="right")
    _, place = unique_inverse(pair_key(around, step))
    _, run = unique_inverse(pair_key(place, group[module[rows]]))
    order = np.argsort(run, kind="stable")  # rows of a thread are in order of time
    for mine in np.split(rows[order], np.flatnonzero(np.diff(run[order])) + 1):
        if len(mine) >= _LEAST and len(unique(module[mine])) == len(mine):
            yield mine


class _Parts:
    """What calls of modules run, and which nodes they made."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._tree, self._nodes = context.call_tree, context.analysis.nodes
        self._by_operator = np.argsort(self._nodes.forward_op, kind="stable")
        self._made_by = self._nodes.forward_op[self._by_operator]
        self._units = np.flatnonzero(units(context))
        self._products = np.flatnonzero(context.rows.named("aten::mm"))
        self._linear = context.rows.name_indices(_LINEAR)
        self._allowed = context.rows.name_indices(*_OF_ONE_INPUT)
        self._after = context.rows.name_indices(*_AFTER)

    def are_independent(self, rows: TreeRow) -> bool:
        """Whether none of some calls in a row gets what another one returned.

        Each member is a chain of operators on one tensor, as long as no operator has two. Its
        first node computes the gradient of the weight alone: its input needs none, as what a
        member that is trained returns does.
        """
        return self._follow_closely(rows) and all(map(self._begins_with_data, rows.tolist()))

    def are_small(self, calls: Bool) -> bool:
        """Whether operators in some calls are so short that calling them counts."""
        inside = self._context.rows.inside(calls)[self._units]
        time = self._tree.duration[self._units[inside]]
        return bool(len(time)) and median(time) <= _SMALL_NS

    def _follow_closely(self, rows: TreeRow) -> bool:
        """Whether what runs between the calls only adds up, or judges, what they return."""
        end = self._tree.subtree_end[rows]
        mine = _between(self._units, int(rows[0]), int(end[-1]))
        others = mine[mine >= end[np.searchsorted(rows, mine, side="right") - 1]]
        return bool(isin(self._context.host.string[others], self._after).all())

    def _begins_with_data(self, row: int) -> bool:
        mine = _between(self._units, row, int(self._tree.subtree_end[row]))
        names = self._context.host.string[mine]
        if not len(mine) or names[0] not in self._linear or not isin(names, self._allowed).all():
            return False
        first, end = int(mine[0]), int(self._tree.subtree_end[mine[0]])
        begin, past = np.searchsorted(self._made_by, [first, end])
        nodes = self._nodes.row[self._by_operator[begin:past]]
        texts = self._context.analysis.trace.strings
        made = [
            each
            for each in nodes.tolist()
            if texts[int(self._context.host.string[each])].endswith(_PRODUCTS)
        ]
        return [
            len(_between(self._products, each, int(self._tree.subtree_end[each]))) for each in made
        ] == [1]


def _between(rows: Int, first: int, end: int) -> Int:
    """Those of some sorted rows from one to before another."""
    return rows[slice(*np.searchsorted(rows, [first, end]))]


RULE = Rule(
    id="ensemble-loop",
    family="host",
    title="Equal modules run one after another",
    description="Where the model runs on the CPU: four or more modules of one class, with equal "
    "parameters, at places that differ by a number alone, each called once under one parent. Each "
    "is a chain of operators on one tensor that begins with a linear layer, whose backward "
    "computes no gradient of its input: so none gets what another one returned. Operators take at "
    "most 50 us by the median, and the calls over 3% of a step, with their nodes.",
    fix="Compute all members at once: torch.func.stack_module_state and "
    "torch.vmap(functional_call), or one batched product (torch.baddbmm) of stacked weights.",
    reference="PyTorch, Model ensembling (torch.func)",
    confidence="medium",
    find=_find,
)
