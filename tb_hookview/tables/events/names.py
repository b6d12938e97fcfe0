"""Names and ids by the indices of an analysis; -1 gives none. Ids as in `schema/report.py`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.rows import node_name
from tb_hookview.analysis.modules.attribution import EVIDENCE, REASONS
from tb_hookview.arrays.joins import pair_key, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.sums import least_by
from tb_hookview.arrays.types import (
    DeviceNumber,
    EventRow,
    Int,
    ModuleIndex,
    NodeIndex,
    StepIndex,
    StringIndex,
)
from tb_hookview.schema import KINDS, PHASES
from tb_hookview.tables.model.columns import Texts, Values, known
from tb_hookview.trace import EventCategory

CATEGORIES = [category.name.lower() for category in EventCategory]
Columns = dict[str, Callable[[Int], Values]]


class Names:
    """Texts of an analysis."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        strings, self._node_text = unique_inverse(analysis.host.string[analysis.nodes.row])
        texts = analysis.trace.strings
        self._node_names = [node_name(texts[string]) for string in strings.tolist()]

    def event(self, event: EventRow) -> Texts:
        """Names of rows of the trace."""
        return self.string(lookup(self._analysis.trace.events.name.astype(np.int64), event))

    def string(self, string: StringIndex) -> Texts:
        """Texts of the trace's string table."""
        return Texts(self._analysis.trace.strings.texts, string)

    def category(self, event: EventRow) -> Texts:
        """Categories of rows of the trace."""
        return Texts(CATEGORIES, self._analysis.trace.events.kind[event].astype(np.int64))

    def step(self, step: StepIndex) -> Texts:
        """Names of steps."""
        return Texts(self._analysis.steps.name, step)

    def module(self, module: ModuleIndex) -> Texts:
        """Paths of modules."""
        return Texts(self._analysis.modules.path, module)

    def node(self, node: NodeIndex) -> Texts:
        """Names of autograd nodes."""
        return Texts(self._node_names, lookup(self._node_text, node))

    def device(self, device: DeviceNumber) -> Texts:
        """Ids of devices; none for -1."""
        values, place = unique_inverse(device)
        return Texts([str(value) if value >= 0 else None for value in values.tolist()], place)

    def step_columns(self, step: StepIndex) -> Columns:
        """Name and id of each entry's step."""
        return {"step": lambda i: self.step(step[i]), "step_id": lambda i: known(step[i])}

    def module_columns(self, module: ModuleIndex) -> Columns:
        """Path and id of each entry's module."""
        return {"module": lambda i: self.module(module[i]), "module_id": lambda i: known(module[i])}

    def event_columns(self, of: str, event: EventRow) -> Columns:
        """Name and id of an event of each entry."""
        return {of: lambda i: self.event(event[i]), f"{of}_id": lambda i: known(event[i])}


def owner_columns(
    analysis: Analysis,
    names: Names,
    module: ModuleIndex,
    node: NodeIndex,
    step: StepIndex,
    phase: Int,
) -> Columns:
    """Columns of step, phase, module and node, from the index of each for every entry."""
    node_event = lookup(analysis.call_tree.event, analysis.nodes.row)
    return {
        **names.step_columns(step),
        "phase": lambda i: Texts(PHASES, phase[i]),
        **names.module_columns(module),
        "node": lambda i: names.node(node[i]),
        "node_id": lambda i: known(lookup(node_event, node[i])),
    }


def attribution_columns(evidence: Int, reason: Int) -> Columns:
    """Columns of a module's evidence, or the reason for none."""
    return {
        "evidence": lambda i: Texts(EVIDENCE, evidence[i]),
        "no_module": lambda i: Texts(REASONS, reason[i]),
    }


def kind_texts(kind: Int) -> Texts:
    """Kinds of device events."""
    return Texts(KINDS, kind)


def first_events(group: Int, event: EventRow) -> EventRow:
    """Least event of each group, shape (largest group + 1,); the greatest number for none."""
    return least_by(group, event, int(group.max(initial=-1)) + 1)


def stream_ids(analysis: Analysis) -> Int:
    """Id of each device event's stream, shape (d,): the index of its thread.

    Where one thread of the trace has events of several devices, the streams after the first are
    counted on from the last thread.
    """
    events = analysis.device_events
    thread = analysis.trace.events.thread[events.event].astype(np.int64)
    pairs, pair = unique_inverse(pair_key(thread, events.device + 1))
    of_pair = pairs >> 32
    rank = np.arange(len(pairs)) - np.searchsorted(of_pair, of_pair)
    return np.asarray((of_pair + rank * len(analysis.trace.threads))[pair])


def numbered_kernels(analysis: Analysis) -> tuple[Int, EventRow]:
    """Number of each device event's kernel, and the `Kernel.id` of each kernel.

    A kernel is a name, event and kind. Shapes (d,) and (kernels,).
    """
    events, event = analysis.trace.events, analysis.device_events.event
    key = events.name[event].astype(np.int64) * len(EventCategory) + events.kind[event]
    _, number = unique_inverse(key * len(KINDS) + analysis.kinds.kind)
    return number, first_events(number, event)
