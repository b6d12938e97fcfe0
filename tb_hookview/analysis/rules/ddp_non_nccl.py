"""Gradients on the device are reduced by a backend of the host."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.gaps import Cause
from tb_hookview.analysis.rules.context import Context
from tb_hookview.analysis.rules.rule import Match, Rule
from tb_hookview.trace import Kind

_HOST_BACKEND = r"^(gloo|mpi):"
_COLLECTIVE = r"^(c10d::(?!barrier)|gloo:|mpi:)"
_BETWEEN = r"HtoD|DtoH|Host -> Device|Device -> Host"
_SAVED = 0.8


def _match(context: Context) -> Iterator[Match]:
    collectives = context.matching(_HOST_BACKEND) & context.rows
    inside = context.inside(context.matching(_COLLECTIVE))
    is_copy = context.analysis.trace.events.kind[context.analysis.work.event] == Kind.COPY
    copies = context.work_launched(inside) & context.work_matching(_BETWEEN) & is_copy
    copies &= context.work
    if not collectives.any() or not copies.any():
        return
    time = context.device_us(copies)
    yield Match(
        place="collectives of gloo or mpi",
        everywhere=True,
        evidence=f"{np.count_nonzero(collectives)} collectives of a host backend, with "
        f"{np.count_nonzero(copies)} copies between device and host for them, {time:.1f} us a step",
        count=int(np.count_nonzero(collectives)),
        gaps=context.gaps_of(Cause.COMMUNICATION),
        wasted=np.flatnonzero(copies),
        saved=_SAVED,
        examples=context.forest.start[collectives],
    )


RULE = Rule(
    id="ddp-non-nccl",
    family="distributed",
    title="Tensors on the device are communicated by way of the host",
    matches="Collectives of gloo or mpi, and copies between device and host launched inside "
    "collective calls (a barrier is none).",
    fix='Use torch.distributed.init_process_group("nccl") for tensors on the device, and keep gloo '
    "for what is on the CPU.",
    reference="torch_tb_profiler; torch.distributed documentation: which backend to use",
    match=_match,
)
