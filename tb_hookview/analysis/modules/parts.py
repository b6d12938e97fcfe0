"""Times shared out among modules: a compiled kernel may serve several."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_hookview.arrays.sums import sum_by
from tb_hookview.arrays.types import Bool, Int, ModuleIndex, Nanoseconds


class Parts(Struct, frozen=True):
    """Parts of device events, or of nodes; arrays of shape (p,).

    The times of the parts of one index sum to its time exactly. Most have one part.
    """

    index: Int
    """Device event, or node."""
    module: ModuleIndex
    """-1 for none."""
    evidence: Int
    """Index into EVIDENCE; -1 for none, and outside the backward pass but in compiled graphs."""
    time: Nanoseconds
    main: Bool
    """The one part of each index that counts as its module's."""

    def of(self, chosen: Bool) -> Parts:
        """Parts of the chosen device events or nodes, a mask over these."""
        return self.where(chosen[self.index])

    def where(self, wanted: Bool) -> Parts:
        """Some of the parts, by a mask over these."""
        mine = np.flatnonzero(wanted)
        return Parts(
            self.index[mine],
            self.module[mine],
            self.evidence[mine],
            self.time[mine],
            self.main[mine],
        )

    def by_module(self, size: int) -> Nanoseconds:
        """Sum of the parts of each of `size` modules."""
        return sum_by(self.module, self.time, size)


def whole(module: ModuleIndex, evidence: Int, time: Nanoseconds) -> Parts:
    """One part for each index."""
    return Parts(np.arange(len(module)), module, evidence, time, np.ones(len(module), bool))


def joined(first: Parts, second: Parts) -> Parts:
    """Parts of both."""
    return Parts(
        np.concatenate([first.index, second.index]),
        np.concatenate([first.module, second.module]),
        np.concatenate([first.evidence, second.evidence]),
        np.concatenate([first.time, second.time]),
        np.concatenate([first.main, second.main]),
    )


def replaced(parts: Parts, by: Parts) -> Parts:
    """Parts with time moved from the only part of an index to others of the same index."""
    time = parts.time.copy()
    np.subtract.at(time, by.index, by.time)
    return joined(replace(parts, time=time), by)
