"""Rules about DataParallel and DistributedDataParallel."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import unique
from tb_hookview.formats import format_count, format_us
from tb_hookview.rules.distributed.collectives import (
    INCLUDES_WAITS,
    of_batch_norms,
    reduced_one_by_one,
)
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.traffic import collectives, has_ddp, transfers_of

# One process drives several devices by `DataParallel`.


_MOVES = (
    *("Broadcast", "BroadcastBackward", "Scatter", "ScatterBackward", "Gather", "GatherBackward"),
    *("ReduceAddCoalesced", "ReduceAddCoalescedBackward"),
)
_MARK = "DataParallel.forward"


def _find_dataparallel_used(context: Context) -> Iterator[Occurrence]:
    forwards = context.rows.named(_MARK) & context.rows.counted
    replicates = (
        context.rows.named("Broadcast") & context.rows.named("Scatter").any() & context.rows.counted
    )
    calls = forwards if forwards.any() else replicates
    work = context.analysis.device_events
    devices = unique(work.device[context.device_events.counted & (work.launch >= 0)])
    if not calls.any() or len(devices) < 2:
        return
    moves = context.work_of(context.rows.named(*_MOVES))
    yield Occurrence(
        place="DataParallel",
        evidence=f"one process works on {len(devices)} devices; to replicate the model, scatter "
        "its input and gather its output takes "
        f"{context.us_text(context.device_events.us_per_step(moves))} in them",
        wasted=np.flatnonzero(moves),
        claims_gain=False,
        examples=context.call_tree.start[calls],
        latent="all devices are driven by one Python interpreter",
    )


DATAPARALLEL_USED = Rule(
    id="dataparallel-used",
    family="distributed",
    title="DataParallel drives several devices from one process",
    description="DataParallel.forward, or the functions Broadcast and Scatter, and launches on "
    "more than one device.",
    fix="Use DistributedDataParallel with one process per device: the model is replicated once "
    "instead of in every step. It needs a launcher (torchrun) and memory for its buckets.",
    reference="torch_tb_profiler; torch.nn.DataParallel documentation",
    find=_find_dataparallel_used,
)


# Work of DistributedDataParallel around its collectives.


_COPIED = "reducer::copy_bucket_to_grad"
_SEARCHED = "reducer::search_unused_parameters"
_VIEWS = "Pass gradient_as_bucket_view=True: gradients then lie in their buckets."
_USED = "Pass find_unused_parameters=False where all parameters are used, or static_graph=True."
_CAPACITY = (
    "Raise bucket_cap_mb, with a measurement, and use no_sync() while gradients are summed over "
    "several batches."
)
_SMALL = 1 << 20
"""Bytes below which a message takes about as long as one of no bytes."""
_MANY = 10
"""Small all-reduces per step from which they are reported."""


def _find_ddp_bucket_or_unused(context: Context) -> Iterator[Occurrence]:
    yield from _small_buckets(context)
    copying = context.rows.ending(_COPIED) & context.rows.counted
    copies = context.work_of(copying)
    if copies.any():
        time = context.device_events.us_per_step(copies)
        yield Occurrence(
            place="copies of buckets to gradients",
            evidence=f"{format_count(copies.sum() / len(context.steps), 'copy', 'copies')}"
            f"{context.each} of reduced gradients out of their buckets, {format_us(time)}",
            wasted=np.flatnonzero(copies),
            title="DistributedDataParallel copies gradients out of their buckets",
            fix=_VIEWS,
        )
    searching = context.rows.ending(_SEARCHED) & context.rows.counted
    if searching.any():
        call_tree = context.call_tree
        spans = call_tree.time_of(searching)
        yield Occurrence(
            place="search for unused parameters",
            evidence=f"find_unused_parameters is set; the search takes the host "
            f"{context.us_text(context.steps.us_per_step(intervals.length(spans)))}",
            gaps=context.gaps.within(spans, Cause.LAUNCH),
            examples=context.call_tree.start[searching],
            latent="the device did not idle because of it in this trace",
            title="DistributedDataParallel searches for unused parameters",
            fix=_USED,
        )


def _small_buckets(context: Context) -> Iterator[Occurrence]:
    rows, size = collectives(context, r"^all_?reduce")
    little = (size >= 0) & (size < _SMALL)
    small = rows[little]
    transfers = transfers_of(context, small) & ~of_batch_norms(context)
    transfers &= context.device_events.counted
    if len(small) < _MANY * len(context.steps) or 2 * len(small) < len(rows):
        return
    if not has_ddp(context) or len(reduced_one_by_one(context)):
        return
    yield Occurrence(
        place="all-reduces of small buckets",
        evidence=f"{len(small) / len(context.steps):.0f} of "
        f"{len(rows) / len(context.steps):.0f} all-reduces{context.each} move less than 1 MiB "
        "each, "
        f"{size[little].sum() / len(context.steps):.0f} bytes{context.each} in all; they take "
        f"{format_us(context.device_events.us_per_step(transfers))}",
        wasted=np.flatnonzero(transfers),
        claims_gain=False,
        examples=context.call_tree.start[small],
        latent="each has the latency of a collective, however little it moves",
        title="DistributedDataParallel reduces gradients in small buckets",
        fix=_CAPACITY,
    )


DDP_BUCKET_OR_UNUSED = Rule(
    id="ddp-bucket-or-unused",
    family="distributed",
    title="DistributedDataParallel options leave avoidable work",
    description="Device events in the reducer's copy_bucket_to_grad; its search_unused_parameters; "
    "ten or more all-reduces per step of less than 1 MiB (where the trace has the sizes), half of "
    "all or more. Those of synchronized batch norms are not counted.",
    fix=f"{_VIEWS} {_USED} {_CAPACITY}",
    reference="torch.nn.parallel.DistributedDataParallel documentation",
    confidence="medium",
    find=_find_ddp_bucket_or_unused,
)


# Gradients on the device are reduced by a backend of the host.


_HOST_BACKEND = ("gloo:", "mpi:")
_COLLECTIVE = r"^(c10d::(?!barrier)|gloo:|mpi:)"
_BETWEEN = ("HtoD", "DtoH", "Host -> Device", "Device -> Host")


def _find_ddp_non_nccl(context: Context) -> Iterator[Occurrence]:
    collectives = context.rows.beginning(*_HOST_BACKEND) & context.rows.counted
    if not collectives.any():
        return
    inside = context.rows.inside(context.rows.matching(_COLLECTIVE))
    copies = (
        context.device_events.launched_by(inside)
        & context.device_events.copies_containing(*_BETWEEN)
        & context.device_events.counted
    )
    if not copies.any():
        return
    time = context.device_events.us_per_step(copies)
    yield Occurrence(
        place="collectives of gloo or mpi",
        evidence=f"{format_count(collectives.sum(), 'collective')} of a host backend, with "
        f"{format_count(copies.sum(), 'copy', 'copies')} between device and host for them, "
        f"{context.us_text(time)}",
        gaps=context.gaps.of(Cause.COMMUNICATION),
        wasted=np.flatnonzero(copies),
        claims_gain=False,
        caveats=(INCLUDES_WAITS,),
        examples=context.call_tree.start[collectives],
    )


DDP_NON_NCCL = Rule(
    id="ddp-non-nccl",
    family="distributed",
    title="Collectives of device tensors run on the host (gloo, mpi)",
    description="Collectives of gloo or mpi, and copies between device and host launched inside "
    "collective calls other than a barrier.",
    fix='Use torch.distributed.init_process_group("nccl") for tensors on the device, and keep gloo '
    "for what is on the CPU.",
    reference="torch_tb_profiler; torch.distributed documentation: which backend to use",
    find=_find_ddp_non_nccl,
)
