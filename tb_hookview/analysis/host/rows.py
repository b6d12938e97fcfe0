"""Host rows: the call tree with name, role and sequence number of each row."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.host.roles import EVALUATE, MODULE_ROLES, Role, node_name
from tb_hookview.analysis.host.threads import device_threads
from tb_hookview.arrays.joins import isin, unique, unique_inverse
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import Bool, Code, EventRow, Int, StringIndex, TreeRow
from tb_hookview.trace import EventCategory, Trace

_NAMING = (
    *(Role.NONE, Role.NODE, Role.GRADIENT_SINK, Role.OPTIMIZER, Role.COLLECTION),
    *MODULE_ROLES,
)


class HostRows(Struct, frozen=True, dict=True):
    """Rows of the call tree; columns of shape (n,)."""

    trace: Trace
    call_tree: CallTree
    role: Int
    """`Role` of each row."""

    def __len__(self) -> int:
        return len(self.call_tree)

    @cached_property
    def string(self) -> StringIndex:
        """Name, as an index into the trace's strings."""
        return self.trace.events.name[self.call_tree.event].astype(np.int64)

    @cached_property
    def names(self) -> list[int]:
        """Every name that a row has once, as an index into the trace's strings, ascending."""
        return unique(self.string).tolist()  # type: ignore[no-any-return]

    def named(self, test: Callable[[str], object]) -> TreeRow:
        """Rows whose name passes a test, ascending."""
        texts = self.trace.strings.texts
        names = [name for name in self.names if test(texts[name])]
        if not names:
            return np.zeros(0, np.int64)
        passing = np.zeros(len(texts), bool)
        passing[names] = True
        return np.flatnonzero(passing[self.string])

    @cached_property
    def kind(self) -> Code:
        """`EventCategory` of the event."""
        return self.trace.events.kind[self.call_tree.event]

    @cached_property
    def naming(self) -> EventRow:
        """Events of operators and annotations whose names say what the host does, ascending.

        Steps, marks and calls are none.
        """
        named = isin(self.kind, [int(EventCategory.OPERATOR), int(EventCategory.ANNOTATION)])
        named &= isin(self.role, [int(role) for role in _NAMING])
        return np.sort(self.call_tree.event[named | (self.role == Role.MODULE_LABEL)])

    @cached_property
    def operator_around(self) -> TreeRow:
        """Innermost operator strictly around each row; marks and annotations do not count."""
        role, operator = self.role, self.kind == EventCategory.OPERATOR
        plain = (role == Role.NONE) | (role == Role.NODE) | (role == Role.GRADIENT_SINK)
        if (plain | ~operator).all():
            return self.any_operator_around
        return self.call_tree.nearest_above(operator & plain)

    @cached_property
    def any_operator_around(self) -> TreeRow:
        """Innermost operator strictly around each row, whatever its role."""
        return self.call_tree.nearest_above(self.kind == EventCategory.OPERATOR)

    @cached_property
    def device_threads(self) -> Bool:
        """Whether each thread of the trace is a device's."""
        return device_threads(self.trace)

    @cached_property
    def process(self) -> Int:
        """A number for the process of each thread of the trace."""
        numbers: dict[str, int] = {}
        threads = self.trace.threads
        return np.array([numbers.setdefault(t.pid, len(numbers)) for t in threads], np.int64)

    @cached_property
    def sequence(self) -> Int:
        """Autograd sequence number, -1 for none."""
        return self._numbers[0]

    @cached_property
    def forward_thread(self) -> Int:
        """Profiler's number of the thread whose forward made this node, 0 for none."""
        return self._numbers[1]

    @cached_property
    def _numbers(self) -> tuple[Int, Int]:
        """Sequence numbers and forward threads.

        torch copies a node's to its evaluation from the next row only. A mark that a hook left
        before the node ran takes that place. Such an evaluation gets them here from the node's own
        row inside it.
        """
        sequence = self.trace.events.sequence[self.call_tree.event].copy()
        forward_thread = self.trace.events.forward_thread[self.call_tree.event].copy()
        # A gradient that is not accumulated but returned has no row inside, so that the number of
        # another node was copied.
        sinks = self._evaluations_of("AccumulateGrad")
        sequence[sinks], forward_thread[sinks] = -1, 0
        unnumbered = (self.role == Role.NODE) & (sequence < 0)
        inside = np.flatnonzero((sequence >= 0) & (forward_thread > 0))
        inside = inside[lookup(unnumbered.astype(np.int64), self.call_tree.parent[inside]) > 0]
        inside = inside[self._names_node(inside, self.call_tree.parent[inside])]
        sequence[self.call_tree.parent[inside]] = sequence[inside]
        forward_thread[self.call_tree.parent[inside]] = forward_thread[inside]
        return sequence, forward_thread

    def _evaluations_of(self, node: str) -> TreeRow:
        """Rows that evaluate nodes of a name."""
        rows, texts = np.flatnonzero(self.role == Role.NODE), self.trace.strings
        strings = self.string[rows]
        wanted = [n for n in unique(strings).tolist() if _evaluates(texts[n], node)]
        return rows[isin(strings, wanted)]

    def _names_node(self, row: TreeRow, evaluation: TreeRow) -> Bool:
        """Whether each row has the name of the node that the evaluation is of."""
        texts = self.trace.strings
        number = {texts[string]: string for string in unique(self.string[row]).tolist()}
        wanted, place = unique_inverse(self.string[evaluation])
        names = [number.get(node_name(texts[string]), -1) for string in wanted.tolist()]
        return np.asarray(self.string[row] == np.array(names, np.int64)[place])

    def name(self, row: int) -> str:
        """Name of one row."""
        return self.trace.strings[int(self.string[row])]

    def role_of(self, row: int) -> Role:
        """Role of one row."""
        return _ROLES[int(self.role[row])]


_ROLES = tuple(Role)


def _evaluates(text: str, node: str) -> bool:
    return text.startswith(EVALUATE) and text.rpartition(":")[2] == node
