"""The profiler's ranges: how one is made and closed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import torch

from tb_hookview.recorder.costs import Costs


class Range(Protocol):
    """A named range of the profiler: entered and left on one thread."""

    def __enter__(self) -> object: ...

    def __exit__(self, kind: Any, value: Any, traceback: Any, /) -> object: ...


# An order of magnitude cheaper than record_function (0.7 us against 7 us while recording), which
# stands in where torch has no such thing. It aborts the process on a wrong argument: pass the name
# and nothing else.
new_range: Callable[[str], Range] = getattr(
    torch._C._profiler, "_RecordFunctionFast", torch.profiler.record_function
)


Entry = tuple[object, Range, int]
"""An open range: who opened it, the range, and the number of the first autograd node that the call
can make (0 where nobody asked for it)."""


class BackwardNames:
    """Names of the marks around the backward of a module's calls."""

    __slots__ = ("after", "before", "costs")

    def __init__(self, before: str, after: str, costs: Costs | None = None) -> None:
        """Hold the names.

        Args:
            before, after: of the marks.
            costs: where to note what they cost, for a module that is timed.
        """
        self.before = before
        self.after = after
        self.costs = costs


Note = tuple[BackwardNames, int, int]
"""A call that ended: the names of its marks, the numbers of its first node and of the next one."""


class ThreadNotes(NamedTuple):
    """The calls that ended on one thread, in that order."""

    native_id: int
    calls: list[Note]


class Recording:
    """What the threads of one recording share."""

    __slots__ = ("afterwards", "is_over", "notes", "stacks")

    def __init__(self, *, afterwards: bool = False) -> None:
        """Begin.

        Args:
            afterwards: the backward is to be marked when the file is written.
        """
        self.afterwards = afterwards
        self.is_over = False
        self.stacks: list[list[Entry]] = []
        """The open ranges of each thread."""
        self.notes: list[ThreadNotes] = []


def close_above(stack: list[Entry], opener: object) -> Entry | None:
    """Close the ranges above the innermost one of an opener; take that from the stack, still open.

    A BaseException such as KeyboardInterrupt passes modules without calling their hooks, and a
    call that began before the hooks were attached has no range at all: then the answer is None.
    """
    if all(entry[0] is not opener for entry in stack):
        return None
    while True:
        entry = stack.pop()
        if entry[0] is opener:
            return entry
        entry[1].__exit__(None, None, None)


_abandoned: list[Entry] = []


def let_go(stack: list[Entry], *, is_safe: bool) -> None:
    """Empty a stack: the calls that opened these ranges ended without a word.

    Args:
        stack: the open ranges of this thread.
        is_safe: whether they are surely of the recording that is under way. Under a bare profiler
            one may be left from an earlier recording (a forward that Ctrl-C ended), and torch
            writes a range's end into memory that it freed when that recording ended. Then they
            are neither closed nor dropped, ever.
    """
    if not is_safe:
        _abandoned.extend(stack)
        stack.clear()
    while stack:
        stack.pop()[1].__exit__(None, None, None)
