"""Garbage collections of Python, where the model runs on the CPU."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.host.rows import Role
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_SHARE = 0.01
"""Part of a step from which on they count."""

_OWN = "If each step calls gc.collect(), leave that out."


def _find(context: Context) -> Iterator[Occurrence]:
    found = (context.host.role == Role.COLLECTION) & context.rows.counted
    rows = np.flatnonzero(found)
    time = context.call_tree.duration[rows]
    held = context.steps.us_per_step(time.sum())
    if not (context.on_host and held > _SHARE * context.steps.duration_us):
        return
    yield Occurrence(
        place="garbage collection",
        evidence=f"{format_count(len(rows), 'collection')} in {context.steps.text} take "
        f"{context.us_text(held)}, {held / context.steps.duration_us:.1%} of it, and "
        f"{format_us(time.max() / 1000)} at most",
        host=context.rows.host_time(found),
        examples=context.call_tree.start[rows],
    )


RULE = Rule(
    id="garbage-collection",
    family="host",
    title="Python collects garbage during steps",
    description="Where the model runs on the CPU: the recorder's marks on collections of Python's "
    "older objects, over 1% of a step.",
    fix=f"{_OWN} Call gc.freeze() once model, optimizer and data are built, so that collections "
    "leave them out. Or call gc.disable(), and gc.collect(1) every few hundred steps. Make fewer "
    "objects per step: reference cycles, lists of Python numbers.",
    reference="Python, module gc: freeze, disable",
    find=_find,
)
