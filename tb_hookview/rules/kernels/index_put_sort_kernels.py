"""An index sums what it puts in one place: sorted on a device, one by one on the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.inputs import Inputs, with_inputs, with_value

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


def _find(context: Context) -> Iterator[Occurrence]:
    return _on_host(context) if context.on_host else _on_devices(context)


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
        yield _UNKNOWN, puts
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
    nodes, found = context.analysis.nodes, np.zeros(len(puts), bool)
    made = lookup(context.rows.inside(puts).astype(np.int64), nodes.forward_op) == 1
    found[nodes.row[made]] = True
    return found & context.rows.containing(_BACKWARD) & context.rows.counted


def _occurrence(context: Context, module: int, rows: Bool, held: float, kind: _Kind) -> Occurrence:
    return Occurrence(
        place="aten::index_put",
        module=module,
        everywhere=module < 0,
        evidence=f"aten::index_put{kind.what}, with its backward {context.us_text(held)}, "
        f"{held / context.steps.duration_us:.0%} of it",
        count=int(np.count_nonzero(rows & context.rows.named(*_SORTED[:3]))),
        host=context.rows.host_time(rows),
        saved=kind.saved,
        claims_gain=kind is not _UNKNOWN,
        examples=context.call_tree.start[rows],
        title="Values are put one by one by index_put",
        fix=kind.fix,
        caveats=(kind.caveat,),
    )


def _on_devices(context: Context) -> Iterator[Occurrence]:
    asking = context.rows.named(*_SORTED)
    if not asking.any() or not context.device_events.matching(_SORTS).any():
        return
    asked = (
        context.device_events.launched_by(context.rows.inside(asking))
        & context.device_events.counted
    )
    found = asked & context.device_events.matching(_KERNELS)
    share, time = context.device_events.share(found), context.device_events.us_per_step(found)
    if share > _SHARE and (asked & context.device_events.matching(_SORTS)).any():
        yield Occurrence(
            place="index_put, embedding",
            everywhere=True,
            evidence=f"{context.us_text(time)} ({share:.0%} of the busy time) in kernels that "
            "sort indices and sum by them",
            count=int(np.count_nonzero(found)),
            wasted=np.flatnonzero(found),
            saved=_SAVED,
            examples=context.device_events.starts(found),
            caveats=("Assumes that half of this time can be saved.",),
        )


RULE = Rule(
    id="index-put-sort-kernels",
    family="kernels",
    title="The backward of indexing sorts its indices",
    description="Sorting kernels and those that sum by sorted indices inside "
    "aten::_index_put_impl_ or aten::embedding_dense_backward, in more than 3% of the busy time. "
    "Where the model runs on the CPU aten::index_put with accumulate=True, or any "
    "without recorded shapes, with the nodes of those with an index for each element, in more than "
    "3% of a step.",
    fix="Where results may differ from run to run, use index_select or gather, whose backward adds "
    "atomically unless torch.use_deterministic_algorithms is on. Avoid indices that repeat often. "
    "Detach what is selected and needs no gradient.",
    reference="PyTorch issue 15245",
    confidence="medium",
    find=_find,
)
