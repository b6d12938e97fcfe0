"""Debugging modes: checks of every gradient for NaN, launches that block until kernels end."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.joins import mask_of, median, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, TreeRow
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.by_place import latent_phrase
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.engine.syncs import READS

_CHECKS = ("aten::_is_any_true", "aten::any")
_TESTS = ("aten::isnan", "aten::ne")
_CHECKING = ("aten::isnan", *_CHECKS, "aten::item", "aten::is_nonzero")
"""What a check of a gradient calls, straight inside the node that made it."""
_NODES = 0.5
"""Part of the autograd nodes with outputs that must be checked; anomaly detection checks all."""
_TRACEBACKS = (
    "What a traceback takes is by how much an operator takes longer where it makes a node than in "
    "the backward, where it makes none: turning the mode off saves at least that."
)
_LAUNCHES = 0.98
_KERNELS = 50
"""Number and part of the kernels that must end before their launch returns."""
_TELL = 10
"""Number of them that must be longer than the shortest launch."""
_NEVER = 1 << 62
_NEW = ("aten::empty", "aten::empty_strided", "aten::resize_")
"""Operators that fill what they allocate under deterministic algorithms only."""
_SHARE = 0.01
"""Part of the step or of device work from which on that counts."""


def _explains(context: Context) -> Bool:
    """Reads of `isnan(gradient).any()` straight inside an autograd node, in most nodes."""
    syncs, analysis = context.syncs, context.analysis
    read = syncs.outermost(*READS)
    check = syncs.before(read)
    checked = syncs.named(check, *_CHECKS)
    test = syncs.before(np.where(checked, check, -1))
    node = analysis.row_node[syncs.row]
    found = np.asarray((node >= 0) & checked & syncs.named(test, *_TESTS))
    if not found.any():
        return found
    return found & (len(unique(node[found])) >= _NODES * max(_with_outputs(context), 1))


def _with_outputs(context: Context) -> int:
    """Count the nodes with outputs; those that only add to a parameter's gradient have none."""
    nodes = context.analysis.nodes.row
    return len(nodes) - int(context.rows.ending("AccumulateGrad")[nodes].sum())


def _find(context: Context) -> Iterator[Occurrence]:
    yield from _anomaly_on_host(context) if context.on_host else _anomaly(context)
    yield from _blocking_launches(context)
    yield from _filled_memory(context)


def _filled_memory(context: Context) -> Iterator[Occurrence]:
    """Yield an occurrence where new memory is filled: deterministic algorithms do not need it."""
    tree, rows = context.call_tree, context.rows
    new = lookup(rows.named(*_NEW), tree.parent) == 1
    fills = rows.named("aten::fill_") & rows.counted & new
    if not fills.any():
        return
    events = context.work_of(fills)
    held = context.steps.us_per_step(tree.duration[fills].sum())
    share = held / context.steps.duration_us
    if max(share, context.device_events.share(events)) < _SHARE:
        return
    yield Occurrence(
        place="new memory is filled",
        title="Deterministic mode fills all new memory",
        evidence=f"{format_count(int(fills.sum()), 'operator')} in {context.steps.text} that fill "
        f"a tensor as it is allocated, {context.us_text(held)}, {share:.0%} of it, with "
        f"{format_count(int(events.sum()), 'launch', 'launches')}",
        wasted=np.flatnonzero(events),
        gone=np.flatnonzero(fills),
        examples=tree.start[fills],
        fix="Set torch.utils.deterministic.fill_uninitialized_memory = False: it shows reads of "
        "memory that nothing wrote, and algorithms are deterministic without it.",
    )


def _anomaly(context: Context) -> Iterator[Occurrence]:
    found = np.flatnonzero(context.explained_by(RULE) & context.syncs.counted)
    if not len(found):
        return
    held = context.steps.us_per_step((context.syncs.end - context.syncs.start)[found].sum())
    gaps = context.gaps.of_syncs(found)
    yield Occurrence(
        place="anomaly detection",
        evidence=f"{format_count(len(found), 'check')} of gradients for NaN; to read the results "
        f"the host was blocked for {context.us_text(held)}",
        syncs=found,
        gaps=gaps,
        examples=context.syncs.start[found],
        latent=latent_phrase(context, found, gaps),
    )


def _anomaly_on_host(context: Context) -> Iterator[Occurrence]:
    """Yield an occurrence where the CPU tests what most nodes return."""
    rows, nodes = context.rows, context.analysis.nodes.row
    inside = mask_of(nodes, len(context.call_tree))[context.call_tree.parent]
    inside &= context.call_tree.parent >= 0
    tested = inside & rows.named("aten::isnan")
    read = inside & rows.named("aten::item", "aten::is_nonzero")
    checked = int(_nodes_around(context, tested, read).sum())
    tested &= rows.counted
    if not tested.any() or checked < _NODES * _with_outputs(context):
        return
    checking = inside & rows.named(*_CHECKING) & rows.counted
    making = mask_of(_forward_ops(context), len(context.call_tree)) & rows.counted
    held, count = rows.host_us(checking), int(tested.sum())
    stored = min(_traceback_us(context, making), rows.host_us(making))
    yield Occurrence(
        place="anomaly detection",
        evidence=f"{format_count(count, 'check')} of gradients for NaN in {context.steps.text} "
        f"take {context.us_text(held)}, and tracebacks for each node about {format_us(stored)}",
        host=rows.host_time(checking | making),
        saved=(held + stored) / rows.host_us(checking | making),
        examples=context.call_tree.start[tested],
        caveats=(_TRACEBACKS,),
    )


def _forward_ops(context: Context) -> TreeRow:
    """Operators outside of the backward that make nodes."""
    found = unique(context.analysis.nodes.forward_op)
    return found[(found >= 0) & (lookup(context.analysis.row_node, found) < 0)]


def _traceback_us(context: Context, making: Bool) -> float:
    """About what operators take per step to store a traceback for the node that they make.

    The least by which operators of a name that make nodes take longer than those of the backward,
    which make none.
    """
    tree, string = context.call_tree, context.host.string
    within = (context.analysis.row_node >= 0) & context.rows.counted
    least = [
        median(tree.duration[making & (string == name)])
        - median(tree.duration[within & (string == name)])
        for name in np.intersect1d(string[making], string[within]).tolist()
    ]
    each = max(min(least, default=0.0), 0.0)
    return context.steps.us_per_step(each * int(making.sum()))


def _nodes_around(context: Context, first: Bool, second: Bool) -> Bool:
    """Rows of the call tree straight around some of both."""
    tree = context.call_tree
    around = (mask_of(tree.parent[rows], len(tree)) for rows in (first, second))
    return np.logical_and(*around)


def _blocking_launches(context: Context) -> Iterator[Occurrence]:
    """Yield an occurrence where calls that launch last as long as what they launch.

    A kernel shorter than any call may end within its own without being waited for.
    """
    work = context.analysis.device_events
    rows = np.flatnonzero(work.is_kernel & context.device_events.counted & (work.launch >= 0))
    called, returned = (
        lookup(each, work.launch[rows]) for each in (context.call_tree.start, context.call_tree.end)
    )
    blocked = (called <= work.start[rows]) & (work.end[rows] <= returned)
    shortest = (returned - called).min(initial=_NEVER)
    tells = work.end[rows] - work.start[rows] > shortest
    if len(rows) < _KERNELS or blocked.mean() < _LAUNCHES or tells.sum() < _TELL:
        return
    yield Occurrence(
        place="CUDA_LAUNCH_BLOCKING",
        evidence=f"{int(blocked.sum())} of {len(rows)} kernels had ended before the call that "
        f"launched them returned, also those {int(tells.sum())} that are longer than the "
        f"shortest such call ({format_us(shortest / 1000)})",
        gaps=context.gaps.of(Cause.LAUNCH),
        claims_gain=False,
        examples=work.start[rows[blocked]],
    )


RULE = Rule(
    id="debug-apis-on",
    family="host",
    title="A debugging mode is on",
    description="Anomaly detection: in most autograd nodes with outputs aten::isnan, "
    "aten::_is_any_true and aten::item, which syncs where a device is used. CUDA_LAUNCH_BLOCKING: "
    "98% of at least 50 kernels run within the call that launches them, at least 10 of them longer "
    "than the shortest such call. Fills of new memory: aten::fill_ straight inside aten::empty, "
    "aten::empty_strided or aten::resize_, in 1% of a step or of device work.",
    fix="Turn it off outside of debugging: torch.autograd.set_detect_anomaly(False), and no "
    "CUDA_LAUNCH_BLOCKING in the environment.",
    reference="PyTorch Performance Tuning Guide: disable debugging APIs",
    explains=_explains,
    find=_find,
)
