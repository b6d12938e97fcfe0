"""Parts of an answer that fail alone: the rest is given, and the fault is reported.

`HOOKVIEW_STRICT=1` lets a fault through with its traceback instead; our own tests set it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from traceback import extract_tb
from typing import NamedTuple, TypeVar

from tb_hookview.errors import HookviewError

STRICT = "HOOKVIEW_STRICT"
_PACKAGE = Path(__file__).parent

Made = TypeVar("Made")


def is_strict() -> bool:
    """Whether a fault of ours ends the program."""
    return os.environ.get(STRICT, "") not in ("", "0")


class Failure(NamedTuple):
    """A part that failed."""

    part: str
    """What is missing, as in "rule gradients-kept"."""
    fault: str
    """Type of the exception and the line of ours that raised it; no text of the trace."""


class Failures:
    """What failed while an answer was made."""

    def __init__(self, found: Iterable[Failure] = ()) -> None:
        self.found = [*found]

    def attempt(self, part: str, make: Callable[[], Made], otherwise: Made) -> Made:
        """What `make` returns; where it fails, `otherwise`.

        Raises:
            HookviewError, MemoryError: what is not a fault of this part.
        """
        try:
            return make()
        except (HookviewError, MemoryError):
            raise
        # A fault of ours in one part must not take the others down; it is reported as a warning.
        except Exception as fault:
            if is_strict():
                raise
            failure = Failure(part, f"{type(fault).__name__} in {_place(fault)}")
            if failure not in self.found:
                self.found.append(failure)
            return otherwise


def _place(fault: Exception) -> str:
    """The innermost line of this package, as `rules/sync/training.py:40`."""
    for frame in reversed(extract_tb(fault.__traceback__)):
        path = Path(frame.filename)
        if _PACKAGE in path.parents:
            return f"{path.relative_to(_PACKAGE).as_posix()}:{frame.lineno}"
    return "no line of ours"
