"""Sequences of kernels in a row on one stream that one fused kernel could replace.

Kernels that work element by element, or reduce, copy or fill, follow each other in runs:

    gpu 7  [gemm][add][mul][gelu][gemm][add][mul][gelu][gemm]
                 ------ run ----       ------ run ----

A run of up to `SHORT` kernels is one sequence. A longer one, as a loop over parameters makes it,
counts as what is repeated in it directly, and what is between.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.arrays.joins import dense_rank, first_of_each, isin
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Int
from tb_hookview.schema import KINDS
from tb_hookview.trace import EventCategory

SHORT = 16
"""Kernels of a sequence at most, where a longer one repeats itself."""
_FUSABLE = [KINDS.index(kind) for kind in ("elementwise", "reduction", "copy", "set")]
_LEFT_OUT = re.compile(r"triton_|nchwToNhwc|nhwcToNchw|batched_transpose_|SubTensorOp")
"""Begin of names of kernels that a compiler fused already, or that are part of a library's call."""


class Sequences(Struct, frozen=True):
    """Occurrences of sequences, none in two; kernels in arrays of shape (k,).

    Sequences with equal names in the same order have the same number; each occurs at least twice.
    """

    kernel: DeviceEventIndex
    """Kernels by occurrence, in the order of their stream."""
    occurrence: Int
    """Occurrence of each kernel, ascending from 0."""
    sequence: Int
    """Sequence of each occurrence, shape (o,); numbered by their first occurrences."""


def find_sequences(analysis: Analysis, chosen: Bool) -> Sequences:
    """Find the sequences that occur twice or more among chosen device events."""
    kernel, run = _runs(analysis, fusable(analysis) & chosen)
    name = analysis.trace.events.name[analysis.device_events.event[kernel]].astype(np.int64)
    kernel, occurrence, content = _occurrences(kernel, run, name)
    often = np.bincount(content) > 1 if len(content) else np.zeros(0, bool)
    kept = often[content]
    number = np.cumsum(kept) - 1
    mine = kept[occurrence]
    return Sequences(kernel[mine], number[occurrence[mine]], _by_first(content[kept]))


def fusable(analysis: Analysis) -> Bool:
    """Kernels of kinds that can be fused, launched in the trace; shape (d,)."""
    events, device_events = analysis.trace.events, analysis.device_events
    texts = analysis.trace.strings.texts
    plain = (text.removeprefix("void ") for text in texts)
    left_out = np.array([_LEFT_OUT.match(text) is not None for text in plain] or [False])
    return np.asarray(
        isin(analysis.kinds.kind, _FUSABLE)
        & (events.kind[device_events.event] == EventCategory.KERNEL)
        & (device_events.launch >= 0)
        & ~left_out[events.name[device_events.event]]
    )


def _runs(analysis: Analysis, wanted: Bool) -> tuple[DeviceEventIndex, Int]:
    """Wanted kernels with others next to them on their stream, and the run of each.

    A run is of one step and phase.
    """
    work = analysis.device_events
    order = np.lexsort((work.event, work.start, work.stream, work.device))
    step = analysis.device_event_step
    phase = lookup(analysis.phases.row, work.launch)
    breaks = np.ones(len(order), bool)
    breaks[1:] = ~(wanted[order][1:] & wanted[order][:-1])
    for column in (work.device, work.stream, step, phase):
        breaks[1:] |= column[order][1:] != column[order][:-1]
    run = (np.cumsum(breaks) - 1)[wanted[order]]
    kernel = order[wanted[order]]
    many = np.bincount(run, minlength=1)[run] > 1
    return kernel[many], dense_rank(run[many])


def _occurrences(
    kernel: DeviceEventIndex, run: Int, name: Int
) -> tuple[DeviceEventIndex, Int, Int]:
    """Kernels of occurrences, the occurrence of each, and what each occurrence consists of."""
    begin = np.append(np.flatnonzero(np.diff(run, prepend=-1)), len(run))
    names = name.tolist()
    pieces: list[tuple[int, int]] = []
    contents: list[int] = []
    known: dict[tuple[int, ...], int] = {}
    cuts: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for first, end in zip(begin[:-1].tolist(), begin[1:].tolist(), strict=True):
        whole = tuple(names[first:end])
        if whole not in cuts:
            cuts[whole] = list(cut(whole))
        for low, high in cuts[whole]:
            pieces.append((first + low, first + high))
            contents.append(known.setdefault(whole[low:high], len(known)))
    bounds = np.array(pieces, np.int64).reshape(-1, 2)
    length = bounds[:, 1] - bounds[:, 0]
    occurrence = np.repeat(np.arange(len(length)), length)
    within = np.arange(len(occurrence)) - np.repeat(np.cumsum(length) - length, length)
    return kernel[bounds[occurrence, 0] + within], occurrence, np.array(contents, np.int64)


def cut(run: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Begin and end of the sequences of a run, which are of two kernels or more."""
    if len(run) <= SHORT:
        yield 0, len(run)
        return
    since, place = 0, 0
    repeated = _repeats(np.array(run))
    while place < len(run):
        period, times = repeated[place]
        if times < 2:
            place += 1
            continue
        if place - since > 1:
            yield since, place
        yield from ((place + at * period, place + (at + 1) * period) for at in range(times))
        since = place = place + period * times
    if place - since > 1:
        yield since, place


def _repeats(run: Int) -> list[tuple[int, int]]:
    """What begins at each kernel and follows itself directly: its length, and how often it comes.

    Of several the one that covers most, then the shortest; 1 time where nothing does.
    """
    size = len(run)
    best, covered = np.ones((size, 2), np.int64), np.zeros(size, np.int64)
    for period in range(2, SHORT + 1):
        differs = np.append(np.flatnonzero(run[period:] != run[:-period]), size - period)
        at = np.arange(size - period)
        alike = differs[np.searchsorted(differs, at)] - at
        times = alike // period + 1
        better = np.flatnonzero((times > 1) & (times * period > covered[: size - period]))
        covered[better] = times[better] * period
        best[better] = np.stack([np.full(len(better), period), times[better]], axis=1)
    return [(period, times) for period, times in best.tolist()]


def _by_first(content: Int) -> Int:
    """Numbers from 0 in the order in which values first come."""
    if not len(content):
        return content
    rank = dense_rank(content)
    place = np.argsort(np.argsort(first_of_each(rank)))
    return np.asarray(place[rank])
