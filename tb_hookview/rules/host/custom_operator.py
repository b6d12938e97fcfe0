"""Operators and autograd nodes that are not torch's, where the model runs on the CPU."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.rows import Role
from tb_hookview.arrays import intervals
from tb_hookview.formats import format_count
from tb_hookview.rules.engine.by_place import places_of
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import HostTime, Occurrence, Rule
from tb_hookview.rules.evidence.host import computing

_SHARE = 0.1
"""Part of a step from which on the own code of one operator in one module counts."""
_CUSTOM = re.compile(
    r"torch::autograd::CppNode<.*>"
    r"|(?!(?:aten|prims?|c10d|c10d_functional|fsdp|inductor|mkldnn|mkldnn_prepacked|onednn|profiler"
    r"|quantized|rngprims|sparse|static_runtime|streams|symm_mem|torch\w*|_\w*)::)\w+::[\w.]+"
)
"""C++ autograd functions, and operators in a namespace that is not torch's."""
_CAVEAT = (
    "The saving is that of code that takes no time: operators in its place would take some of it."
)


def _find(context: Context) -> Iterator[Occurrence]:
    if not context.on_host:
        return
    tree, counted = context.call_tree, context.rows.counted
    custom = context.rows.passing(lambda name: _CUSTOM.fullmatch(name) is not None)
    custom &= counted & ((context.host.role == Role.NONE) | (context.host.role == Role.NODE))
    rows = np.flatnonzero(custom)
    inner = np.flatnonzero(computing(context) & ~custom & counted)
    for (module, name), mine in places_of(context, rows, rows).items():
        time = []
        for thread in np.unique(tree.thread[rows[mine]]).tolist():
            own, others = (each[tree.thread[each] == thread] for each in (rows[mine], inner))
            spans = tree.time_of(own)
            within = tree.time_of(others)
            time.append(HostTime(thread, intervals.subtract(spans, within)))
        held = context.steps.us_per_step(sum(intervals.length(each.time) for each in time))
        share = held / context.steps.duration_us if context.steps.duration_us else 0.0
        if share > _SHARE:
            yield Occurrence(
                place=name,
                module=module,
                evidence=f"{format_count(len(mine), 'call')} in {context.steps.text} take "
                f"{context.us_text(held)}, {share:.0%} of it, in code in which no operator of "
                "torch runs",
                host=tuple(time),
                examples=tree.start[rows[mine]],
                caveats=(_CAVEAT,),
            )


RULE = Rule(
    id="custom-operator",
    family="host",
    title="A custom operator takes CPU time",
    description="Where the model runs on the CPU: C++ autograd functions (CppNode), and operators "
    "in a namespace that is not torch's: over 10% of a step by operator and module, without the "
    "operators of torch in them.",
    fix="Profile it (perf; with_stack=True for Python). Rewrite it with torch operators, or "
    "vectorize it (at::vec) and use all threads (at::parallel_for). Do not loop over elements in "
    "Python. Save in the forward what its backward would recompute.",
    reference="PyTorch, Custom C++ and CUDA Operators",
    confidence="medium",
    find=_find,
)
