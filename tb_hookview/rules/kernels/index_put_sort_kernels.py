"""The backward of an index sorts its indices before it sums gradients."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

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


def _find(context: Context) -> Iterator[Occurrence]:
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
    "aten::_index_put_impl_ or aten::embedding_dense_backward, in more than 3% of the busy time.",
    fix="Where results may differ from run to run, use index_select or gather, whose backward adds "
    "atomically. Avoid indices that repeat often. Detach what is selected and needs no gradient.",
    reference="PyTorch issue 15245",
    confidence="medium",
    find=_find,
)
