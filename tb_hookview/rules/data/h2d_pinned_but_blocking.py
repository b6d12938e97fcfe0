"""Copies from pinned memory that block the host."""

from __future__ import annotations

from collections.abc import Iterator

from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence import copies


def _explains(context: Context) -> Bool:
    return copies.syncs_for(context, copies.uploads(context, copies.PINNED))


def _find(context: Context) -> Iterator[Occurrence]:
    found = context.explained_by(RULE) & context.syncs.counted & copies.repeated(context)
    yield from copies.by_place_of_copies(context, unique(context.syncs.copy[found]))


RULE = Rule(
    id="h2d-pinned-but-blocking",
    family="data-movement",
    title="Blocking host-to-device copies from pinned memory",
    description="A copy from pinned memory to the device with a synchronize after it in the same "
    "operator.",
    fix="Pass non_blocking=True. Kernels launched after the copy on its stream see the data "
    "without a sync. Do not write to the pinned memory again before the copy is done.",
    reference="PyTorch, A guide on good usage of non_blocking and pin_memory()",
    explains=_explains,
    find=_find,
)
