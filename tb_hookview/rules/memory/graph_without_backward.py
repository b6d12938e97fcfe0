"""Operators that record autograd nodes in a trace in which no backward pass runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.rows import Role
from tb_hookview.arrays.joins import unique
from tb_hookview.formats import format_bytes, format_count
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.memory import classes_text
from tb_hookview.trace import EventCategory

_FEW = 10
"""Nodes up to which they are a trifle."""
_TRAINS = (Role.NODE, Role.GRADIENT_SINK, Role.OPTIMIZER)


def _find(context: Context) -> Iterator[Occurrence]:
    host, call_tree = context.host, context.call_tree
    if np.isin(host.role, _TRAINS).any():
        return
    operators = np.flatnonzero((host.kind == EventCategory.OPERATOR) & (host.role == Role.NONE))
    number = context.analysis.trace.events.sequence[call_tree.event[operators]]
    nodes = len(unique(number[number >= 0])) - 1  # the first is that of the next node
    if nodes <= _FEW:
        return
    yield Occurrence(
        place="the model",
        everywhere=True,
        evidence=f"{format_count(nodes, 'autograd node')} for a backward pass are recorded in "
        f"{format_count(len(operators), 'operator')}; the trace has no backward pass and no "
        f"optimizer{_memory(context)}",
        claims_gain=False,
        examples=call_tree.start[operators[np.argmax(number >= 0)]][None],
        latent="each node costs host time, and keeps what its backward would need",
    )


def _memory(context: Context) -> str:
    """Phrase of the memory in use at the peak of the fullest device, "" where unknown."""
    memory = context.analysis.memory
    if memory is None or not memory.addresses_known:
        return ""
    peaks = [
        memory.peak(device, context.selection.chosen)
        for device, name in enumerate(memory.events.devices)
        if name != "cpu"
    ]
    at = max(peaks, key=lambda at: memory.events.allocated[at] if at >= 0 else -1, default=-1)
    if at < 0:
        return ""
    size = format_bytes(int(memory.events.allocated[at]))
    return f"; {size} are in use at the peak: {classes_text(memory, at)}"


RULE = Rule(
    id="graph-without-backward",
    family="memory",
    title="Autograd records a graph, but no backward pass runs",
    description="Operators record more than ten autograd nodes (sequence numbers that grow) in a "
    "trace with neither a backward pass nor an optimizer's step.",
    fix="If this is inference, run it under torch.inference_mode(), or torch.no_grad(): "
    "activations are then freed as the forward goes, and operators take less host time. If it is "
    "training, record the backward pass as well.",
    reference="PyTorch, Autograd mechanics: locally disabling gradient computation",
    confidence="medium",
    find=_find,
)
