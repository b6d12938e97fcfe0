"""The texts that lanes show: those of the trace, then some of our own."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.schema import Phase, module_label

LONGEST_LABEL = 256
"""Most characters of a name in a list; the event's detail has all of them."""

PATH_NAMES = (
    "host",
    "launch latency",
    "next on the stream",
    "return of the sync",
    "hand-over between threads",
    "full launch queue",
    "from stream to stream",
    "launched before the steps",
    "waiting for other ranks",
    "data loading",
    "unexplained pause",
)
"""Names of pieces of the critical path: by `EdgeKind`, then two more."""


_CAUSES = {
    Cause.SYNC: "syncs",
    Cause.COPY: "copies",
    Cause.KERNEL_LOADING: "lazy kernel loading",
    Cause.LAUNCH: "launch-bound",
    Cause.DEVICE: "idle with work queued",
}
"""Causes of idle time that the page calls other than the report's fields."""


def label(name: str, longest: int = LONGEST_LABEL) -> str:
    """A name, cut to a number of characters."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


class LaneNames:
    """All names, and where each group of our own begins.

    Attributes:
        texts: names of the trace, steps, phases, causes of idle time, modules, modules again, what
            pieces of the critical path are where no event has a name for them.
    """

    def __init__(self, analysis: Analysis) -> None:
        paths = [module_label(path) for path in analysis.modules.path]
        groups = (
            analysis.trace.strings.texts,
            analysis.steps.name,
            [phase.name.lower() for phase in Phase],
            [_CAUSES.get(cause, cause.name.lower().replace("_", " ")) for cause in Cause],
            paths,
            [f"{path}, recomputed" for path in paths],
            PATH_NAMES,
        )
        self.texts = tuple(text for group in groups for text in group)
        begins = np.cumsum([0, *map(len, groups)]).tolist()
        _, self.step, self.phase, self.cause, self.module, self.recomputed, self.path, _ = begins

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """All names, no longer than a list or a block can show."""
        return tuple(map(label, self.texts))

    @cached_property
    def lower(self) -> tuple[str, ...]:
        """All names in lower case, to search in."""
        return tuple(text.lower() for text in self.texts)
