"""Pinned memory, and the host waits all the same."""

from __future__ import annotations

from collections.abc import Iterator

from tb_hookview.arrays.joins import unique
from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence import copies


def _waits(context: Context) -> Bool:
    return copies.waits_for(context, copies.uploads(context, copies.PINNED))


def _match(context: Context) -> Iterator[Occurrence]:
    found = context.explained_by(RULE) & context.own_waits & copies.repeated(context)
    yield from copies.by_place_of_copies(context, unique(context.waits.copy[found]))


RULE = Rule(
    id="h2d-pinned-but-blocking",
    family="data-movement",
    title="The host waits for copies to the device, although their memory is pinned",
    matches="A copy from pinned memory to the device with a synchronize behind it in the same "
    "operator.",
    fix="Pass non_blocking=True. Kernels behind the copy on its stream see the data without a "
    "wait. Do not write to the pinned memory again before the copy is done.",
    reference="PyTorch, A guide on good usage of non_blocking and pin_memory()",
    waits=_waits,
    match=_match,
)
