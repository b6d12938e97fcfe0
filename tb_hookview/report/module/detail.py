"""One module by itself: its kernels, autograd nodes, parameters and calls over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.compiled.attribution import CompiledTime
from tb_hookview.analysis.host.roles import node_name
from tb_hookview.analysis.modules.attribution import EVIDENCE
from tb_hookview.analysis.modules.parts import Parts
from tb_hookview.analysis.selection import Selection, select
from tb_hookview.arrays.joins import grouped, unique, unique_inverse
from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Int, ModuleIndex, Nanoseconds
from tb_hookview.arrays.units import to_us
from tb_hookview.errors import NotFoundError, UsageError
from tb_hookview.report.module.calls import MEASURES, call_bars, calls_over_time
from tb_hookview.report.tables.modules import Calls
from tb_hookview.schema import KINDS
from tb_hookview.schema.module import (
    Amount,
    KernelSearch,
    KernelUse,
    KernelUseOmitted,
    ModuleDetail,
    NodeUse,
    NodeUseOmitted,
    Parameters,
    SharedParameter,
)
from tb_hookview.tables.events.names import first_events, numbered_kernels
from tb_hookview.trace import EventCategory

MOST_KERNELS = 200
MOST_NODES = 200
MOST_PATHS = 100
"""Modules whose calls are asked for at a time: what a table shows."""
_EVENTS = {EventCategory.KERNEL: "kernel", EventCategory.COPY: "copy", EventCategory.SET: "set"}


def module_detail(
    analysis: Analysis, path: str, steps: Sequence[str] | None = None
) -> ModuleDetail:
    """Sum up one module, over the whole trace or over the steps named.

    Kernels sum to the module's device time in the report, nodes to its host time, calls to both.

    Raises:
        NotFoundError: the trace has no module, or no step, of that name.
    """
    selection = select(analysis, steps)
    subtree = _Subtree(analysis, _module(analysis, path))
    kernels, kernels_omitted = _kernels(selection, subtree)
    nodes, nodes_omitted = _nodes(selection, subtree)
    return ModuleDetail(
        path=path,
        kernels=kernels,
        kernels_omitted=kernels_omitted,
        nodes=nodes,
        nodes_omitted=nodes_omitted,
        parameters=_parameters(analysis, subtree),
        calls=calls_over_time(selection, subtree.module),
        backward_by_evidence=_by_evidence(selection, subtree.module),
        forward_by_evidence=_forward_by_evidence(selection, subtree.module),
    )


def module_bars(
    analysis: Analysis, paths: Sequence[str], measure: str, steps: Sequence[str] | None = None
) -> dict[str, list[float]]:
    """Cost of these modules' calls over time, by path; see `call_bars`.

    Raises:
        NotFoundError: the trace has no module, or no step, of that name.
        UsageError: there is no such measure, or more paths than `MOST_PATHS`.
    """
    if measure not in MEASURES:
        raise UsageError(f"measure is one of {', '.join(MEASURES)}")
    if len(paths) > MOST_PATHS:
        raise UsageError(f"no more than {MOST_PATHS} modules at a time")
    modules = [_module(analysis, path) for path in paths]
    bars = call_bars(select(analysis, steps), modules, measure)
    return dict(zip(paths, bars, strict=True))


def _module(analysis: Analysis, path: str) -> int:
    if path not in analysis.modules.path:
        raise NotFoundError(f"{analysis.trace.path}: no module {path[:200]!r}")
    return analysis.modules.path.index(path)


class _Subtree:
    """A module and those below it."""

    def __init__(self, analysis: Analysis, module: int) -> None:
        self.module = module
        self._end = int(analysis.modules.end[module])
        self.paths = analysis.modules.path[module : self._end]

    def holds(self, module: ModuleIndex) -> Bool:
        """Whether each of these modules is the one or below it."""
        return (module >= self.module) & (module < self._end)


class _Groups(Struct, frozen=True):
    """Device events by name, event and kind; times in nanoseconds."""

    id: Int
    """Of the kernel in the report, shape (g,)."""
    first: DeviceEventIndex
    """One device event of each group, shape (g,)."""
    amount: Int
    """Shape (g, 3 directions, 4 fields of `Amount`)."""

    def most_expensive(self) -> Int:
        """Groups by time, forward and backward together."""
        time = self.amount[:, :2, 1].sum(axis=1)
        return np.lexsort((np.arange(len(time)), -time))


def _kernels(
    selection: Selection, subtree: _Subtree
) -> tuple[list[KernelUse], KernelUseOmitted | None]:
    groups = _device_events_by_name(selection, subtree)
    order = groups.most_expensive()
    rows = [_kernel(selection.analysis, groups, g) for g in order[:MOST_KERNELS].tolist()]
    rest = order[MOST_KERNELS:]
    if not len(rest):
        return rows, None
    return rows, KernelUseOmitted(len(rest), *_directions(groups.amount[rest].sum(axis=0)))


def _device_events_by_name(selection: Selection, subtree: _Subtree) -> _Groups:
    analysis = selection.analysis
    attribution = analysis.device_attribution
    parts = analysis.device_parts.of(selection.device_events)
    parts = parts.where(subtree.holds(parts.module))
    mine, number = parts.index, numbered_kernels(analysis)
    distinct, first, group = grouped(number[0][mine])
    own = parts.module == subtree.module
    backward = attribution.node[mine] >= 0
    amount = np.zeros((len(first), 3, 4), np.int64)
    for direction, inside in enumerate((~backward, backward, attribution.recompute[mine])):
        count, time = inside & parts.main, parts.time * inside
        for field, values in enumerate((count, time, count & own, time * own)):
            np.add.at(amount[:, direction, field], group, values.astype(np.int64))
    return _Groups(number[1][distinct], mine[first], amount)


def _kernel(analysis: Analysis, groups: _Groups, group: int) -> KernelUse:
    example = int(groups.first[group])
    events, event = analysis.trace.events, analysis.device_events.event[example]
    core = int(analysis.kinds.tensor_core[example])
    return KernelUse(
        int(groups.id[group]),
        analysis.trace.strings[events.name[event]],
        KINDS[analysis.kinds.kind[example]],
        _EVENTS[EventCategory(events.kind[event])],
        None if core < 0 else bool(core),
        *_directions(groups.amount[group]),
    )


def _directions(amount: Int) -> Iterable[Amount]:
    """Forward, backward, recompute; from shape (3, 4)."""
    for count, time, self_count, self_time in amount.tolist():
        yield Amount(count, to_us(time), self_count, to_us(self_time))


def _nodes(selection: Selection, subtree: _Subtree) -> tuple[list[NodeUse], NodeUseOmitted | None]:
    analysis = selection.analysis
    nodes, attribution = analysis.nodes, analysis.device_attribution
    strings, group = unique_inverse(analysis.host.string[nodes.row])
    ids = first_events(group, analysis.call_tree.event[nodes.row])
    sums = np.zeros((len(strings), 6), np.int64)

    def add(first_field: int, index: Int, module: ModuleIndex, values: Int) -> None:
        np.add.at(sums[:, first_field], index, values)
        own = module == subtree.module
        np.add.at(sums[:, first_field + 3], index[own], values[own])

    parts = analysis.node_parts.of(selection.nodes)
    parts = parts.where(subtree.holds(parts.module))
    add(0, group[parts.index], parts.module, parts.main.astype(np.int64))
    add(1, group[parts.index], parts.module, parts.time)
    launched = analysis.device_parts.of(selection.device_events & (attribution.node >= 0))
    launched = launched.where(subtree.holds(launched.module))
    add(2, group[attribution.node[launched.index]], launched.module, launched.time)
    order = np.lexsort((strings, -sums[:, 1], -sums[:, 2]))
    order = order[(sums[order] > 0).any(axis=1)]
    names, known = analysis.trace.strings, analysis.launches_known
    rows = [
        NodeUse(int(ids[g]), node_name(names[int(strings[g])]), *_node_fields(sums[g], known))
        for g in order[:MOST_NODES].tolist()
    ]
    rest = order[MOST_NODES:]
    if not len(rest):
        return rows, None
    return rows, NodeUseOmitted(len(rest), *_node_fields(sums[rest].sum(axis=0), known))


def _node_fields(sums: Int, known: bool) -> Iterable[Any]:
    """Count, host and device time, including children and without."""
    for count, host, device in sums.reshape(2, 3).tolist():
        yield from (count, to_us(host), to_us(device) if known else None)


def _by_evidence(selection: Selection, module: int) -> dict[str, float]:
    analysis = selection.analysis
    backward = selection.device_events & (analysis.device_attribution.node >= 0)
    parts = analysis.device_parts.of(backward)
    if not parts.time.any():
        parts = analysis.node_parts.of(selection.nodes)
    return _sums(parts.evidence[parts.module == module], parts.time[parts.module == module])


def _forward_by_evidence(selection: Selection, module: int) -> dict[str, float]:
    analysis = selection.analysis
    forward = selection.device_events & (analysis.device_attribution.node < 0)
    parts: Parts | CompiledTime = analysis.device_parts.of(forward)
    if not parts.time.any():
        parts = Calls(selection).moved(again=False)
    return _sums(parts.evidence[parts.module == module], parts.time[parts.module == module])


def _sums(evidence: Int, time: Nanoseconds) -> dict[str, float]:
    """Microseconds by name of the evidence, without what has none."""
    sums = sum_by(evidence, time, len(EVIDENCE))
    return {name: to_us(ns) for name, ns in zip(EVIDENCE, sums.tolist(), strict=True) if ns}


def _parameters(analysis: Analysis, subtree: _Subtree) -> Parameters | None:
    manifest = analysis.trace.manifest
    below = frozenset(subtree.paths)
    listed = {m.path: m for m in (manifest.modules if manifest else ()) if m.path in below}
    path = subtree.paths[0]
    own = listed.get(path)
    if manifest is None or own is None or own.parameters is None:
        return None
    return Parameters(
        count=sum(module.parameters or 0 for module in listed.values()),
        bytes=sum(module.bytes for module in listed.values()),
        self_count=own.parameters,
        self_bytes=own.bytes,
        trainable=own.trainable,
        shared=[
            SharedParameter(entry.parameter, entry.owner, entry.owner_parameter)
            for entry in manifest.shared
            if entry.path == path
        ],
    )


MOST_TEXT = 200
"""Characters of a text that is looked for."""
MOST_FOUND = 2000
"""Modules in an answer."""


def search_kernels(
    analysis: Analysis, text: str, steps: Sequence[str] | None = None
) -> KernelSearch:
    """Find modules by the names of their own device events, whatever the text's case.

    Raises:
        NotFoundError: the trace has no step of that name.
        UsageError: the text is empty, or longer than `MOST_TEXT`.
    """
    wanted = text.strip().lower()
    if not wanted or len(wanted) > MOST_TEXT:
        raise UsageError(f"the query needs q=TEXT, of at most {MOST_TEXT} characters")
    chosen = np.flatnonzero(select(analysis, steps).device_events)
    strings, name = unique_inverse(analysis.trace.events.name[analysis.device_events.event[chosen]])
    names = [analysis.trace.strings[string].lower() for string in strings.tolist()]
    holds = np.array([wanted in name for name in names], bool)
    matching = np.zeros(len(analysis.device_events), bool)
    matching[chosen[holds[name]]] = True
    module = analysis.device_parts.of(matching).module
    found = unique(module[module >= 0]).tolist()
    paths = list(dict.fromkeys(analysis.modules.path[index] for index in found))
    return KernelSearch(int(holds.sum()), paths[:MOST_FOUND], max(0, len(paths) - MOST_FOUND))
