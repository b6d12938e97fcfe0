"""Questions as changes: `--scale WHAT=FACTOR`, and kernels that are fused."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.device.kinds import COMMUNICATION
from tb_hookview.analysis.host.rows import Call, Role
from tb_hookview.analysis.operators import OperatorCalls, Sequences
from tb_hookview.analysis.python_functions import recomputing
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import mask_of, unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Nanoseconds, ThreadIndex, TreeRow
from tb_hookview.errors import NotFoundError, UsageError
from tb_hookview.formats import format_kernel, source_name
from tb_hookview.schema.terms import KINDS
from tb_hookview.simulation.changes import Change, DeviceChange, HostChange, together

MOST = 1000.0
"""Largest product of factors: times of a replay then stay within 64 bits."""

_LISTED = 8
"""Names that an error lists."""
_LONGEST = 60
"""Characters of such a name."""
ROOT = "."
"""The root's path, as the recorder's marks have it."""
_ENGINE = 20_000
"""Nanoseconds between two autograd nodes up to which the engine alone is at work."""


def parse_factors(texts: Iterable[str]) -> dict[str, float]:
    """Parse texts of the form WHAT=FACTOR; a kernel's name may have an equals sign, too.

    Raises:
        UsageError: a text has another form, or there are two factors for one thing.
    """
    factors: dict[str, float] = {}
    for text in texts:
        what, _, factor = text.rpartition("=")
        shown = repr(text[:_LONGEST])
        if not what:
            raise UsageError(f"{shown} is not WHAT=FACTOR, as in host=0.5")
        if what in factors:
            raise UsageError(f"{what[:_LONGEST]!r} is scaled twice; give it one factor")
        try:
            factors[what] = float(factor)
        except ValueError:
            raise UsageError(f"{shown}: the factor is not a number") from None
    return factors


def scaled(analysis: Analysis, factors: Mapping[str, float]) -> Change:
    """Change that multiplies durations by factors, by what they are of.

    Raises:
        UsageError: a factor is negative or not finite, they are too large together, or there is
            nothing of that name.
    """
    if math.prod(max(factor, 1.0) for factor in factors.values()) > MOST:
        raise UsageError(f"the combined factor may not exceed {MOST:,.0f}")
    return together(_scaled(analysis, what, factor) for what, factor in factors.items())


def _scaled(analysis: Analysis, what: str, factor: float) -> Change:
    if not (math.isfinite(factor) and factor >= 0):
        raise UsageError(f"{what}={factor:g}: a factor is 0 or more; 1 changes nothing")
    if what in _PLAIN:
        return _PLAIN[what](analysis, factor)
    kind, colon, name = what.partition(":")
    if colon and kind in _NAMED:
        return _NAMED[kind](analysis, name, factor)
    known = ", ".join([*_PLAIN, "kind:KIND", "kernel:NAME", "module:PATH"])
    raise UsageError(f"{what!r} cannot be scaled; there are {known}")


def _device(chosen: Bool, factor: float) -> Change:
    return Change(device=(DeviceChange(np.flatnonzero(chosen), factor),))


def _kernels(analysis: Analysis, factor: float) -> Change:
    return _device(np.ones(len(analysis.device_events), bool), factor)


def _communication(analysis: Analysis, factor: float) -> Change:
    return _device(analysis.kinds.kind == COMMUNICATION, factor)


def _host(analysis: Analysis, factor: float) -> Change:
    """Change of all that the host does but load data, which is mostly a wait for workers."""
    tree, rows = analysis.call_tree, np.flatnonzero(analysis.host.role == Role.DATA)
    span = np.array([analysis.bounds])
    if not len(rows):
        return Change(host=(HostChange(-1, None, factor),))
    return Change(
        host=tuple(
            HostChange(
                thread,
                intervals.subtract(span, tree.time_of(rows[tree.thread[rows] == thread])),
                factor,
            )
            for thread in unique(tree.thread).tolist()
        )
    )


def _launches(analysis: Analysis, factor: float) -> Change:
    launch = analysis.device_events.launch
    launches = unique(launch[launch >= 0])
    # A copy that waits is a sync; its time is not that of a launch.
    return host_rows(analysis, launches[analysis.calls[launches] == Call.NONE], factor)


def _data(analysis: Analysis, factor: float) -> Change:
    return host_rows(analysis, np.flatnonzero(analysis.host.role == Role.DATA), factor)


def _kernel_loading(analysis: Analysis, factor: float) -> Change:
    loads, tree = analysis.kernel_loads, analysis.call_tree
    return _host_time(tree.thread[loads.row], loads.start, loads.end, factor)


def _recomputation(analysis: Analysis, factor: float) -> Change:
    """Change of forwards that run again within a node.

    The node runs them as it unpacks what was saved, and then goes on. So what the host does there
    between its own operators is for them, too; but not where the node's function is written to run
    them, and may do other things.
    """
    tree, again = analysis.call_tree, analysis.attribution.row_recompute
    rows = np.flatnonzero(again & (lookup(again, tree.parent) == 0))
    order = np.argsort(tree.parent, kind="stable")
    alike = np.diff(tree.parent[order]) == 0
    since, until = lookup(tree.start, tree.parent), lookup(tree.end, tree.parent)
    since[order[1:][alike]] = tree.end[order[:-1][alike]]
    until[order[:-1][alike]] = tree.start[order[1:][alike]]
    own = lookup(recomputing(analysis), analysis.row_node) == 1
    start = np.where(own, tree.start, np.minimum(since, tree.start))[rows]
    end = np.where(own, tree.end, np.maximum(until, tree.end))[rows]
    host = _host_time(tree.thread[rows], start, end, factor)
    return together([_device(analysis.device_attribution.recompute, factor), host])


def _syncs(analysis: Analysis, factor: float) -> Change:
    if factor == 1:
        return Change()
    if factor:
        raise UsageError("syncs takes 0 or 1: syncs=0 takes them out")
    return Change(syncs=np.flatnonzero(~analysis.syncs.by_profiler))


def _of_kind(analysis: Analysis, name: str, factor: float) -> Change:
    if name not in KINDS:
        raise NotFoundError(f"no kind {name!r}; there are {', '.join(KINDS)}")
    return _device(analysis.kinds.kind == KINDS.index(name), factor)


def _of_kernel(analysis: Analysis, name: str, factor: float) -> Change:
    events = analysis.trace.events.name[analysis.device_events.event]
    texts = analysis.trace.strings
    found, which = unique_inverse(events)
    longest_first = np.argsort(-np.bincount(which, analysis.device_events.duration), kind="stable")
    names = {texts[string]: string for string in found[longest_first].tolist()}
    return _device(events == names[_kernel_name(name, list(names))], factor)


def _kernel_name(asked: str, names: Sequence[str]) -> str:
    """Find the kernel whose name, as it is or as it is shown, is what is asked for.

    Else the one whose name begins with that, else the one that has it in its name.
    """
    part = asked.removesuffix("...")
    both = [(name, source_name(name)) for name in names]
    ways = (
        [name for name in names if name == asked],
        [name for name in names if format_kernel(name) == asked],
        [name for name, source in both if name.startswith(part) or source.startswith(part)],
        [name for name, source in both if part in name or part in source],
    )
    found = next((way for way in ways if way), []) if part else []
    if not found:
        raise NotFoundError(f"no kernel {asked!r}; there are {_few(names)}")
    if len(found) > 1:
        listed = ", ".join(found[:_LISTED]) + (", ..." if len(found) > _LISTED else "")
        raise UsageError(f"{asked!r} may be one of {len(found)} kernels: {listed}")
    return found[0]


def _of_module(analysis: Analysis, path: str, factor: float) -> Change:
    modules = analysis.modules
    paths = [each or ROOT for each in modules.path]
    found = [module for module, each in enumerate(paths) if each == (path or ROOT)]
    if not found:
        raise NotFoundError(f"no module {path!r}; there are {_few(paths)}")
    inside = np.zeros(len(modules) + 1, bool)  # the last is for "no module"
    for module in found:
        inside[module : int(modules.end[module])] = True
    # Collectives are not its work: they run in the hook of whichever module came last.
    events = inside[analysis.device_attribution.module]
    events &= analysis.kinds.kind != COMMUNICATION
    rows = np.flatnonzero(inside[analysis.attribution.row_module])
    tree = analysis.call_tree
    host = _host_time(tree.thread[rows], tree.start[rows], _left(analysis)[rows], factor)
    return together([_device(events, factor), host])


def _left(analysis: Analysis) -> Nanoseconds:
    """End of each row; of an autograd node, when the engine has left it for the next one."""
    tree, end = analysis.call_tree, analysis.call_tree.end.copy()
    rows = analysis.nodes.row
    rows = rows[np.lexsort((tree.start[rows], tree.thread[rows]))]
    node, after = rows[:-1], rows[1:]
    gap = tree.start[after] - tree.end[node]
    near = (tree.thread[node] == tree.thread[after]) & (gap >= 0) & (gap <= _ENGINE)
    end[node[near]] = tree.start[after[near]]
    return end


def host_rows(analysis: Analysis, rows: TreeRow, factor: float = 0.0) -> Change:
    """Change of the host time in some rows of the call tree."""
    tree = analysis.call_tree
    return _host_time(tree.thread[rows], tree.start[rows], tree.end[rows], factor)


def _host_time(thread: ThreadIndex, start: Nanoseconds, end: Nanoseconds, factor: float) -> Change:
    """Change of the host time between moments of some threads."""
    changes = []
    for each in unique(thread).tolist():
        mine = thread == each
        changes.append(HostChange(each, intervals.of(start[mine], end[mine]), factor))
    return Change(host=tuple(changes))


def _few(names: Iterable[str]) -> str:
    listed = [name if len(name) <= _LONGEST else f"{name[:_LONGEST]}..." for name in names if name]
    return ", ".join(listed[:_LISTED]) + (", ..." if len(listed) > _LISTED else "") or "none"


_PLAIN: dict[str, Callable[[Analysis, float], Change]] = {
    "kernels": _kernels,
    "communication": _communication,
    "host": _host,
    "launches": _launches,
    "data": _data,
    "kernel_loading": _kernel_loading,
    "recomputation": _recomputation,
    "syncs": _syncs,
}
_NAMED: dict[str, Callable[[Analysis, str, float], Change]] = {
    "kind": _of_kind,
    "kernel": _of_kernel,
    "module": _of_module,
}
OF_DEVICES = frozenset({"kernels", "communication", "launches", "syncs", "kind", "kernel"})
"""What nothing is known of where the device was not recorded."""


# What is gone where one kernel does the work of a sequence of them.


def longest_kernels(sequences: Sequences, calls: OperatorCalls) -> Bool:
    """Whether each kernel is the longest of its occurrence, one of each; shape (k,)."""
    duration = calls.selection.analysis.device_events.duration[sequences.kernel]
    order = np.lexsort((-duration, sequences.occurrence))
    return mask_of(order[np.flatnonzero(np.diff(sequences.occurrence, prepend=-1))], len(order))


def fused(calls: OperatorCalls, gone: DeviceEventIndex) -> Change:
    """Change in which some kernels are part of another one: the most that fusing can save.

    Neither they take time, nor the calls that launched nothing else, nor the innermost operators
    around these, nor the pauses before them.
    """
    device = Change(device=(DeviceChange(gone),), pauses=gone)
    return together([device, host_rows(calls.selection.analysis, calls.launching_only(gone))])
