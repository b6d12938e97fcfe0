"""Copies to the device: memory they come from, occurrences of rules about them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.runtime_calls import Call
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import isin, setdiff, union, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex, GapIndex, Int, Nanoseconds, SyncIndex
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.by_place import LATENT, under
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.places import places_of
from tb_hookview.rules.engine.rule import Occurrence
from tb_hookview.schema.findings import Confidence
from tb_hookview.trace import EventCategory

PAGEABLE = r"HtoD \(Pageable"
PINNED = r"HtoD \(Pinned"
UNKNOWN = r"HtoD \(Host"
"""HIP does not record whether memory of the host is pinned."""
_SMALL = 64 * 1024
"""Bytes up to which a copy counts as small."""
_SMALL_NS = 10_000
"""Device time up to which a copy of unknown size does."""
_LARGE = 1 << 20
"""Bytes from which on a copy's rate is that of the link."""
FASTER_PINNED = 0.5
"""Part of a copy's time saved by pinned memory, at least twice as fast."""
ASSUMES_FASTER = (
    "At least: assumes that the copy takes half as long from pinned memory; it took an eighth on "
    "an H200, at 55 GB/s."
)
PACK = (
    "Keep constants on the device. Pack small values into one pinned tensor, copy it once and "
    "slice it there. Pass Python numbers to operators as they are; create filled tensors by "
    "torch.full(..., device=...)."
)
"""Remedy for small copies: it is their number that costs, not their bytes."""
NO_STEPS = "The trace marks no steps: copies made once are not separated from those of each step."


def uploads(context: Context, memory: str) -> Bool:
    """Copies to the device from some kind of memory, in any step, shape (d,)."""
    return context.device_events.copies_matching(memory)


def bytes_of(context: Context) -> Int:
    """Bytes that each device event moves, -1 for unknown, shape (d,)."""
    return context.analysis.trace.events.bytes[context.analysis.device_events.event]


def small(context: Context) -> Bool:
    """Device events that move few bytes or, if unknown, take little time, shape (d,)."""
    moved, duration = bytes_of(context), context.analysis.device_events.duration
    return np.where(moved >= 0, moved <= _SMALL, duration <= _SMALL_NS)


def saved_by_pinning(context: Context, copies: DeviceEventIndex) -> tuple[float, str]:
    """Part of the time of some copies that pinned memory saves, and what this assumes.

    It follows from the rate of the trace's copies from pinned memory, but not for small ones: those
    take as long as their start.
    """
    moved, duration = bytes_of(context), context.analysis.device_events.duration
    pinned = uploads(context, PINNED) & (moved >= _LARGE) & (duration > 0)
    time = duration[copies].sum()
    if not pinned.any() or not time or (moved[copies] <= _SMALL).any():
        return FASTER_PINNED, ASSUMES_FASTER
    rate = moved[pinned].sum() / duration[pinned].sum()  # bytes a nanosecond: GB/s
    saved = 1 - moved[copies].sum() / rate / time
    assumed = f"Assumes the {rate:.1f} GB/s of this trace's copies from pinned memory."
    return float(np.clip(saved, 0.0, 1.0)), assumed


def syncs_for(context: Context, copies: Bool) -> Bool:
    """Syncs that are for one of some copies, shape (s,)."""
    copy = context.syncs.copy
    return np.asarray(lookup(copies.astype(np.int64), copy) == 1)


def blocking(context: Context) -> Bool:
    """Syncs for a copy that blocks, or that a synchronize follows; all syncs of such a copy."""
    syncs, analysis = context.syncs, context.analysis
    launch = lookup(analysis.device_events.launch, syncs.copy)
    synchronized = syncs.end > lookup(context.call_tree.end, launch)
    blocks = (launch >= 0) & (synchronized | syncs_for(context, _holds_host(context)))
    return np.asarray((launch >= 0) & isin(syncs.copy, unique(syncs.copy[blocks])))


def unpinned_uploads(context: Context) -> Bool:
    """Copies from pageable memory, on HIP those that hold the host until they end, shape (d,)."""
    unknown = uploads(context, UNKNOWN) & _holds_host(context)
    return np.asarray(uploads(context, PAGEABLE) | unknown)


def _holds_host(context: Context) -> Bool:
    """Device events whose call copies and waits for it, shape (d,)."""
    launch = context.analysis.device_events.launch
    return np.asarray((launch >= 0) & (lookup(context.analysis.calls, launch) == Call.COPY))


def exposed(context: Context, copies: DeviceEventIndex) -> Nanoseconds:
    """Time of some device events (rows) in which their device ran no kernel, nanoseconds."""
    work, alone = context.analysis.device_events, np.zeros(len(copies), np.int64)
    kernel = context.analysis.trace.events.kind[work.event] == EventCategory.KERNEL
    for device in unique(work.device[copies]):
        mine = work.device[copies] == device
        rows = np.flatnonzero(kernel & (work.device == device))
        windows = np.stack([work.start[copies[mine]], work.end[copies[mine]]], axis=1)
        busy = work.time_of(rows)
        alone[mine] = windows[:, 1] - windows[:, 0] - intervals.lengths_within(busy, windows)
    return alone


def by_place_of_copies(
    context: Context,
    copies: DeviceEventIndex,
    *,
    saved: float = 0.0,
    pinning: bool = False,
    note: str = "",
    caveats: tuple[str, ...] = (),
    confidence: Confidence | None = None,
    fix_small: str = "",
) -> Iterator[Occurrence]:
    """Yield one occurrence for each module and operator that asked for some copies.

    Args:
        context: the trace.
        copies: rows of `DeviceEvents` whose launch is known.
        saved: part of the time without an overlapping kernel that the fix saves.
        pinning: take what pinned memory saves for that.
        note: a phrase that the evidence ends with.
        caveats: sentences for every occurrence.
        confidence: where it differs from the rule's.
        fix_small: where it differs from the rule's for copies that are all small.
    """
    if not len(copies):
        return
    launch = context.analysis.device_events.launch[copies]
    if not context.steps.marked:
        caveats = (*caveats, NO_STEPS)
    for (module, place), members in places_of(context, launch).items():
        group = copies[members]
        syncs = np.flatnonzero(isin(context.syncs.copy, group))
        alone = exposed(context, group)
        assumed = caveats
        if pinning:
            saved, caveat = saved_by_pinning(context, group)
            assumed = (*caveats, caveat)
        yield Occurrence(
            place=place,
            module=module,
            evidence=_evidence(context, group, syncs, context.steps.us_per_step(alone.sum()))
            + "".join(f"; {each}" for each in (note, under(context, syncs, module)) if each),
            count=len(group),
            syncs=syncs,
            gaps=_gaps(context, group, syncs),
            wasted=group if saved else group[:0],
            wasted_ns=alone if saved else alone[:0],
            saved=saved,
            examples=context.call_tree.start[launch[members]],
            caveats=assumed,
            confidence=confidence,
            latent=LATENT if len(syncs) else "",
            fix=fix_small if small(context)[group].all() else "",
        )


def _gaps(context: Context, copies: DeviceEventIndex, syncs: SyncIndex) -> GapIndex:
    """Gaps of the copies' syncs, and gaps with the host inside their calls.

    A call that is (part of) the sync is charged as such: without it the host could be further ahead
    by the length of the sync, and no more.
    """
    launch = context.analysis.device_events.launch
    copy, start = context.syncs.copy[syncs], context.syncs.start[syncs]
    blocked = copy[start <= context.call_tree.start[launch[copy]]]
    calls = np.zeros(len(context.call_tree), bool)
    calls[launch[setdiff(copies, blocked)]] = True
    return union(context.gaps.of_syncs(syncs), context.gaps.at(calls, Cause.COPY))


def _evidence(context: Context, copies: DeviceEventIndex, syncs: SyncIndex, alone: float) -> str:
    work, call_tree, of_syncs = context.analysis.device_events, context.call_tree, context.syncs
    launch = work.launch[copies]
    start = np.concatenate([of_syncs.start[syncs], call_tree.start[launch]])
    end = np.concatenate([of_syncs.end[syncs], call_tree.end[launch]])
    blocked = context.steps.us_per_step(intervals.length(intervals.of(start, end)))
    device = context.steps.us_per_step(work.duration[copies].sum())
    number = format_count(len(copies), "copy", "copies")
    return (
        f"{number} in {context.steps.text}{_size(context, copies)}, {context.us_text(device)}, "
        f"{format_us(alone)} of it while no kernel ran; the host spent {context.us_text(blocked)} "
        "in them"
    )


def _size(context: Context, copies: DeviceEventIndex) -> str:
    """Phrase of the bytes and rate of some copies, "" where unknown."""
    moved, time = bytes_of(context)[copies], context.analysis.device_events.duration[copies].sum()
    if (moved < 0).any() or not time:
        return ""
    return f" of {moved.mean():.0f} bytes on average at {moved.sum() / time:.2f} GB/s"


def repeated(context: Context) -> Bool:
    """Syncs that may occur in every step: without marked steps, those after a kernel."""
    syncs, work = context.syncs, context.analysis.device_events
    if context.steps.marked:
        return np.ones(len(syncs), bool)
    kernels = work.start[context.analysis.trace.events.kind[work.event] == EventCategory.KERNEL]
    return np.asarray(syncs.end > kernels.min(initial=np.iinfo(np.int64).max))
