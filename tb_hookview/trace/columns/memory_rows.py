"""Events of torch's allocators, collected piece by piece."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np

from tb_hookview.arrays.types import Index, Int, Nanoseconds
from tb_hookview.trace.columns.rare_rows import integer
from tb_hookview.trace.columns.trace import Memory
from tb_hookview.trace.format.arguments import MEMORY
from tb_hookview.trace.format.events import MemoryArguments

TABLES = {"[memory]": "memory", "[OutOfMemory]": "out_of_memory"}
"""Tables of `Trace` by the names of the instants that are their rows."""

_VALUES_OF = attrgetter(*MEMORY)


class MemoryRows:
    """Rows in file order, which become tables of `Trace`."""

    def __init__(self) -> None:
        self._parts: dict[str, list[Int]] = {name: [] for name in TABLES}
        # Arrays of shape (rows, 2 + arguments): a tuple for each would take ten times the memory.

    def add(self, name: str, time: Nanoseconds, place: Index, details: list[Any]) -> None:
        """Take the instants of a piece that have a name.

        Args:
            name: key of `TABLES`.
            time, place: of each instant; places are numbered as by the builder.
            details: arguments of each, at least one: all `MemoryArguments`, or as `decode_details`
                returns them.
        """
        values: Iterable[object] = chain.from_iterable(map(_VALUES_OF, details))
        if not isinstance(details[0], MemoryArguments):
            values = map(integer, values)
        columns = np.fromiter(values, np.int64, len(details) * len(MEMORY))
        columns = columns.reshape(-1, len(MEMORY))
        self._parts[name].append(np.column_stack([time, place, columns]).astype(np.int64))

    def absorb(self, later: MemoryRows, place: Index) -> None:
        """Append rows of another process, whose places have the numbers given."""
        for name, parts in later._parts.items():
            for part in parts:
                part[:, 1] = place[part[:, 1]]
            self._parts[name] += parts

    def tables(self, thread: Index) -> dict[str, Memory]:
        """Tables by their names in `Trace`, given the thread of each place."""
        return {TABLES[name]: _table(parts, thread) for name, parts in self._parts.items()}


def _table(parts: list[Int], thread: Index) -> Memory:
    whole = np.concatenate([np.zeros((0, 2 + len(MEMORY)), np.int64), *parts])
    time, place, *arguments = np.ascontiguousarray(whole.T)
    return Memory(time, thread[place], *arguments)
