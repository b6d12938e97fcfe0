"""What is moved: copies to the device, values that syncs read, batches, messages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum

import numpy as np

from tb_hookview.analysis.collectives.calls import CollectiveCalls, find_collectives
from tb_hookview.analysis.host.activity import width
from tb_hookview.analysis.host.rows import Call, Role
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import (
    isin,
    mask_of,
    scatter,
    setdiff,
    union,
    unique,
)
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import (
    Bool,
    DeviceEventIndex,
    GapIndex,
    Int,
    Nanoseconds,
    SyncIndex,
    TreeRow,
)
from tb_hookview.formats import format_bytes, format_count, format_us
from tb_hookview.rules.engine.by_place import OPERATOR, latent_phrase, places_of, under
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence
from tb_hookview.rules.engine.syncs import VALUES, Direction
from tb_hookview.rules.evidence.element_loops import iterated
from tb_hookview.rules.evidence.host import Inputs, inputs_of
from tb_hookview.schema.findings import Confidence

# Copies to the device.


PAGEABLE = "HtoD (Pageable"
PINNED = "HtoD (Pinned"
UNKNOWN = "HtoD (Host"
"""HIP does not record whether memory of the host is pinned."""
_SMALL = 64 * 1024
"""Bytes up to which a copy counts as small."""
_SMALL_NS = 10_000
"""Device time up to which a copy of unknown size does."""
_MOSTLY = 0.9
"""Part of some copies that are small from which on a few large ones say nothing of them."""
_LARGE = 1 << 20
"""Bytes from which on a copy's rate is that of the link."""
_KERNELS_A_COPY = 10
"""Names of kernels for each copy before them, from which on the copies are a batch: a model with
that variety of kernels has more parameters."""
FASTER_PINNED = 0.5
"""Part of a copy's time saved by pinned memory, where the trace does not say."""
ASSUMES_FASTER = (
    "Assumes that the copy takes half as long from pinned memory; it took an eighth on an H200, at "
    "55 GB/s, and 95% on an A100 behind a link of 5 GB/s."
)
PACK = (
    "Keep constants on the device. Pack small values into one pinned tensor, copy it once and "
    "slice it there. Pass Python numbers to operators as they are; create filled tensors by "
    "torch.full(..., device=...)."
)
"""Remedy for small copies: it is their number that costs, not their bytes."""
NO_STEPS = "The trace marks no steps: copies made once are not separated from those of each step."


def uploads(context: Context, *memory: str) -> Bool:
    """Copies to the device from some kinds of memory, in any step, shape (d,)."""
    return context.device_events.copies_containing(*memory)


def bytes_of(context: Context) -> Int:
    """Bytes that each device event moves, -1 for unknown, shape (d,)."""
    return context.analysis.trace.events.bytes[context.analysis.device_events.event]


def small(context: Context) -> Bool:
    """Device events that move few bytes or, if unknown, take little time, shape (d,)."""
    moved, duration = bytes_of(context), context.analysis.device_events.duration
    return np.where(moved >= 0, moved <= _SMALL, duration <= _SMALL_NS)


def mostly_small(context: Context, copies: DeviceEventIndex) -> bool:
    """Whether nine tenths of some copies are small, and these take most of the time."""
    little, time = small(context)[copies], context.analysis.device_events.duration[copies]
    return bool(little.mean() >= _MOSTLY and 2 * time[little].sum() >= time.sum())


def saved_by_pinning(context: Context, copies: DeviceEventIndex) -> tuple[float, str]:
    """Part of the time of some copies that pinned memory saves, and what this assumes.

    It follows from the rate of the trace's copies from pinned memory; where that or their size is
    unknown it is assumed. Small ones save nothing: they take as long as their start.
    """
    moved, duration = bytes_of(context), context.analysis.device_events.duration
    large, whole = copies[~small(context)[copies]], duration[copies].sum()
    if not (time := duration[large].sum()):
        return 0.0, ""
    saved, assumed = FASTER_PINNED, ASSUMES_FASTER
    pinned = uploads(context, PINNED) & (moved >= _LARGE) & (duration > 0)
    if pinned.any() and (moved[large] >= 0).all():
        rate = moved[pinned].sum() / duration[pinned].sum()  # bytes a nanosecond: GB/s
        saved = float(np.clip(1 - moved[large].sum() / rate / time, 0.0, 1.0))
        assumed = f"Assumes the {rate:.1f} GB/s of this trace's copies from pinned memory."
    return float(saved * time / whole), assumed


def syncs_for(context: Context, copies: Bool) -> Bool:
    """Syncs that are for one of some copies, shape (s,)."""
    copy = context.syncs.copy
    return np.asarray(lookup(copies, copy) == 1)


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
    for device in unique(work.device[copies]):
        mine = work.device[copies] == device
        rows = np.flatnonzero(work.is_kernel & (work.device == device))
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
        caveats: sentences for every occurrence.
        confidence: where it differs from the rule's.
        fix_small: where it differs from the rule's for copies that are mostly small values.
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
        gaps = _gaps(context, group, syncs)
        evidence = _evidence(context, group, syncs, context.steps.us_per_step(alone.sum()))
        assumed = caveats
        if pinning and mostly_small(context, group):
            saved = 0.0
        elif pinning:
            saved, caveat = saved_by_pinning(context, group)
            assumed = (*caveats, caveat) if caveat else caveats
        yield Occurrence(
            place=place,
            module=module,
            evidence="; ".join(filter(None, (evidence, under(context, syncs, module)))),
            syncs=syncs,
            gaps=gaps,
            wasted=group if saved else group[:0],
            wasted_ns=alone if saved else alone[:0],
            saved=saved,
            examples=context.call_tree.start[launch[members]],
            caveats=assumed,
            confidence=confidence,
            latent=latent_phrase(context, syncs, gaps) if len(syncs) else "",
            fix=fix_small if _are_values(context, group) else "",
        )


def _are_values(context: Context, copies: DeviceEventIndex) -> bool:
    """Whether most of some copies are small, and few of a batch: right after a loader gave it."""
    tree, work = context.call_tree, context.analysis.device_events
    asked = tree.start[work.launch[copies]]
    loaded = np.sort(tree.end[context.host.role == Role.DATA])
    begun = np.sort(tree.start[work.launch[work.is_kernel & (work.launch >= 0)]])
    latest = [
        np.append(np.int64(-1), times)[np.searchsorted(times, asked)] for times in (loaded, begun)
    ]
    of_batch = latest[0] > latest[1]
    return mostly_small(context, copies) and 2 * int(of_batch.sum()) < len(copies)


def _gaps(context: Context, copies: DeviceEventIndex, syncs: SyncIndex) -> GapIndex:
    """Gaps of the copies' syncs, and gaps with the host inside their calls.

    A call that is (part of) the sync is charged as such: without it the host could be further ahead
    by the length of the sync, and no more.
    """
    launch = context.analysis.device_events.launch
    copy, start = context.syncs.copy[syncs], context.syncs.start[syncs]
    blocked = copy[start <= context.call_tree.start[launch[copy]]]
    calls = mask_of(launch[setdiff(copies, blocked)], len(context.call_tree))
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
    """Phrase of the bytes and rate of some copies, "" where unknown; small ones have no rate."""
    moved, time = bytes_of(context)[copies], context.analysis.device_events.duration[copies].sum()
    if (moved < 0).any() or not time:
        return ""
    few = mostly_small(context, copies)
    rate = "" if few else f" at {moved.sum() / time:.2f} GB/s"
    least, most = int(moved.min()), int(moved.max())
    if most > 2 * least and few:
        rate = f", half of them of at most {format_bytes(np.sort(moved)[(len(moved) - 1) // 2])}"
    if most > 2 * least:
        return f" of {format_bytes(least)} to {format_bytes(most)}{rate}"
    return f" of {format_bytes(moved.mean())} on average{rate}"


def first_kernel(context: Context) -> int:
    """Start of the first kernel."""
    work = context.analysis.device_events
    return int(work.start[work.is_kernel].min(initial=np.iinfo(np.int64).max))


def repeated(context: Context) -> Bool:
    """Syncs that may occur in every step: without marked steps, those after a kernel.

    Before it models move to the device; all count where too few copies are there for that.
    """
    syncs = context.syncs
    work, first = context.analysis.device_events, first_kernel(context)
    before = np.count_nonzero(uploads(context, "HtoD") & (work.start < first))
    few = _KERNELS_A_COPY * before <= len(unique(context.device_events.name[work.is_kernel]))
    return np.asarray((syncs.end > first) | few | context.steps.marked)


# Values that syncs bring to the host: what they are read for.


_MOVES = ("aten::to", "aten::_to_copy", "aten::detach", "aten::lift_fresh", "aten::clone")
_INTEGERS = ("long", "long int", "int", "short", "short int", "unsigned char", "signed char")
_SIZES = re.compile(
    r"(?i)split|all_?2_?all|all_?to_?all|a2a|length|offset|jagged|(?<![a-z])dist(?![a-z])"
)
"""Annotations of code that exchanges or splits batches (torchrec, expert parallelism)."""
_COUNTS = ("aten::sum", "aten::count_nonzero")
_TESTS = re.compile(r"aten::(eq|ne|lt|le|gt|ge|logical_\w+|bitwise_\w+|isclose)_?")
_EXCHANGES = re.compile(r"(?i)all_?to_?all")
_HANDED_OVER = (
    *(*VALUES, *_MOVES, "aten::resolve_conj", "aten::resolve_neg", "aten::view", "aten::sum"),
    *("aten::unbind", "aten::select", "aten::empty", "aten::new_empty", "aten::empty_like"),
)
"""Between a copy of split sizes and the exchange by them: other such copies, its result."""
_CREATED = tuple(
    f"aten::{name}"
    for name in ("full", "zeros", "ones", "empty", "arange", "new_full", "new_zeros", "new_empty")
)
_AT_ONCE_NS = 200_000
"""Time after a read of a size within which a tensor of that size is made."""
_NORMS = ("aten::linalg_vector_norm", "aten::norm", "aten::_foreach_norm", "aten::linalg_norm")
_SCALES = ("aten::_amp_update_scale_",)


class Purpose(IntEnum):
    """What a value is read for, as far as its type and what is around it show."""

    METRIC = 0
    """A loss or a metric, or unknown."""
    SIZE = 1
    """A size, a split, an index: an integer that is not counted up right before."""
    FLAG = 2
    """A test of a tensor."""
    NORM = 3
    """A norm."""
    SCALE = 4
    """The loss or its scale, right after the scale is updated."""
    PRINT = 5
    """The text of a tensor."""
    ELEMENT = 6
    """One of several elements over which Python iterates."""


SIZES = (
    "Keep sizes, splits and indices on the host from the start: take them from the data pipeline, "
    "or from a copy of the lengths that stays there. Read what only the device knows once for all, "
    "a batch ahead: into pinned memory with non_blocking=True, and after an event. Pass sizes to "
    "operators that take them (output_size, permuted_lengths_sum). Pad where sizes can be equal."
)
"""Remedy where sizes are read."""


def purposes(context: Context) -> Int:
    """`Purpose` of each sync that reads a value, shape (s,)."""
    syncs = context.syncs
    read = syncs.outermost(*VALUES)
    before = syncs.before(read, *VALUES, *_MOVES)
    _, integer, flag = _types(context)
    counted = syncs.named(before, *_COUNTS)
    found = np.full(len(syncs), Purpose.METRIC, np.int64)
    found[syncs.named(before, *_NORMS)] = Purpose.NORM
    found[syncs.named(before, *_SCALES)] = Purpose.SCALE
    sized = ~counted | _summed_for_size(context, read, before) | _before_exchange(context, read)
    found[(integer & sized) | in_exchange(context)] = Purpose.SIZE
    found[_in_library(context)] = Purpose.SIZE
    found[flag] = Purpose.FLAG
    found[iterated(context, before)] = Purpose.ELEMENT
    found[syncs.prints] = Purpose.PRINT
    return found


def sizes_copied(context: Context) -> Bool:
    """Syncs that copy integers to the host where batches are exchanged or split, shape (s,)."""
    to_host = context.syncs.direction == Direction.TO_HOST
    known, integer, _ = _types(context)
    copy = context.syncs.outermost("aten::to", "aten::_to_copy", "aten::copy_")
    exchanged = in_exchange(context) & (integer | ~known)
    return np.asarray(to_host & (exchanged | (integer & _before_exchange(context, copy))))


def in_exchange(context: Context) -> Bool:
    """Syncs under an annotation of code that exchanges or splits batches, shape (s,)."""
    texts, sides = context.analysis.trace.strings, np.stack(context.syncs.labels)
    wanted = [name for name in unique(sides).tolist() if name >= 0 and _SIZES.search(texts[name])]
    return np.asarray(isin(sides, wanted).any(axis=0))


def _before_exchange(context: Context, row: TreeRow) -> Bool:
    """Rows (shape (s,), -1: none) that an all-to-all follows, as those of its split sizes."""
    names = context.syncs.names(context.syncs.after(row, *_HANDED_OVER)).tolist()
    return np.array([bool(_EXCHANGES.search(name)) for name in names], bool)


def _summed_for_size(context: Context, read: TreeRow, before: TreeRow) -> Bool:
    """Reads of a sum of integers, none of them a test's, before a tensor is made at once.

    Args:
        context: the trace.
        read: of each sync, -1 for none.
        before: the operator before each, -1 for none.
    """
    syncs, call_tree = context.syncs, context.call_tree
    distinct, place = inputs_of(context, before)
    integers = np.isin(np.array([*map(_type, distinct), ""], object)[place], _INTEGERS)
    names = syncs.names(syncs.before(before, *_MOVES, "aten::view", "aten::reshape")).tolist()
    tests = np.array([bool(_TESTS.fullmatch(name)) for name in names], bool)
    made = syncs.first_after(read, context.rows.named(*_CREATED))
    soon = lookup(call_tree.start, made) - lookup(call_tree.end, read) <= _AT_ONCE_NS
    return np.asarray((made >= 0) & integers & ~tests & soon)


def _in_library(context: Context) -> Bool:
    """Syncs of values that an operator of another library reads itself, shape (s,)."""
    names = context.syncs.names(context.syncs.outermost_matching(OPERATOR)).tolist()
    return np.array([bool(name) and not name.startswith("aten::") for name in names], bool)


def _types(context: Context) -> tuple[Bool, Bool, Bool]:
    """Whether the first input of each sync's operator is recorded, an integer, or a flag."""
    distinct, place = inputs_of(context, context.syncs.operator)
    kinds = np.array([*map(_type, distinct), ""], object)[place]
    return kinds != "", np.isin(kinds, _INTEGERS), kinds == "bool"


def _type(inputs: Inputs) -> str:
    """Type of the first tensor that has one."""
    return next((kind for _, kind in inputs if kind), "")


# Messages of collectives, where the trace has them (`record_param_comms`).


def collectives(context: Context, pattern: str = "") -> tuple[TreeRow, Int]:
    """Collectives of several ranks whose name fits, in measured steps.

    Returns:
        Their call tree rows, and the bytes of each one's larger message, -1 for unknown.
    """
    table = context.analysis.trace.collectives
    if not len(table):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    position = scatter(
        context.call_tree.event,
        np.arange(len(context.call_tree)),
        len(context.analysis.trace.events),
    )
    row, elements = position[table.event], np.maximum(table.sent, table.received)
    fitting = {name for name in set(table.collective) if re.search(pattern, name)}
    fits = [name in fitting for name in table.collective]
    known = (row >= 0) & np.array(fits, bool) & (table.group_size > 1) & (elements > 0)
    element = np.array([width(name) for name in table.dtype], np.int64)[known]
    row, size = row[known], np.where(element > 0, elements[known] * element, -1)
    counted = context.rows.counted[row]
    return row[counted], size[counted]


_MOST = 0.5
_JUDGED = 0.75
"""Part of the time of all collectives that those of known sizes have to have."""
_LATENCY_NS, _LATENCY_ON_HOST_NS = 100_000, 10_000_000
"""Time of a collective up to which it may be the latency of the network alone, and of the host's
steps from rank to rank."""
_TINY = 4096
"""Bytes up to which a message is latency on any network."""
_SLOW = 0.1
"""Bytes per nanosecond (GB/s) below which no network is that slow."""


def waits_for_ranks(context: Context, kind: str = "") -> bool:
    """Whether most of the time in collectives is in those that last too long for what they move.

    Args:
        context: the steps.
        kind: as `CollectiveCalls` names it, "" for all.
    """
    calls, counted = _calls(context, kind)
    time, known = np.where(counted, calls.end - calls.start, 0), calls.bytes >= 0
    if time[known].sum() < _JUDGED * time.sum():
        return False
    long = time > np.where(calls.on_device, _LATENCY_NS, _LATENCY_ON_HOST_NS)
    long &= known & (calls.bytes < _SLOW * time)
    return bool(time[long].sum() > _MOST * time.sum())


def are_tiny(context: Context, kind: str) -> bool:
    """Whether all messages of a kind of collective are so small that they take only latency."""
    calls, counted = _calls(context, kind)
    sizes = calls.bytes[counted]
    return bool(len(sizes) and (sizes >= 0).all() and (sizes <= _TINY).all())


def _calls(context: Context, kind: str) -> tuple[CollectiveCalls, Bool]:
    """All collectives, and which of them are of a kind, of several ranks and in measured steps."""
    analysis = context.analysis
    calls = find_collectives(analysis.host, analysis.device_events, analysis.kinds)
    counted = lookup(context.rows.counted, calls.row) == 1
    counted &= calls.ranks != 1
    return calls, counted & np.array([not kind or each == kind for each in calls.kind], bool)


def has_ddp(context: Context) -> bool:
    """Whether DistributedDataParallel marks anything in the trace."""
    return context.any_name(lambda name: "DistributedDataParallel" in name or "reducer::" in name)


def transfers_of(context: Context, rows: TreeRow) -> Bool:
    """Communication that some collectives (call tree rows) launched, shape (d,)."""
    asked = mask_of(rows, len(context.call_tree))
    return context.device_events.launched_by(
        context.rows.inside(asked)
    ) & context.device_events.of_kinds("communication")
