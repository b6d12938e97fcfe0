"""Ids of rows, as `schema/report.py` defines them."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.arrays.joins import pair_key, unique_inverse
from tb_hookview.arrays.types import EventRow, Int
from tb_hookview.schema import KINDS
from tb_hookview.trace import EventCategory

NO_EVENT = np.iinfo(np.int64).max


def first_events(group: Int, event: EventRow) -> EventRow:
    """Least event of each group, shape (largest group + 1,); NO_EVENT for none."""
    first = np.full(int(group.max(initial=-1)) + 1, NO_EVENT)
    np.minimum.at(first, group, event)
    return first


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
