"""`non_blocking=True` on memory that is not pinned: the call lasts as long as the copy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.arrays.joins import setdiff, union
from tb_hookview.arrays.types import Bool, DeviceEventIndex
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence import copies

_LONG_NS = 50_000
_LONG_SHARE = 0.5
"""Time, or part of its copy's device time, from which a call is long."""


def _explains(context: Context) -> Bool:
    return copies.syncs_for(context, _unpinned(context)) & ~copies.blocking(context)


def _find(context: Context) -> Iterator[Occurrence]:
    syncs = context.syncs
    explained = syncs.copy[context.explained_by(RULE) & context.syncs.counted & _large(context)]
    return copies.by_place_of_copies(
        context,
        union(explained, _long_calls(context)),
        pinning=True,
    )


def _unpinned(context: Context) -> Bool:
    return copies.uploads(context, copies.PAGEABLE)


def _large(context: Context) -> Bool:
    """Syncs for a copy that is not small."""
    return copies.syncs_for(context, ~copies.small(context))


def _long_calls(context: Context) -> DeviceEventIndex:
    """Copies that no sync is for and whose call was long nevertheless."""
    work, call_tree = context.analysis.device_events, context.call_tree
    counted = _unpinned(context) & context.device_events.counted & ~copies.small(context)
    found = setdiff(np.flatnonzero(counted & (work.launch >= 0)), context.syncs.copy)
    call = call_tree.duration[work.launch[found]]
    long = (call > _LONG_NS) | (call >= _LONG_SHARE * work.duration[found])
    return np.asarray(found[long & context.rows.on_training_thread(work.launch[found])])


RULE = Rule(
    id="h2d-nonblocking-unpinned",
    family="data-movement",
    title="non_blocking=True has no effect on copies from pageable memory",
    description="A copy from pageable memory to the device, larger than 64 KiB, without a "
    "synchronize after it, whose call lasts over 50 us or half of the copy.",
    fix="Pin in the loader: DataLoader(pin_memory=True) does it in a separate thread. "
    "Without it the flag non_blocking has no effect, and .pin_memory() in the loop costs more than "
    "it saves.",
    reference="PyTorch, A guide on good usage of non_blocking and pin_memory(); Nsight Systems "
    "rule cuda_memcpy_async",
    explains=_explains,
    find=_find,
)
