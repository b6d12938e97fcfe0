"""Rules about what holds memory: peaks, gradients, graphs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_hookview.analysis.compiled.graphs import is_compiled
from tb_hookview.analysis.host.rows import Role
from tb_hookview.analysis.memory.live import MemoryClass
from tb_hookview.analysis.memory.operators import checkpoint_bound
from tb_hookview.analysis.memory_use import MemoryUse
from tb_hookview.arrays.joins import isin, mask_of, median, unique
from tb_hookview.arrays.types import Bool, Int, Nanoseconds, TreeRow
from tb_hookview.formats import format_bytes, format_count, format_us
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence.memory import (
    classes_text,
    in_use,
    in_use_text,
    largest_class,
    modules_text,
    size_of,
    top_modules,
)
from tb_hookview.schema import Phase, module_label

# Peak of a device's memory: which modules and classes hold it.

_SHARE = 0.5
"""Part of a device's memory from which its peak matters."""
_FIXES = {
    MemoryClass.ACTIVATION: "Checkpoint blocks whose activations are large and cheap to recompute "
    "(torch.utils.checkpoint), train under autocast, or lower the batch size and accumulate "
    "gradients.",
    MemoryClass.RECOMPUTED: "The peak is in a block that is recomputed: checkpoint smaller blocks.",
    MemoryClass.OPTIMIZER_STATE: "Shard the optimizer's state over the ranks (FSDP, "
    "ZeroRedundancyOptimizer), or take an optimizer with less of it.",
    MemoryClass.GRADIENT: "Apply the optimizer within the backward pass, so that each gradient is "
    "freed at once, or shard gradients over the ranks (FSDP).",
    MemoryClass.PARAMETER: "Hold the parameters in lower precision, or shard them over the ranks "
    "(FSDP).",
    MemoryClass.TEMPORARY: "Split the operator that is running at the peak into parts of the "
    "batch, or replace it by a fused one that holds no intermediate result.",
}


def _find_memory_peak(context: Context) -> Iterator[Occurrence]:
    memory = context.analysis.memory
    if memory is None or not memory.addresses_known:
        return
    for device, name in enumerate(memory.events.devices):
        at, size = memory.peak(device, context.selection.chosen), size_of(context, name)
        if at < 0 or size is None or memory.events.allocated[at] <= _SHARE * size:
            continue
        if largest_class(memory, at) not in _FIXES:
            continue  # the trace does not show what the peak consists of
        yield _occurrence(context, memory, device, at, size)


def _occurrence(context: Context, memory: MemoryUse, device: int, at: int, size: int) -> Occurrence:
    live = memory.blocks.live_at(at, device)
    ranked = top_modules(context, memory, live)
    used = int(memory.events.allocated[at])
    evidence = (
        f"{format_bytes(used)} of {format_bytes(size)} are in use at the peak: "
        f"{classes_text(memory, at)}; by module: {modules_text(context, ranked) or 'unknown'}"
    )
    module = ranked[0][0] if ranked else -1
    return Occurrence(
        place=f"device {memory.events.devices[device]}",
        module=module if module >= 0 else None,
        evidence=evidence + _checkpointing(context, memory, live),
        claims_gain=False,
        examples=memory.events.time[[at]],
        latent="its peak limits the batch size, and costs no time by itself",
        fix=_FIXES[largest_class(memory, at)],
    )


def _checkpointing(context: Context, memory: MemoryUse, live: Bool) -> str:
    modules = context.analysis.modules
    freed = checkpoint_bound(
        memory.kind, memory.freed_in, memory.lives, memory.blocks, live, modules
    )
    freed[modules.parent < 0] = 0  # to checkpoint the whole model frees nothing at its own backward
    if not freed.any():
        return ""
    most = int(np.argmax(freed))
    return (
        f"; checkpointing {module_label(modules.path[most])} frees at most "
        f"{format_bytes(int(freed[most]))} of it"
    )


MEMORY_PEAK = Rule(
    id="memory-peak",
    family="memory",
    title="Peak memory limits the batch size",
    description="In a trace recorded with profile_memory: more than half of a device's memory is "
    "in use at the peak. Modules, classes and what checkpointing frees are those of the blocks "
    "live at it.",
    fix="Lower what the peak consists of: saved activations by checkpointing, optimizer state and "
    "gradients by sharding, temporaries by smaller operators.",
    reference="torch.utils.checkpoint documentation; PyTorch, Understanding CUDA memory usage",
    confidence="medium",
    find=_find_memory_peak,
)


# Gradients that live on after the optimizer's step, through the next forward.


_SHARE_GRADIENTS_KEPT = 0.05
"""Part of the peak."""
_LATE = (
    "Call optimizer.zero_grad() right after optimizer.step(), not after the next forward: the "
    "gradients are then gone while activations are saved."
)
_NEVER = (
    "Call optimizer.zero_grad(set_to_none=True), torch's default: the gradients are then freed "
    "instead of filled with zeros."
)


_HIGHER = "the peak is higher by them where it lies in the forward or early in the backward"
_IN_USE = "the peak lies in the optimizer, which needs them: it is no higher for them"


def _find_gradients_kept(context: Context) -> Iterator[Occurrence]:
    memory = context.analysis.memory
    if memory is None or not memory.addresses_known:
        return
    forwards = _forwards_after_a_step(context)
    if not len(forwards):
        return
    for device, name in enumerate(memory.events.devices):
        peak = memory.peak(device, context.selection.chosen)
        held = [_held(memory, device, time, applied) for time, applied in forwards.tolist()]
        sizes = np.array([int(memory.blocks.size[blocks].sum()) for blocks in held])
        if peak < 0 or median(sizes) <= _SHARE_GRADIENTS_KEPT * in_use(memory, peak):
            continue
        if _gone_before_the_peak(context, memory, device, held, forwards[:, 1]):
            continue
        yield _occurrence_gradients_kept(
            context, memory, name, held, forwards, int(median(sizes)), peak
        )


def _forwards_after_a_step(context: Context) -> Int:
    """Start of each forward that follows a step of the optimizer, and that step's start."""
    times = context.analysis.phases.time
    forward, applied = times[Phase.FORWARD][:, 0], times[Phase.OPTIMIZER][:, 0]
    following = np.searchsorted(forward, applied, side="right")
    inside = following < len(forward)
    starts = np.stack([np.append(forward, 0)[following], applied], axis=1)[inside]
    if len(starts):  # the last step before each forward
        starts = starts[np.append(np.diff(starts[:, 0]) > 0, True)]
    return starts[context.steps.contain(starts[:, 0])]


def _held(memory: MemoryUse, device: int, time: int, applied: int) -> Int:
    """Gradients live as a forward begins that an optimizer's step has already used."""
    events = memory.events.of(device)
    at = int(np.searchsorted(memory.events.time[events], time)) - 1
    if at < 0:
        return np.zeros(0, np.int64)
    live = memory.blocks.live_at(events.start + at, device)
    return np.flatnonzero(
        live & (memory.kind == MemoryClass.GRADIENT) & (memory.lives.birth < applied)
    )


def _gone_before_the_peak(
    context: Context, memory: MemoryUse, device: int, held: list[Int], applied: Nanoseconds
) -> bool:
    """Whether gradients are freed after each forward, and none applied is live at the steps' peak.

    Those of the peak's own backward are not applied yet.
    """
    peak = memory.peak(device, context.steps.indices if context.steps.marked else None)
    if peak < 0 or _in_optimizer(context, memory, peak):
        return False
    before = (applied <= memory.events.time[peak]).tolist()
    live = memory.blocks.live_at(peak, device)
    if any(live[kept].any() for kept, used in zip(held, before, strict=True) if used):
        return False
    return bool((memory.blocks.death[np.concatenate(held)] >= 0).all())


def _in_optimizer(context: Context, memory: MemoryUse, peak: int) -> bool:
    row = int(memory.events.row[peak])
    return row >= 0 and int(context.analysis.phases.row[row]) == Phase.OPTIMIZER


def _occurrence_gradients_kept(
    context: Context,
    memory: MemoryUse,
    name: str,
    held: list[Int],
    forwards: Nanoseconds,
    size: int,
    peak: int,
) -> Occurrence:
    blocks = mask_of(held[-1], len(memory.blocks))
    freed = bool((memory.blocks.death[held[0]] >= 0).any())
    top = modules_text(context, top_modules(context, memory, blocks))
    return Occurrence(
        place=f"device {name}",
        evidence=f"{format_bytes(size)} of gradients that the optimizer has used are still in use "
        f"as the next forward begins, in {format_count(len(forwards), 'step')}; the peak is "
        f"{in_use_text(memory, peak)}; most in {top}",
        claims_gain=False,
        examples=np.asarray(forwards[:, 0]),
        latent=_IN_USE if _in_optimizer(context, memory, peak) else _HIGHER,
        fix=_LATE if freed else _NEVER,
    )


GRADIENTS_KEPT = Rule(
    id="gradients-kept",
    family="memory",
    title="Gradients are kept through the next forward",
    description="In a trace recorded with profile_memory: blocks allocated in a backward pass "
    "outlive the optimizer's step and the beginning of the next forward; in the median of these "
    "moments over 5% of the peak. Not where each is freed before the peak of the measured steps, "
    "which is no higher for them.",
    fix="Call optimizer.zero_grad(set_to_none=True) right after optimizer.step().",
    reference="torch.optim.Optimizer.zero_grad; PyTorch Performance Tuning Guide",
    find=_find_gradients_kept,
)


# Forwards set up for training in a trace in which no backward pass runs: operators that record
# autograd nodes, layers in training mode.


_FEW = 10
"""Nodes up to which they are a trifle."""
_DROPOUTS = ("aten::dropout", "aten::feature_dropout", "aten::alpha_dropout")
_MASKS = ("aten::bernoulli_", "aten::native_dropout", "aten::_fused_dropout")
_NORM, _ADD = "aten::batch_norm", "aten::add_"
_MOST_NORMS = 0.9
"""Share of batch norms that an in-place addition precedes, from which on it counts batches; sums
of residual branches precede fewer."""
_REENTRANT = "CheckpointFunction"
"""Operator whose forward records no graph though it is trained."""
_INFER = (
    "If this is inference, run it under torch.inference_mode(), or torch.no_grad(): "
    "activations are then freed as the forward goes, and operators take less host time. If it is "
    "training, record the backward pass as well."
)
_EVALUATE = "For inference call model.eval() first: the model is in training mode, so {}."
_RANDOM = "dropout takes time and makes results random"
_OF_DROPOUT = "The cost is the time of dropout, avoidable if this is inference."
_OF_BATCH = (
    "batch norm's results depend on what else is in the batch, and its running statistics are "
    "overwritten"
)
_ON_PURPOSE = (
    "Leave it where running statistics are meant to be updated (torch.optim.swa_utils.update_bn), "
    "or dropout to sample."
)
_NO_GRAPH = "the trace has no backward pass, no optimizer and no graph for one"
_UNKNOWN_GRAPH = (
    "the trace has no backward pass and no optimizer; whether a graph for one is recorded is "
    "unknown, as its operators have no numbers"
)
_ZEROED = "'s step, though gradients are set to zero"
_BACKWARD = (Role.NODE, Role.GRADIENT_SINK)


def _find_graph_without_backward(context: Context) -> Iterator[Occurrence]:
    host, call_tree, zeroes = context.host, context.call_tree, _zeroes_gradients(context)
    operators = np.flatnonzero(host.operators & _untrained(context, zeroes))
    if not len(operators):
        return
    events, event = context.analysis.trace.events, call_tree.event[operators]
    dispatched = context.rows.matching("::", having="::")[operators]
    # An autograd function takes a number under no_grad, too, for a node that is freed at once.
    number = np.where(dispatched, events.sequence[event], -1)
    nodes = len(unique(number[number >= 0])) - 1  # the last may be that of a node to come
    recorded, (signs, effects) = nodes > _FEW, _training_mode(context, operators)
    reentrant = context.any_name(lambda name: name == _REENTRANT)
    if not recorded and (not effects or reentrant or zeroes.any()):
        return
    graph = (
        f"at least {format_count(nodes, 'autograd node')} for a backward pass are recorded in "
        f"{format_count(len(operators), 'operator')}; the trace has no backward pass and no "
        f"optimizer{'' if not zeroes.any() else _ZEROED}"
    )
    evaluate = _EVALUATE.format(", and ".join(effects)) if effects else ""
    known = bool((events.external[event] >= 0).any() or (number >= 0).any())  # else without args
    without = _NO_GRAPH if known else _UNKNOWN_GRAPH
    dropped = np.flatnonzero(_of_dropout(context))
    yield Occurrence(
        place="the model",
        evidence="".join([graph if recorded else without, *signs, _memory(context)]),
        fix=f"{evaluate} {_ON_PURPOSE if known and not recorded else _INFER}" if evaluate else "",
        claims_gain=False,
        wasted=dropped,
        caveats=(_OF_DROPOUT,) if len(dropped) else (),
        examples=call_tree.start[operators[np.argmax(number >= 0)]][None],
        latent="each node costs host time, and keeps what its backward would need"
        if recorded
        else "its results are those of training",
        title="" if recorded else "The model is in training mode, but no backward pass runs",
    )


def _zeroes_gradients(context: Context) -> Bool:
    """Rows of an optimizer's zero_grad, shape (n,)."""
    zeroing = context.rows.beginning("Optimizer.zero_grad#")
    return np.asarray((context.host.role == Role.OPTIMIZER) & zeroing)


def _untrained(context: Context, zeroes: Bool) -> Bool:
    """Rows for which no backward pass runs, shape (n,): what precedes one may be all of the trace.

    Between two calls of zero_grad there would be one, or the step would be compiled.
    """
    host, start = context.host, context.call_tree.start
    trains = isin(host.role, _BACKWARD).any() or ((host.role == Role.OPTIMIZER) & ~zeroes).any()
    if trains or (zeroes.any() and context.any_name(is_compiled)):
        return np.zeros(len(host), bool)
    if not zeroes.any():
        return np.ones(len(host), bool)
    return np.asarray((start >= start[zeroes].min()) & (start < start[zeroes].max()))


def _draws(context: Context) -> Bool:
    """Rows of operators that draw a mask of dropout, shape (n,)."""
    return context.rows.named(*_MASKS) & context.rows.inside(context.rows.named(*_DROPOUTS))


def _of_dropout(context: Context) -> Bool:
    """Device events, in measured steps, of dropout that draws masks, shape (d,)."""
    drawn = np.flatnonzero(_draws(context))
    dropouts = context.rows.outermost_of(context.rows.named(*_DROPOUTS), drawn)
    inside = context.rows.inside(mask_of(dropouts, len(context.call_tree)))
    return context.device_events.launched_by(inside) & context.device_events.counted


def _training_mode(context: Context, operators: TreeRow) -> tuple[list[str], list[str]]:
    """Phrases of the signs of layers in training mode, and of what that does to results."""
    drawn, counted = int(np.count_nonzero(_draws(context))), _batches_counted(context, operators)
    time = context.device_events.us_per_step(_of_dropout(context))
    takes = f" and takes {format_us(time)} of device time{context.each}" if time else ""
    found = [
        (drawn, f"; dropout draws {format_count(drawn, 'mask')}{takes}", _RANDOM),
        (counted, f"; {format_count(counted, 'batch norm')} count their batch", _OF_BATCH),
    ]
    return [sign for count, sign, _ in found if count], [does for count, _, does in found if count]


def _batches_counted(context: Context, operators: TreeRow) -> int:
    """Batch norms right after the operator that counts their batches, which records no node.

    They are counted in training mode alone, and never where no running statistics are kept.
    """
    tree = context.call_tree
    above = tree.nearest_above(mask_of(operators, len(tree)))
    outer = operators[above[operators] < 0]
    norms = np.flatnonzero(context.rows.named(_NORM)[outer])
    before, norms = outer[np.maximum(norms - 1, 0)], outer[norms]
    number = context.analysis.trace.events.sequence[tree.event]
    counts = context.rows.named(_ADD)[before] & (tree.thread[before] == tree.thread[norms])
    counts &= number[before] == number[norms]
    counted = int(np.count_nonzero(counts))
    return counted if counted >= _MOST_NORMS * len(norms) else 0


def _memory(context: Context) -> str:
    """Phrase of the memory in use at the peak of the fullest device, "" where unknown."""
    memory = context.analysis.memory
    if memory is None or not memory.addresses_known:
        return ""
    peaks = [
        memory.peak(device, context.selection.chosen)
        for device, name in enumerate(memory.events.devices)
        if name != "cpu"
    ]
    at = max(peaks, key=lambda at: memory.events.allocated[at] if at >= 0 else -1, default=-1)
    if at < 0:
        return ""
    size = format_bytes(int(memory.events.allocated[at]))
    return f"; {size} are in use at the peak: {classes_text(memory, at)}"


GRAPH_WITHOUT_BACKWARD = Rule(
    id="graph-without-backward",
    family="memory",
    title="Autograd records a graph, but no backward pass runs",
    description="Operators record more than ten autograd nodes (sequence numbers that grow) in a "
    "trace with neither a backward pass nor an optimizer's step. Where fewer do, and none is in a "
    "checkpoint, which records no graph in training: layers in training mode, that is dropout that "
    "draws masks, or nine tenths of the batch norms right after an aten::add_ that records no node "
    "(it counts their batches). It costs the device time of such dropout.",
    fix=_INFER,
    reference="PyTorch, Autograd mechanics: locally disabling gradient computation",
    confidence="medium",
    find=_find_graph_without_backward,
)
