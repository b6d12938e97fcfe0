"""Rules about collectives: exposed, many and small, or of batch norms."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.collectives.calls import ON_HOST
from tb_hookview.analysis.host.rows import Call, Role
from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays import intervals
from tb_hookview.arrays.joins import asof, unique, unique_inverse
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex, Nanoseconds, TimeSet, TreeRow
from tb_hookview.formats import format_bytes, format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.parts import NamedRows
from tb_hookview.rules.engine.rule import HostTime, Occurrence, Rule
from tb_hookview.rules.evidence.traffic import (
    are_tiny,
    collectives,
    has_ddp,
    transfers_of,
    waits_for_ranks,
)
from tb_hookview.schema import Phase
from tb_hookview.trace import EventCategory

# Batch norms that share their statistics between ranks.


_FUNCTIONS = ("SyncBatchNorm", "SyncBatchNormBackward", "SyncBatchNormFunctionBackward")


def of_batch_norms(context: Context) -> Bool:
    """Communication launched by synchronized batch norms, shape (d,)."""
    inside = context.rows.inside(context.rows.named(*_FUNCTIONS))
    return context.device_events.launched_by(inside) & context.device_events.of_kinds(
        "communication"
    )


def _find_batchnorm(context: Context) -> Iterator[Occurrence]:
    transfers = of_batch_norms(context) & context.device_events.counted
    if not transfers.any():
        return
    calls = np.count_nonzero(context.rows.named(*_FUNCTIONS) & context.rows.counted)
    time = context.device_events.us_per_step(transfers)
    yield Occurrence(
        place="SyncBatchNorm",
        evidence=f"{format_count(calls / len(context.steps), 'call')}{context.each} of "
        "synchronized "
        "batch norms, forward and backward, with "
        f"{format_count(transfers.sum() / len(context.steps), 'collective')}, {format_us(time)}",
        count=int(calls),
        wasted=np.flatnonzero(transfers),
        caveats=("Part of this time may overlap with computation.",),
    )


SYNC_BATCHNORM = Rule(
    id="sync-batchnorm",
    family="distributed",
    title="SyncBatchNorm communicates in every call",
    description="Collectives launched inside the function SyncBatchNorm or its backward.",
    fix="Use plain BatchNorm where a device sees 16 samples or more; else GroupNorm or LayerNorm, "
    "frozen statistics, or synchronize a few layers only.",
    reference="torch.nn.SyncBatchNorm documentation; PyTorch issue 78549",
    find=_find_batchnorm,
)


# Gradients are reduced one by one: a collective for each parameter.


_REDUCES = r"all_?reduce"
_MANY = 20
"""All-reduces a step; a model of a few parameters has nothing to group."""
_SHARE = 0.5
"""All-reduces for each gradient; buckets hold several."""
_WITH_GRADIENTS = ("AccumulateGrad", "CompiledFunction", "RegisterPostBackward")
"""In names of nodes with gradients of parameters: hooks run there, or compiled code, or FSDP."""
_BETWEEN = 2
"""Kernels between an all-reduce and the next in a loop over parameters: the mean, a cast."""


def reduced_one_by_one(context: Context) -> TreeRow:
    """All-reduces (call tree rows) in measured steps, if there is one for each gradient."""
    launch = context.analysis.device_events.launch
    transfers = context.device_events.of_kinds("communication") & context.device_events.counted
    transfers &= (launch >= 0) & ~of_batch_norms(context)
    at = unique(launch[transfers])
    at = at[_may_reduce_gradients(context)[at]]
    gradients = (context.host.role == Role.GRADIENT_SINK) & context.rows.counted
    least = max(_MANY * len(context.steps), _SHARE * gradients.sum())
    if len(at) < least or not gradients.any():
        return at[:0]
    reduces = context.rows.matching(_REDUCES) & (context.host.kind != EventCategory.PYTHON)
    rows = unique(context.rows.outermost_of(reduces, at))
    rows = rows[rows >= 0]
    return rows[:0] if len(rows) < least else rows


def _may_reduce_gradients(context: Context) -> Bool:
    """Whether what each row launches may be gradients of parameters, shape (n,).

    It is none in the forward, in a backward pass other than in `_WITH_GRADIENTS`, and without any.
    """
    analysis = context.analysis
    within = context.rows.containing(*_WITH_GRADIENTS)[analysis.nodes.row]
    may = np.append(within, len(within) > 0)[analysis.row_node]
    return np.asarray(may & (analysis.phases.row != Phase.FORWARD))


def _find_collective_per_parameter(context: Context) -> Iterator[Occurrence]:
    rows = reduced_one_by_one(context)
    if not len(rows):
        return
    awaited, end = _awaited(context, rows)
    spans = _spans(context, rows, end)
    steps = len(context.steps)
    gradients = np.count_nonzero(context.rows.counted & (context.host.role == Role.GRADIENT_SINK))
    yield Occurrence(
        place="all-reduces of single gradients",
        evidence=f"{format_count(len(rows) / steps, 'all-reduce')}{context.each} for "
        f"{format_count(gradients / steps, 'gradient')}, {awaited.sum() / steps:.0f} of "
        "them awaited before anything else is launched; the host spends "
        f"{context.us_text(context.steps.us_per_step(intervals.length(spans)))} on launching and "
        "awaiting them",
        gaps=context.gaps.within(spans, Cause.LAUNCH, Cause.DEVICE, Cause.COMMUNICATION),
        examples=context.call_tree.start[rows],
        latent="each has the latency of a collective, and nothing overlaps it",
    )


def _awaited(context: Context, rows: TreeRow) -> tuple[Bool, Nanoseconds]:
    """Whether a stream waits for each collective before the next launch, and the end of that."""
    call_tree, calls = context.call_tree, context.analysis.calls
    launches = context.analysis.device_events.launches
    waits = np.flatnonzero((calls == Call.DEVICE_WAIT) | (calls == Call.WAIT))
    thread, ended = call_tree.thread[rows], call_tree.end[rows]
    wait, launched = (
        lookup(found, asof(call_tree.thread[found], -call_tree.start[found], thread, -ended))
        for found in (waits, launches)
    )
    never = np.iinfo(np.int64).max
    begun = np.where(wait >= 0, lookup(call_tree.start, wait), never)
    awaited = begun < np.where(launched >= 0, lookup(call_tree.start, launched), never)
    return awaited, np.where(awaited, lookup(call_tree.end, wait), ended)


def _spans(context: Context, rows: TreeRow, end: Nanoseconds) -> TimeSet:
    """Time from each collective to its wait, and on to the next one in a loop over parameters."""
    call_tree, events = context.call_tree, context.analysis.device_events
    computes = events.is_kernel & ~context.device_events.of_kinds("communication")
    computes &= events.launch >= 0
    launched = np.bincount(events.launch[computes], minlength=len(call_tree))
    until = np.concatenate([[0], np.cumsum(launched)])
    start, after = call_tree.start[rows], call_tree.subtree_end[rows]
    step = context.analysis.steps.at(start)
    loops = (call_tree.thread[rows][1:] == call_tree.thread[rows][:-1]) & (step[1:] == step[:-1])
    loops &= until[rows[1:]] - until[after[:-1]] <= _BETWEEN
    end[:-1] = np.where(loops, start[1:], end[:-1])
    return intervals.of(start, end)


COLLECTIVE_PER_PARAMETER = Rule(
    id="collective-per-parameter",
    family="distributed",
    title="Every gradient is reduced by a separate collective",
    description="Twenty or more all-reduces per step, and one for every two gradients or more "
    "(rows of AccumulateGrad). The time of the transfers themselves is in comm-exposed.",
    fix="Reduce gradients together: flatten them into a few buckets, or pass the list to "
    "all_reduce_coalesced. DistributedDataParallel does so, and overlaps the buckets with the "
    "backward. Otherwise start all of them with async_op=True, and wait once after the last.",
    reference="torch.distributed documentation: all_reduce, asynchronous collectives; "
    "torch.nn.parallel.DistributedDataParallel",
    find=_find_collective_per_parameter,
)


# Collectives take time in which nothing is computed.


_SHARE_COMM_EXPOSED = 0.1
INCLUDES_WAITS = (
    "A collective's time includes the wait for other ranks; one rank's trace does not separate it "
    "from the transfer."
)
_UNLIKE = 1.5
"""Times the least of a step from which on the most is said, too."""
_SENT = ("c10d::send", "c10d::recv", "nccl:send", "nccl:recv", "nccl:coalesced")
"""Calls of a pipeline's stages; their kernels are named like those of an all-to-all."""
_SENT_BY_HOST = r"^\w+:i?(send|recv)"
_MESSAGES = "send and receive"
_COLLECTIVES = {
    "all-to-all": r"(?i)all_?to_?all|SendRecv",
    "reduce-scatter": r"(?i)reduce_?scatter",
    "all-gather": r"(?i)all_?gather",
    "all-reduce": r"(?i)all_?reduce|cross_device_reduce",
    "broadcast": r"(?i)broadcast",
}
_EMBEDDINGS = re.compile(
    r"fbgemm::.*(embedding|permute)|sparse_data_dist|sdd_|alltoall_[fb]wd|KJT|kjt"
)
_MOSTLY = 0.5
_WAITING = (
    "That is too long for what is moved: most of it is a wait for another rank, which sending less "
    "hardly shortens. Compare the ranks (view Ranks, `hookview ranks`), and balance what they do: "
    "lengths of sequences, tokens of experts, data loading, logging."
)
_PART = 0.25
"""Part of the exposed time from which on a collective next to the longest has its remedy, too."""
_ONE_WAITS = (
    "The {0}s take too long for what they move: most of that is a wait for another rank, which "
    "sending less hardly shortens. Compare the ranks (view Ranks, `hookview ranks`)."
)
_LATENCY = (
    "Messages of a few bytes, such as sizes, take the latency of the network or a wait for other "
    "ranks: exchange several values in one message, or earlier, while something is computed."
)
_COMPARE = (
    "One rank's trace does not show which part of it is a wait for other ranks: compare the ranks "
    "first (view Ranks, `hookview ranks`). "
)
_LESS = (
    " Give each rank a larger batch, and accumulate gradients over several batches before they are "
    "reduced. Reduce them in bfloat16. Check links and topology."
)
_ONE_BY_ONE = "Reduce gradients together first: see the finding collective-per-parameter."
_BUCKETS = (
    "Reduce gradients in buckets while the backward still runs, as DistributedDataParallel does."
)
_SHARDS = (
    "Prefetch the next shards (FSDP: forward_prefetch, backward_prefetch; FSDP2: "
    "set_modules_to_forward_prefetch), shard larger units, or shard within a node only. Give each "
    "rank a larger batch, and accumulate gradients over several batches before they are reduced "
    "(FSDP: no_sync(); FSDP2: set_requires_gradient_sync(False)). Reduce them in bfloat16 "
    "(reduce_dtype of MixedPrecision; FSDP2: MixedPrecisionPolicy). Check links and topology."
)
_NEAR = (
    "keep such a group within one node, on the fastest links, make it smaller, and overlap pieces "
    "of the products with their transfer (torch._inductor.config._micro_pipeline_tp, Transformer "
    "Engine's userbuffers)."
)
_DEPENDENT = (
    "If what is gathered and scattered are activations, between operators that depend on each "
    f"other (tensor or sequence parallelism): {_NEAR} If they are shards of parameters (FSDP, "
    "ZeRO): prefetch the next ones."
)
_OPTIMIZERS_SHARDS = (
    "The optimizer reduces gradients and gathers parameters itself: start a reduction as soon as "
    "its gradient is there (register_post_accumulate_grad_hook, async_op=True), start the gathers "
    "asynchronously, compute the next parameter's update meanwhile, and wait for each only where "
    "the next forward needs it. Send bfloat16."
)
_ACTIVATIONS = (
    "What is reduced are not gradients of parameters but values between operators that depend on "
    f"each other, such as activations in tensor parallelism: {_NEAR}"
)
_AHEAD = (
    "Exchange the next batch's indices while this batch computes (torchrec: "
    "TrainPipelineSparseDist). "
)
_HALVES = (
    "Split the batch in two, so that one half computes while the other's values are exchanged. "
)
_POSTED = "Post receives early, and compute meanwhile. Check links and topology."
_PIPELINE = (
    "A stage waits for its neighbours, in bubbles of the pipeline or for longer stages: split the "
    "batch into more microbatches, choose a schedule with fewer bubbles "
    "(torch.distributed.pipelining: ScheduleInterleaved1F1B, ScheduleZBVZeroBubble), and balance "
    f"what the stages compute. {_POSTED}"
)
_EXCHANGE = (
    "Compute what needs no exchanged values while they are on their way. Give each rank a larger "
    "batch, send values in half precision, and balance what ranks hold (tables, experts). Check "
    "links and topology."
)
_FIX = (
    "Give each rank a larger batch; accumulate gradients over several batches under no_sync(); "
    "reduce them in bfloat16 by a communication hook; check the size of buckets, links and "
    "topology. Waiting earlier in the code does not help."
)
_GRAPHS = "There are CUDA graphs: their kernels that the trace does not list may run meanwhile."


def _find_comm_exposed(context: Context) -> Iterator[Occurrence]:
    yield from _on_device(context) if len(context.analysis.device_events) else _on_host(context)


def _on_host(context: Context) -> Iterator[Occurrence]:
    """Collectives of a trace without device events (gloo): the training thread waits for them."""
    analysis = context.analysis
    waits = context.steps.cut(analysis.communication_waits)
    waited = context.steps.us_per_step(intervals.length(waits))
    threads = unique(analysis.steps.thread)
    if waited <= _SHARE_COMM_EXPOSED * context.steps.duration_us or not len(threads):
        return
    calls = context.rows.beginning(*ON_HOST) & context.rows.counted
    count, name = int(np.count_nonzero(calls)), _most(context, calls)
    share = waited / context.steps.duration_us
    yield Occurrence(
        place="collectives",
        evidence=f"{format_count(count / len(context.steps), 'collective')}{context.each} on host "
        f"threads, most of their time in {name}; the training thread waits for them for "
        f"{format_us(waited)} of {context.steps.one} ({share:.0%})",
        host=(HostTime(int(threads[-1]), waits),),
        claims_gain=False,
        confidence="medium",
        examples=context.call_tree.start[calls],
        caveats=(INCLUDES_WAITS,),
        fix=_remedy(
            context, [name], share, np.flatnonzero(calls), context.call_tree.duration[calls]
        ),
    )


def _most(context: Context, calls: Bool) -> str:
    """The collective in which most time is spent, "others" where none of them is known."""
    tree = context.call_tree
    time = {
        name: int((tree.end - tree.start)[calls & context.rows.matching(pattern)].sum())
        for name, pattern in {**_COLLECTIVES, _MESSAGES: _SENT_BY_HOST}.items()
    }
    most = max(time, key=lambda name: time[name])
    return most if time[most] else "others"


def _on_device(context: Context) -> Iterator[Occurrence]:
    transfers = context.device_events.of_kinds("communication") & ~of_batch_norms(context)
    rows, alone = _exposed(context, transfers)
    exposed = context.steps.us_per_step(alone.sum())
    devices = max(len(unique(context.analysis.device_events.device[rows])), 1)
    step = devices * context.steps.measured_us
    if not context.steps.duration_us or exposed <= _SHARE_COMM_EXPOSED * step:
        return
    whole = context.device_events.us_per_step(transfers)
    count = int(np.count_nonzero(transfers & context.device_events.counted))
    share = exposed / step
    there = f", summed over {devices} devices," if devices > 1 else ""
    times = _by_collective(context, rows, alone)
    launch = context.analysis.device_events.launch[rows]
    yield Occurrence(
        place="collectives",
        evidence=f"{format_count(count / len(context.steps), 'collective')}{context.each}, "
        f"{format_us(whole)}; for {format_us(exposed)} of {context.steps.one}"
        f"{_range(context, rows, alone)}{there} nothing overlaps them: "
        + ", ".join(f"{name} {format_us(time)}" for name, time in times.items())
        + _under(context, rows, alone)
        + _volume(context),
        wasted=rows,
        wasted_ns=alone,
        scale="communication",  # what is exposed may be of steps before the replayed ones
        claims_gain=False,
        examples=context.device_events.starts(transfers),
        caveats=(INCLUDES_WAITS, _GRAPHS)
        if context.any_name(lambda name: name in ("cudaGraphLaunch", "hipGraphLaunch"))
        else (INCLUDES_WAITS,),
        fix=_remedy(
            context,
            [name for name, us in times.items() if us > _PART * exposed] or list(times)[:1],
            share,
            launch,
            alone,
        ),
    )


def _range(context: Context, rows: DeviceEventIndex, alone: Nanoseconds) -> str:
    """Phrase of the least and most of a step, "" where steps are alike."""
    step = context.analysis.device_event_step[rows]
    total = np.array([alone[step == each].sum() for each in context.steps.indices]) / 1000
    if total.max() <= _UNLIKE * total.min():
        return ""
    return f" ({format_us(total.min())} to {format_us(total.max())})"


def _by_collective(
    context: Context, rows: DeviceEventIndex, alone: Nanoseconds
) -> dict[str, float]:
    """Time of each collective, microseconds per step, most first."""
    time: Counter[str] = Counter()
    left = np.ones(len(rows), bool)
    for name, mine in _collectives(context, rows):
        time[name] += int(alone[left & mine].sum())
        left &= ~mine
        if not left.any():
            break
    time["others"] = int(alone[left].sum())
    return {name: context.steps.us_per_step(ns) for name, ns in time.most_common() if ns}


def _collectives(context: Context, rows: DeviceEventIndex) -> Iterator[tuple[str, Bool]]:
    """Yield each collective and the rows named by it, then those of an operator named by it."""
    named = NamedRows(context.analysis.trace.strings, context.device_events.name[rows])
    launch = context.analysis.device_events.launch[rows]

    def launched(wanted: Bool) -> Bool:
        return np.asarray(lookup(context.rows.inside(wanted), launch) == 1)

    peers = named.containing("SendRecv")
    if peers.any():
        yield _MESSAGES, peers & launched(context.rows.beginning(*_SENT))
    for name, pattern in _COLLECTIVES.items():
        yield name, named.matching(pattern)
    for name, pattern in _COLLECTIVES.items():
        yield name, launched(context.rows.matching(pattern))


def _under(context: Context, rows: DeviceEventIndex, alone: Nanoseconds) -> str:
    """Phrase of the annotation of the program in which most of that time is launched."""
    labels = context.call_tree.nearest(context.host.role == Role.LABEL)
    string = lookup(
        context.host.string, lookup(labels, context.analysis.device_events.launch[rows])
    )
    names, place = unique_inverse(string)
    time = np.bincount(place, weights=alone)
    most = int(np.argmax(time))
    if names[most] < 0:
        return ""
    text = context.analysis.trace.strings[int(names[most])]
    return f", {format_us(context.steps.us_per_step(time[most]))} of it under {text}"


def _remedy(
    context: Context, longest: list[str], share: float, launch: TreeRow, time: Nanoseconds
) -> str:
    """The remedy by what most of the time is: a wait, or a transfer by one collective.

    Args:
        context: the steps.
        longest: the collectives with the most time, the longest first.
        share: part of the step.
        launch, time: as of `_fix`.
    """
    collective, *others = longest
    fix = _fix(context, collective, launch, time)
    if waits_for_ranks(context):
        return f"{_WAITING} {fix}" if collective == _MESSAGES else _WAITING
    if waits_for_ranks(context, _kind(collective)):
        also = [each for each in others if each in _COLLECTIVES][:1]
        fixes = (f"The {each}s: {_fix(context, each, launch, time) or _FIX}" for each in also)
        return " ".join([_ONE_WAITS.format(collective), *fixes])
    return (_COMPARE if share > _MOSTLY else "") + (fix or _FIX)


def _fix(context: Context, collective: str, launch: TreeRow, time: Nanoseconds) -> str:
    """The remedy for a collective, "" for that of all; of launches (-1: unknown), by their time."""
    if collective == _MESSAGES:
        return _PIPELINE if (context.host.role == Role.NODE).any() else _POSTED
    if collective == "all-reduce":
        if len(reduced_one_by_one(context)):
            return _ONE_BY_ONE + _LESS
        if _reduces_no_gradients(context, launch, time):
            return _ACTIVATIONS
    if collective == "all-to-all":
        if not context.any_name(_is_of_embeddings):
            return _HALVES + _EXCHANGE
        return _EXCHANGE if context.any_name(_is_pipelined) else _AHEAD + _EXCHANGE
    if context.any_name(_is_of_fsdp):  # gloo names a reduce-scatter all_reduce
        return _SHARDS
    if collective == "all-reduce":
        return "" if has_ddp(context) else _BUCKETS + _LESS
    if collective not in ("all-gather", "reduce-scatter"):
        return ""
    return _LATENCY if are_tiny(context, _kind(collective)) else _of_parts(context, launch, time)


def _of_parts(context: Context, launch: TreeRow, time: Nanoseconds) -> str:
    """The remedy where parts are gathered or scattered outside of FSDP."""
    phase = lookup(context.analysis.phases.row, launch)
    mostly = 2 * time[(launch >= 0) & (phase == Phase.OPTIMIZER)].sum() > time.sum()
    return _OPTIMIZERS_SHARDS if mostly else _DEPENDENT


def _kind(collective: str) -> str:
    """Kind of collective, as `CollectiveCalls` names it."""
    return collective.replace("-", "_")


def _reduces_no_gradients(context: Context, launch: TreeRow, time: Nanoseconds) -> bool:
    """Whether operators are recorded, and what they launch for most of the time reduces none."""
    may = lookup(_may_reduce_gradients(context), launch) != 0
    operators = context.host.kind == EventCategory.OPERATOR
    return bool(operators.any() and 2 * time[may].sum() < time.sum())


def _volume(context: Context) -> str:
    """Phrase of the bytes the collectives of a step move, "" where unknown."""
    rows, size = collectives(context)
    if not len(rows) or (size < 0).any():
        return ""
    messages = format_count(len(rows), "message")
    known = transfers_of(context, rows) & context.device_events.counted
    there = context.device_events.of_kinds("communication") & context.device_events.counted
    whole = "in all" if known.sum() == there.sum() else "whose size is known"
    return f"; {format_bytes(size.sum() / len(context.steps))}{context.each}, {messages} {whole}"


def _is_of_fsdp(name: str) -> bool:
    return name.startswith(("FSDP::", "fsdp::")) or "FullyShardedDataParallel" in name


def _is_of_embeddings(name: str) -> bool:
    """Whether a name is one of embedding tables that lie on several ranks (torchrec)."""
    return name.startswith(("fbgemm::", "## ")) and bool(_EMBEDDINGS.search(name))


def _is_pipelined(name: str) -> bool:
    """Whether torchrec's pipeline marks with a name that it exchanges indices ahead."""
    return name.startswith("## ") and ("sparse_data_dist" in name or name.startswith("## sdd_"))


def _exposed(context: Context, transfers: Bool) -> tuple[DeviceEventIndex, Nanoseconds]:
    """Transfers of the steps, and the time of each in which its device did nothing else, ns.

    Where two transfers overlap, the one that began first has their common time.
    """
    work, transfers = context.analysis.device_events, transfers & context.device_events.counted
    computes = ~context.device_events.of_kinds("communication")
    found = [(np.zeros(0, np.int64), np.zeros(0, np.int64))]
    for device in unique(work.device[transfers]).tolist():
        mine = work.device == device
        rows = np.flatnonzero(mine & transfers)
        moving = work.time_of(rows)
        computing = work.time_of(mine & computes)
        alone = intervals.subtract(moving, computing)
        reached = np.maximum.accumulate(np.concatenate([work.start[rows[:1]], work.end[rows]]))[:-1]
        begin = np.maximum(work.start[rows], reached)
        windows = np.stack([begin, np.maximum(begin, work.end[rows])], axis=1)
        found.append((rows, intervals.lengths_within(alone, windows)))
    rows, time = (np.concatenate(column) for column in zip(*found, strict=True))
    return rows, time


COMM_EXPOSED = Rule(
    id="comm-exposed",
    family="distributed",
    title="Communication does not overlap with computation",
    description="Collectives, sends and receives that no computation overlaps, or for which the "
    "training thread waits where no device is recorded, take more than 10% of the step. Those of "
    "synchronized batch norms are not counted.",
    fix=_FIX,
    reference="torch_tb_profiler; Holistic Trace Analysis, communication computation overlap",
    find=_find_comm_exposed,
    advice=("rank-straggler",),
)
