"""What of a trace's events is read: who needs little of them reads them sooner."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tb_hookview.trace.format.arguments import ARGUMENTS, Argument

_COLUMNS = frozenset(argument.column for argument in ARGUMENTS)


class Wanted(NamedTuple):
    """What is read of a trace's events; by default everything.

    Every event is decoded and counted, whatever is wanted; notices on rows count those that are
    read. The first to begin and the last to end of all rows are read in any case.
    """

    columns: frozenset[str] = _COLUMNS
    """Columns of `ARGUMENTS`; others are of shape (0,), so that no value of them passes for one."""
    texts_of: Callable[[str], bool] | None = None
    """Whether rows of a name have their arguments of texts read; None for all rows."""
    functions: Callable[[str], bool] | None = None
    """Whether rows of Python functions of a name are read; None for all rows."""
    details: bool = True
    """Whether `Trace.memory`, `out_of_memory` and `cuda_syncs` are read, else they are empty."""

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments of its columns, in the order of `ARGUMENTS`."""
        return tuple(argument for argument in ARGUMENTS if argument.column in self.columns)


EVERYTHING = Wanted()
