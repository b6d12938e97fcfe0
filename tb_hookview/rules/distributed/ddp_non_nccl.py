"""Gradients on the device are reduced by a backend of the host."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_HOST_BACKEND = ("gloo:", "mpi:")
_COLLECTIVE = r"^(c10d::(?!barrier)|gloo:|mpi:)"
_BETWEEN = r"HtoD|DtoH|Host -> Device|Device -> Host"
_SAVED = 0.8


def _match(context: Context) -> Iterator[Occurrence]:
    collectives = context.beginning(*_HOST_BACKEND) & context.rows
    if not collectives.any():
        return
    inside = context.inside(context.matching(_COLLECTIVE))
    copies = context.work_launched(inside) & context.copies_matching(_BETWEEN) & context.work
    if not copies.any():
        return
    time = context.device_us(copies)
    yield Occurrence(
        place="collectives of gloo or mpi",
        everywhere=True,
        evidence=f"{np.count_nonzero(collectives)} collectives of a host backend, with "
        f"{np.count_nonzero(copies)} copies between device and host for them, {time:.1f} us a step",
        count=int(np.count_nonzero(collectives)),
        gaps=context.gaps_of(Cause.COMMUNICATION),
        wasted=np.flatnonzero(copies),
        saved=_SAVED,
        examples=context.call_tree.start[collectives],
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
