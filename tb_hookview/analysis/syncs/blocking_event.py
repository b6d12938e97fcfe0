"""What each wait of the host waited for: the device work that took the longer part of it."""

from __future__ import annotations

import numpy as np

from tb_hookview.analysis.device.events import DeviceEvents
from tb_hookview.analysis.syncs.detection import Syncs
from tb_hookview.arrays.joins import asof
from tb_hookview.arrays.nesting import ROUNDING_NS, CallTree, lookup
from tb_hookview.arrays.types import Int


def waited_for(call_tree: CallTree, work: DeviceEvents, syncs: Syncs) -> Int:
    """Index of the work that each wait waited for, -1 where none ended in it; shape (w,).

    A copy that waits launches work of its own, which begins when what is ahead of it has ended:
    that or the copy itself, whichever took the longer part of the wait. Any other wait is for the
    work that ended last before it returned, on any device.
    """
    own = _own_work(call_tree, work, syncs)
    until = np.where(own >= 0, lookup(work.start, own), syncs.end + ROUNDING_NS)
    ahead = np.full(len(syncs), -1, np.int64)
    for chosen, key in ((own >= 0, work.device), (own < 0, np.zeros(len(work), np.int64))):
        asked = np.where(own[chosen] >= 0, lookup(work.device, own[chosen]), 0)
        ahead[chosen] = asof(key, work.end, asked, until[chosen])
    waited = np.maximum(lookup(work.end, ahead) - syncs.start, 0)
    ahead[waited == 0] = -1
    itself = (own >= 0) & (lookup(work.duration, own) > waited)
    return np.where(itself | (ahead < 0), own, ahead)


def _own_work(call_tree: CallTree, work: DeviceEvents, syncs: Syncs) -> Int:
    """The last work that the wait's own calls launched, -1 for none."""
    launched = np.flatnonzero(work.launch >= 0)
    launch = work.launch[launched]
    start = call_tree.start[launch]
    found = asof(call_tree.thread[launch], start, call_tree.thread[syncs.row], syncs.end - 1)
    return np.where(lookup(start, found) >= syncs.start, lookup(launched, found), -1)
