"""Source of each module: from our recorder's manifest, else from Python stacks.

The manifest holds where a module's class is defined. Without it, the source is the first frame
named `forward` in the module's first call, before a module inside is called.
"""

from __future__ import annotations

import re

import numpy as np

from tb_hookview.analysis.host.roles import Role
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.modules.tree import ModuleCalls, Modules
from tb_hookview.arrays.joins import asof, first_of_each
from tb_hookview.arrays.types import EventRow, Int, ModuleIndex, Nanoseconds, TreeRow
from tb_hookview.trace import EventCategory
from tb_hookview.trace.format.manifest import Manifest

_FORWARD = re.compile(r"(?P<file>.+)\((?P<line>\d+)\): forward")


def module_sources(
    host: HostRows, modules: Modules, module_calls: ModuleCalls
) -> tuple[str | None, ...]:
    """`file.py:line` of each module, `file.py` where the line is unknown; None where neither is."""
    shown = _in_stacks(host, module_calls, len(modules))
    listed = _listed(host.trace.manifest)
    return tuple(
        listed.get(path) or in_stack for path, in_stack in zip(modules.path, shown, strict=True)
    )


def _listed(manifest: Manifest | None) -> dict[str, str]:
    """Source by the module's path, from the manifest."""
    found: dict[str, str] = {}
    for module in manifest.modules if manifest else ():
        if module.file:
            known = module.line is not None
            found.setdefault(module.path, f"{module.file}:{module.line}" if known else module.file)
    return found


def _in_stacks(host: HostRows, module_calls: ModuleCalls, count: int) -> list[str | None]:
    """Source lines of each module's `forward`, None where no stack shows it."""
    found: list[str | None] = [None] * count
    frames = _forward_frames(host)
    if not len(frames):
        return found
    is_call = (module_calls.module >= 0) & (module_calls.role != Role.LABEL)
    calls = np.flatnonzero(is_call)
    first = calls[_first_of_each(module_calls.module[calls], host.call_tree.start[calls])]
    events, texts = host.trace.events, host.trace.strings
    frame = _first_inside(host, first, calls, frames)
    for module, row in zip(module_calls.module[first].tolist(), frame.tolist(), strict=True):
        if row >= 0 and (match := _FORWARD.fullmatch(texts[int(events.name[row])])):
            found[module] = f"{match['file']}:{match['line']}"
    return found


def _forward_frames(host: HostRows) -> EventRow:
    """Rows of the trace that are Python frames of a function called `forward`."""
    events, texts = host.trace.events, host.trace.strings.texts
    named = np.array([text.endswith("): forward") for text in texts] or [False], bool)
    return np.flatnonzero((events.kind == EventCategory.PYTHON) & named[events.name])


def _first_of_each(module: ModuleIndex, start: Nanoseconds) -> Int:
    """Index of the earliest call of each module."""
    by_time = np.argsort(start, kind="stable")
    return np.asarray(by_time[first_of_each(module[by_time])])


def _first_inside(host: HostRows, asked: TreeRow, calls: TreeRow, frames: EventRow) -> EventRow:
    """First frame inside each given call and in no inner call; -1 for none.

    Args:
        host: host rows.
        asked, calls: rows of the call tree; `calls` are those of all modules.
        frames: rows of the trace.
    """
    events, call_tree = host.trace.events, host.call_tree
    thread, start = call_tree.thread[asked], call_tree.start[asked]
    # In time that runs backwards, the last one up to a moment is the first one from it on.
    nearest = asof(events.thread[frames].astype(np.int64), -events.start[frames], thread, -start)
    row = np.where(nearest >= 0, frames[nearest], -1)
    following = np.append(calls, len(call_tree))[np.searchsorted(calls, asked) + 1]
    within = np.append(call_tree.thread, -1)[following] == thread
    until = np.where(within, np.append(call_tree.start, 0)[following], call_tree.end[asked])
    inside = (row >= 0) & (events.start[row] <= np.minimum(until, call_tree.end[asked]))
    return np.where(inside, row, -1)
