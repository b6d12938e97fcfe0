"""Rules about syncs of the training loop: explicit ones, clipping, scaler, optimizer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from tb_hookview.analysis.host.rows import Call
from tb_hookview.analysis.iterations import SCALER_CHECK
from tb_hookview.arrays.joins import isin, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, Nanoseconds
from tb_hookview.formats import format_count
from tb_hookview.rules.engine.by_place import by_place
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.engine.syncs import READS, VALUES, Direction
from tb_hookview.rules.evidence.cuda_graphs import RECORD_ONCE, before_recording
from tb_hookview.rules.evidence.devices import all_have_tf32
from tb_hookview.schema import Phase
from tb_hookview.trace import EventCategory

# Explicit syncs of the program: `torch.cuda.synchronize()`, an event, a barrier.


_MEASUREMENT = (
    "There is one such sync in every step, as in a program that measures time; if it is part of "
    "the measurement only, ignore this finding.",
)
_LEFT_OUT = "Not counted here: {} before the first or after the last operator of the trace."
_RECORDS = "torch.cuda.graph synchronizes before it records a graph"
_UNKNOWN = "The trace has no operators: the sync may be one of torch, or of a library."


def _explains_explicit(context: Context) -> Bool:
    syncs = context.syncs
    copies = isin(context.analysis.calls[syncs.row], [Call.COPY, Call.ASYNC_COPY])
    outside = (syncs.operator < 0) & (syncs.copy < 0) & ~copies
    return np.asarray(outside | syncs.inside_matching(r"c10d::(barrier|monitored_barrier\w*)"))


def _find_explicit(context: Context) -> Iterator[Occurrence]:
    syncs = context.explained_by(SYNC_EXPLICIT) & ~_outside(context)
    if not context.syncs.operators_known:
        yield from by_place(context, syncs, caveats=(_UNKNOWN,), confidence="low")
        return
    caveats: tuple[str, ...] = _MEASUREMENT if _once_a_step(context, syncs) else ()
    left_out = context.explained_by(SYNC_EXPLICIT) & _outside(context) & context.syncs.counted
    if count := np.count_nonzero(left_out):
        caveats += (_LEFT_OUT.format(format_count(int(count), "sync")),)
    records = before_recording(context, context.syncs.row)
    yield from by_place(context, syncs & ~records, caveats=caveats)
    yield from by_place(context, syncs & records, note=_RECORDS, fix=RECORD_ONCE)


def _outside(context: Context) -> Bool:
    """Syncs for what came before the trace, and after its last operator, where the program ends.

    A device-wide one before the first operator waits for nothing that is in the trace. The last
    step's is the loop's where another step ends with one, too.
    """
    syncs = context.syncs
    operators = context.call_tree.start[context.host.kind == EventCategory.OPERATOR]
    last = operators.max() if len(operators) else np.iinfo(np.int64).max
    after = syncs.start > last
    if after.any():
        after &= ~_ends_each_step(context, operators)
    return np.asarray(after | context.analysis.syncs.at_start)


def _ends_each_step(context: Context, operators: Nanoseconds) -> Bool:
    """Explicit syncs after the last operator of their step, if steps end with such, shape (s,)."""
    syncs, steps = context.syncs, context.analysis.steps
    last = np.full(len(steps.name) + 1, np.iinfo(np.int64).max)  # the last is for "in no step"
    of_step = steps.at(operators)
    for step in unique(of_step[of_step >= 0]).tolist():
        last[step] = operators[of_step == step].max()
    ends = context.explained_by(SYNC_EXPLICIT) & ~context.analysis.syncs.by_profiler
    ends &= syncs.start > last[steps.at(syncs.start)]
    return np.asarray(ends & (len(unique(steps.at(syncs.start[ends]))) > 1))


def _once_a_step(context: Context, syncs: Bool) -> bool:
    step = context.analysis.steps.at(context.syncs.start[syncs & context.syncs.counted])
    return len(context.steps) > 1 and step.tolist() == list(context.steps.indices)


SYNC_EXPLICIT = Rule(
    id="sync-explicit",
    family="sync",
    title="Explicit synchronization with the device",
    description="A synchronize of device, stream or event outside of operators, or a barrier, "
    "inside a step and before the trace's last operator; after it where other steps end with one, "
    "too. One of the whole device before the first operator is left out. What torch.cuda.graph "
    "calls before it records a graph makes findings of its own.",
    fix="Delete it or move it out of the loop. Measure time with CUDA events that are read later. "
    "Order streams by wait_event or wait_stream, which do not block the host. Use barriers for "
    "checkpoints only.",
    reference="CUDA semantics, asynchronous execution; Nsight Systems rule cuda_api_sync",
    explains=_explains_explicit,
    find=_find_explicit,
)


# DistributedDataParallel times itself: as each forward of its first ten iterations begins, and of
# every 100th from then on, it reads the events that it recorded in the iteration before.


_FORWARD = "DistributedDataParallel.forward"
_EVENT_CALLS = ("EventSynchronize", "EventElapsedTime")
"""The call that waits for an event, and the one before which it waited if that is not recorded."""
_EARLY = "it costs a training nothing: only its first ten iterations and every hundredth wait here"


def _explains_ddp_timers(context: Context) -> Bool:
    """Waits for events in its forward before the first operator there, which may be the model's."""
    syncs, start = context.syncs, context.call_tree.start
    forward = syncs.outermost(_FORWARD)
    calls = syncs.names(syncs.row).tolist()
    event = np.array([call.endswith(_EVENT_CALLS) for call in calls], bool)
    operator = syncs.last_before(context.host.kind == EventCategory.OPERATOR)
    first = lookup(start, operator) <= lookup(start, forward)
    return np.asarray((forward >= 0) & event & first)


def _find_ddp_timers(context: Context) -> Iterator[Occurrence]:
    for each in by_place(context, context.explained_by(SYNC_DDP_TIMERS)):
        costs = replace(each, gaps=each.gaps[:0], claims_gain=False, latent=_EARLY, caveats=())
        yield replace(costs, passing=True)


SYNC_DDP_TIMERS = Rule(
    id="sync-ddp-timers",
    family="sync",
    title="DistributedDataParallel reads its own timers in its first iterations",
    description="A synchronize of an event, or the wait before the time between two is read, as "
    "DistributedDataParallel.forward begins. Charged nothing: later iterations wait 1 time in 100.",
    fix="Change nothing in the training: DistributedDataParallel waits here in its first ten "
    "iterations and in every 100th only. Record later, so that the steps are like all others: "
    "torch.profiler.schedule(skip_first=10, ...), or a wait of ten steps or more.",
    reference="torch.nn.parallel.DistributedDataParallel, its logger of runtime statistics",
    explains=_explains_ddp_timers,
    find=_find_ddp_timers,
)


# The backward of `torch.gather` under deterministic algorithms copies strides from the host, up to
# torch 2.8. Later versions call `index_put_` with indices that are made on the device.


def _explains_gather_backward_deterministic(context: Context) -> Bool:
    syncs = context.syncs
    uploads = syncs.inside("aten::copy_", "aten::_to_copy", "aten::to")
    uploads &= syncs.direction != Direction.TO_HOST
    if not uploads.any():
        return uploads
    return uploads & syncs.inside_matching(
        r"(autograd::engine::evaluate_function: )?Gather\w*Backward\d*|aten::gather_backward"
    )


SYNC_GATHER_BACKWARD_DETERMINISTIC = Rule(
    id="sync-gather-backward-deterministic",
    family="sync",
    title="The backward of gather copies strides from the host (deterministic mode)",
    description="A blocking copy to the device inside the node GatherBackward0, or inside "
    "aten::gather_backward: torch before 2.9 with deterministic algorithms.",
    fix="Update to torch 2.9, which makes the indices on the device. Else select by indexing the "
    "flattened tensor (row offset plus index, then reshape) instead of torch.gather, or relax "
    "determinism for this operator. All of these but the last sort in the backward, so measure.",
    reference="torch.use_deterministic_algorithms; PyTorch PR 58761",
    explains=_explains_gather_backward_deterministic,
)


# Gradient clipping that reads the norm, in the caller or a check for finiteness.


_NORMS = ("aten::_foreach_norm", "aten::linalg_vector_norm", "aten::norm", "aten::linalg_norm")
_FINITE = ("aten::isnan", "aten::isinf", "aten::isfinite", "aten::logical_or", "aten::logical_not")
_HANDED_OVER = (
    *("aten::detach", "aten::to", "aten::lift_fresh", "aten::clone", "aten::mean"),
    *("aten::mul_", "aten::_foreach_mul_"),
)
_COEFFICIENT = ("aten::add", "aten::reciprocal", "aten::mul", "aten::div", "aten::to")


def _explains_grad_clip(context: Context) -> Bool:
    """Reads after norm and check, or after norm, clamped coefficient and scaled gradients."""
    syncs = context.syncs
    read = syncs.outermost(*READS)
    tested = syncs.before(read, *READS)
    check = syncs.named(tested, *_FINITE) & syncs.named(
        syncs.before(read, *READS, *_FINITE, "aten::abs", "aten::eq", "aten::ne", "aten::mul"),
        *_NORMS,
    )
    clamp = syncs.before(read, *READS, *_HANDED_OVER)
    clamped = syncs.named(clamp, "aten::clamp", "aten::clamp_")
    norm = syncs.before(np.where(clamped, clamp, -1), *_COEFFICIENT)
    return np.asarray(
        (syncs.inside("aten::is_nonzero") & check) | (clamped & syncs.named(norm, *_NORMS))
    )


SYNC_GRAD_CLIP = Rule(
    id="sync-grad-clip",
    family="sync",
    title="Gradient clipping syncs to read the norm",
    description="aten::is_nonzero after a norm and aten::isnan, isinf, logical_or "
    "(error_if_nonfinite=True), or aten::item after a norm, aten::clamp and the scaling of "
    "gradients (the caller reads the norm).",
    fix="Leave error_if_nonfinite=False, and leave the norm that clip_grad_norm_ returns on the "
    "device: log it every k steps. Pass foreach=True (the default on CUDA), and clip once after "
    "all accumulation steps.",
    reference="PyTorch PR 61042: clip_grad_norm_ without device syncs",
    explains=_explains_grad_clip,
)


# GradScaler asks the device whether any gradient overflowed before it lets the optimizer step.


_UPDATE = "aten::_amp_update_scale_"
_MOVES = ("aten::to", "aten::_to_copy")
_AS_RECORDED = (
    "The saving is of the wait alone: the check and the update are taken to stay as recorded, "
    "though bf16 and a fused update change them."
)


def _explains_grad_scaler(context: Context) -> Bool:
    """The last read between a check and its step, or the update if skipped.

    A read after the update is left to others: it may be of the scale, and is as often of the loss.
    """
    syncs = context.syncs
    read = syncs.outermost(*VALUES)
    decided = syncs.after(read, *_MOVES)
    decides = syncs.named(decided, _UPDATE)
    names = syncs.names(decided)
    decides |= np.array([name.startswith("Optimizer.step#") for name in names], bool)
    return np.asarray((read >= 0) & decides & _checked(context))


def _checked(context: Context) -> Bool:
    """Syncs that have had a check since their thread's last step of an optimizer."""
    syncs, call_tree = context.syncs, context.call_tree
    check = syncs.last_before(context.rows.named(SCALER_CHECK))
    step = syncs.last_before(context.rows.beginning("Optimizer.step#"))
    return (check >= 0) & (lookup(call_tree.start, check) > lookup(call_tree.start, step))


_FUSED = (
    "Use a fused=True optimizer, which takes the overflow flag and the scale as device tensors. "
    "Do not call get_scale() every step."
)
_IN_BF16 = "Train in bf16, which needs no scaler. Where float16 must stay: "


def _find_grad_scaler(context: Context) -> Iterator[Occurrence]:
    syncs = context.explained_by(SYNC_GRAD_SCALER)
    fix = f"{_IN_BF16}{_FUSED}" if all_have_tf32(context) else ""  # tensor cores got both at once
    return by_place(context, syncs, caveats=(_AS_RECORDED,), fix=fix)


SYNC_GRAD_SCALER = Rule(
    id="sync-grad-scaler",
    family="sync",
    title="GradScaler syncs to check for overflowed gradients",
    description="The last aten::item between aten::_amp_foreach_non_finite_check_and_unscale_ and "
    "Optimizer.step, or aten::_amp_update_scale_ where the step is skipped.",
    fix=f"{_FUSED} Or train in bf16, which needs no scaler, where the device has tensor cores for "
    "it: NVIDIA's from Ampere (A100) on, not V100 or T4.",
    reference="PyTorch issue 80167; accelerate issue 1714",
    explains=_explains_grad_scaler,
    find=_find_grad_scaler,
)


# Values read back inside the optimizer's step: step counters or learning rates on the device.


def _explains_optimizer_scalar_state(context: Context) -> Bool:
    syncs = context.syncs
    updating = context.analysis.phases.row[syncs.row] == Phase.OPTIMIZER
    reads: Bool = syncs.reads_value & updating
    return reads & syncs.inside_matching(r"Optimizer\.step#.*") if reads.any() else reads


SYNC_OPTIMIZER_SCALAR_STATE = Rule(
    id="sync-optimizer-scalar-state",
    family="sync",
    title="Optimizer.step reads values from the device",
    description="aten::item inside Optimizer.step, and not in the forward or backward of a "
    "closure.",
    fix="Keep step counters on the CPU (the default), or pass capturable=True or fused=True so "
    'that they stay on the device. After loading a checkpoint check state["step"].device. Do not '
    "pass a learning rate that is a CUDA tensor unless capturable. LBFGS reads losses and products "
    "in each iteration: set max_iter no higher than it helps.",
    reference="torch.optim documentation: capturable, fused, foreach",
    confidence="medium",
    explains=_explains_optimizer_scalar_state,
)
