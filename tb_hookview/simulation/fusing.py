"""What is gone where one kernel does the work of a sequence of them."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.kernel_sequences import Sequences
from tb_hookview.analysis.operators import OperatorCalls
from tb_hookview.arrays.joins import setdiff, unique
from tb_hookview.arrays.types import Bool, DeviceEventIndex, TreeRow
from tb_hookview.simulation.changes import Change, DeviceChange, together
from tb_hookview.simulation.questions import host_rows


def longest_kernels(sequences: Sequences, calls: OperatorCalls) -> Bool:
    """Whether each kernel is the longest of its occurrence, one of each; shape (k,)."""
    duration = calls.selection.analysis.device_events.duration[sequences.kernel]
    order = np.lexsort((-duration, sequences.occurrence))
    longest = np.zeros(len(order), bool)
    longest[order[np.flatnonzero(np.diff(sequences.occurrence, prepend=-1))]] = True
    return longest


def fused(calls: OperatorCalls, gone: DeviceEventIndex) -> Change:
    """Change in which some kernels are part of another one: the most that fusing can save.

    Neither they take time, nor the calls that launched nothing else, nor the innermost operators
    around these, nor the pauses before them.
    """
    analysis = calls.selection.analysis
    launch = analysis.device_events.launch
    rows = np.concatenate([_alone(launch, gone), _alone(calls.launcher, gone)])
    device = Change(device=(DeviceChange(gone),), pauses=gone)
    return together([device, host_rows(analysis, unique(rows), 0.0)])


def _alone(row: TreeRow, gone: DeviceEventIndex) -> TreeRow:
    """Rows of the call tree around the launches of these device events, and of no others."""
    kept = np.ones(len(row), bool)
    kept[gone] = False
    alone = setdiff(unique(row[gone]), unique(row[kept]))
    return alone[alone >= 0]
