"""Gradients on the device are reduced by a backend of the host."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.formats import format_count
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_HOST_BACKEND = ("gloo:", "mpi:")
_COLLECTIVE = r"^(c10d::(?!barrier)|gloo:|mpi:)"
_BETWEEN = r"HtoD|DtoH|Host -> Device|Device -> Host"
_SAVED = 0.8


def _find(context: Context) -> Iterator[Occurrence]:
    collectives = context.rows.beginning(*_HOST_BACKEND) & context.rows.counted
    if not collectives.any():
        return
    inside = context.rows.inside(context.rows.matching(_COLLECTIVE))
    copies = (
        context.device_events.launched_by(inside)
        & context.device_events.copies_matching(_BETWEEN)
        & context.device_events.counted
    )
    if not copies.any():
        return
    time = context.device_events.us_per_step(copies)
    yield Occurrence(
        place="collectives of gloo or mpi",
        everywhere=True,
        evidence=f"{format_count(collectives.sum(), 'collective')} of a host backend, with "
        f"{format_count(copies.sum(), 'copy', 'copies')} between device and host for them, "
        f"{context.us_text(time)}",
        count=int(np.count_nonzero(collectives)),
        gaps=context.gaps.of(Cause.COMMUNICATION),
        wasted=np.flatnonzero(copies),
        saved=_SAVED,
        examples=context.call_tree.start[collectives],
    )


RULE = Rule(
    id="ddp-non-nccl",
    family="distributed",
    title="Collectives of device tensors run on the host (gloo, mpi)",
    description="Collectives of gloo or mpi, and copies between device and host launched inside "
    "collective calls other than a barrier.",
    fix='Use torch.distributed.init_process_group("nccl") for tensors on the device, and keep gloo '
    "for what is on the CPU.",
    reference="torch_tb_profiler; torch.distributed documentation: which backend to use",
    find=_find,
)
