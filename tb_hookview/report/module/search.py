"""Modules whose own device events have a text in their names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.selection import select
from tb_hookview.arrays.joins import unique, unique_inverse
from tb_hookview.errors import UsageError
from tb_hookview.schema.module import KernelSearch

MOST_TEXT = 200
"""Characters of a text that is looked for."""
MOST_FOUND = 2000
"""Modules in an answer."""


def search_kernels(
    analysis: Analysis, text: str, steps: Sequence[str] | None = None
) -> KernelSearch:
    """Find modules by the names of their own device events, whatever the text's case.

    Raises:
        NotFoundError: the trace has no step of that name.
        UsageError: the text is empty, or longer than `MOST_TEXT`.
    """
    wanted = text.strip().lower()
    if not wanted or len(wanted) > MOST_TEXT:
        raise UsageError(f"the query needs q=TEXT, of at most {MOST_TEXT} characters")
    chosen = np.flatnonzero(select(analysis, steps).device_events)
    strings, name = unique_inverse(analysis.trace.events.name[analysis.device_events.event[chosen]])
    names = [analysis.trace.strings[string].lower() for string in strings.tolist()]
    holds = np.array([wanted in name for name in names], bool)
    matching = np.zeros(len(analysis.device_events), bool)
    matching[chosen[holds[name]]] = True
    module = analysis.device_parts.of(matching).module
    found = unique(module[module >= 0]).tolist()
    paths = list(dict.fromkeys(analysis.modules.path[index] for index in found))
    return KernelSearch(int(holds.sum()), paths[:MOST_FOUND], max(0, len(paths) - MOST_FOUND))
