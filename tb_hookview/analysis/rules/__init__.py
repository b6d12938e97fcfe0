"""The rules: what can cost time in a training step, each in a file of its own.

`RULES` lists them in order of priority. A wait is explained, and a gap of the device paid for, by
the first rule that claims it: waits, then data loading, data movement, memory, host, launches.
"""

from __future__ import annotations

from typing import NamedTuple

from tb_hookview.analysis import schema
from tb_hookview.analysis.rules import (
    sync_bool_branch,
    sync_d2h_copy,
    sync_data_dependent_size,
    sync_explicit,
    sync_gather_backward_deterministic,
    sync_grad_clip,
    sync_grad_scaler,
    sync_host_index_or_slice,
    sync_in_operator,
    sync_mask_index,
    sync_nonzero_variable_shape,
    sync_optimizer_scalar_state,
    sync_scalar_item,
)
from tb_hookview.analysis.rules.billing import find
from tb_hookview.analysis.rules.context import Context
from tb_hookview.analysis.rules.rule import Rule
from tb_hookview.analysis.schema import PROFILER
from tb_hookview.analysis.selection import Selection

RULES: tuple[Rule, ...] = (
    sync_gather_backward_deterministic.RULE,
    sync_optimizer_scalar_state.RULE,
    sync_grad_scaler.RULE,
    sync_grad_clip.RULE,
    sync_mask_index.RULE,
    sync_data_dependent_size.RULE,
    sync_nonzero_variable_shape.RULE,
    sync_bool_branch.RULE,
    sync_host_index_or_slice.RULE,
    sync_scalar_item.RULE,
    sync_d2h_copy.RULE,
    sync_explicit.RULE,
    # data-loading
    # data-movement
    sync_in_operator.RULE,
    # memory
    # host
    # kernels, optimizer, precision, compile, distributed
)


class Diagnosis(NamedTuple):
    """What the rules say of a trace."""

    causes: list[str]
    """Id of the rule that explains each wait of the trace; `profiler` for the profiler's own."""
    findings: list[schema.Finding]


def diagnose(selection: Selection, step_rows: list[schema.Step]) -> Diagnosis:
    """Ask every rule about the selected steps of a trace."""
    context = Context(selection, step_rows, RULES)
    causes = [RULES[rule].id if rule >= 0 else PROFILER for rule in context.explained.tolist()]
    return Diagnosis(causes, find(context))
