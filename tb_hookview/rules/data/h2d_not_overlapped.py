"""Copies from pinned memory on the stream of the kernels, which run after them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import isin, setdiff, unique
from tb_hookview.arrays.types import DeviceEventIndex
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence import copies
from tb_hookview.trace import EventCategory

_SHARE = 0.02
"""Part of a step from which such copies count."""


def _find(context: Context) -> Iterator[Occurrence]:
    found = _on_stream_of_kernels(context)
    found = setdiff(found, context.syncs.copy)
    alone = copies.exposed(context, found)
    found = found[alone > 0]
    if context.steps.us_per_step(alone.sum()) > _SHARE * context.steps.duration_us > 0:
        yield from copies.by_place_of_copies(context, found, saved=1.0, caveats=(_BOUND,))


_BOUND = "The gain is at most the time that other device events of a step can hide."


def _on_stream_of_kernels(context: Context) -> DeviceEventIndex:
    """Copies from pinned memory, in measured steps, on a stream that runs kernels too."""
    work, events = context.analysis.device_events, context.analysis.trace.events
    stream, kind = events.thread[work.event], events.kind[work.event]
    kernels = isin(stream, unique(stream[kind == EventCategory.KERNEL]))
    wanted = (
        copies.uploads(context, copies.PINNED)
        & context.device_events.counted
        & kernels
        & (work.launch >= 0)
    )
    return np.flatnonzero(wanted)


RULE = Rule(
    id="h2d-not-overlapped",
    family="data-movement",
    title="Host-to-device copies do not overlap with kernels",
    description="Copies from pinned memory that do not block, on a stream that runs kernels, and "
    "that no kernel overlaps for over 2% of a step.",
    fix="Copy the next batch on a separate stream while this one is computed: wait_stream before "
    "its use, record_stream on its tensors. Ship compact types, such as uint8 images and int32 "
    "ids, and convert them on the device.",
    reference="CUDA semantics, CUDA streams; PyTorch, A guide on good usage of non_blocking and "
    "pin_memory()",
    find=_find,
)
