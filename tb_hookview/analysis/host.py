"""Host rows and what each of them says: the ground that most questions are asked on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tb_hookview.analysis.forest import Forest
from tb_hookview.analysis.names import Role
from tb_hookview.trace import Trace
from tb_hookview.trace.columns import Int


@dataclass(frozen=True)
class Host:
    """The nested host rows of a trace; columns over the forest's rows, shape (n,)."""

    trace: Trace
    forest: Forest
    role: Int
    """`Role` of each row."""

    def __len__(self) -> int:
        return len(self.forest)

    @cached_property
    def string(self) -> Int:
        """Name, as an index into the trace's strings."""
        return self.trace.events.name[self.forest.event].astype(np.int64)

    @cached_property
    def kind(self) -> NDArray[np.int8]:
        """`Kind` of the event."""
        return self.trace.events.kind[self.forest.event]

    @cached_property
    def sequence(self) -> Int:
        """Autograd sequence number, -1 for none."""
        return self.trace.events.sequence[self.forest.event]

    @cached_property
    def forward_thread(self) -> Int:
        """Profiler's number of the thread whose forward made this node, 0 for none."""
        return self.trace.events.forward_thread[self.forest.event]

    def name(self, row: int) -> str:
        """Name of one row."""
        return self.trace.strings[int(self.string[row])]

    def role_of(self, row: int) -> Role:
        """Role of one row."""
        return Role(int(self.role[row]))
