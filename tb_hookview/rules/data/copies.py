"""Rules about data on its way to the device: copies, pinned memory, layouts."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from tb_hookview.analysis.idle.gaps import Cause
from tb_hookview.arrays.joins import isin, setdiff, union, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool, DeviceEventIndex, TreeRow
from tb_hookview.formats import format_count
from tb_hookview.rules.engine.by_place import places_of
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.evidence import traffic
from tb_hookview.rules.evidence.devices import of_convolutions

# Tensors created on the CPU and copied at once to the device.


_FILLS = (
    *("aten::zeros", "aten::ones", "aten::full", "aten::arange", "aten::eye", "aten::linspace"),
    *("aten::rand", "aten::randn", "aten::randint", "aten::randperm", "aten::tril", "aten::triu"),
    *("aten::zeros_like", "aten::ones_like", "aten::full_like", "aten::rand_like"),
    *("aten::randn_like", "aten::fill_", "aten::zero_", "aten::normal_", "aten::uniform_"),
)
_AT_ONCE_NS, _WITH_STACKS_NS = 25_000, 100_000
"""`torch.zeros(...).to(device)` moves within this time, on a slow host too; and where the calls of
Python in between are recorded."""


def _filled_and_moved(context: Context) -> tuple[TreeRow, TreeRow]:
    """The operator before that which moves, and that, for each sync; -1 for none."""
    moved = context.syncs.outermost("aten::to", "aten::cuda", "aten::_to_copy")
    return context.syncs.before(moved), moved


def _explains_create_on_cpu_then_move(context: Context) -> Bool:
    syncs, call_tree = context.syncs, context.call_tree
    filled, moved = _filled_and_moved(context)
    within = _WITH_STACKS_NS if context.with_stacks else _AT_ONCE_NS
    at_once = lookup(call_tree.start, moved) - lookup(call_tree.end, filled) <= within
    found = np.asarray(syncs.named(filled, *_FILLS) & at_once)
    if found.any():
        uploads = traffic.uploads(context, traffic.PAGEABLE, traffic.UNKNOWN)
        found &= traffic.syncs_for(context, uploads)
        found &= ~_launches(context)[filled]
    return found


def _launches(context: Context) -> Bool:
    """Fills that launched device events."""
    around = context.call_tree.nearest(context.rows.named(*_FILLS))
    fill = around[context.analysis.device_events.launches]
    found = np.zeros(len(context.call_tree) + 1, bool)  # the last is for "no row"
    while len(fill := unique(fill[fill >= 0])):
        found[fill] = True
        fill = lookup(around, context.call_tree.parent[fill])
    return found


def _find_create_on_cpu_then_move(context: Context) -> Iterator[Occurrence]:
    filled, moved = _filled_and_moved(context)
    copies = unique(context.syncs.copy[_repeated(context, CREATE_ON_CPU_THEN_MOVE)])
    for occurrence in traffic.by_place_of_copies(context, copies, saved=1.0):
        yield _with_fills(context, occurrence, filled, moved)


def _with_fills(
    context: Context, occurrence: Occurrence, filled: TreeRow, moved: TreeRow
) -> Occurrence:
    """The occurrence with what filled its tensors: the host does neither without it."""
    tree, mine = context.call_tree, occurrence.syncs
    fills = unique(filled[mine][filled[mine] >= 0])
    held = context.steps.us_per_step(tree.duration[fills].sum())
    time = tree.time_of(fills)
    return msgspec.structs.replace(
        occurrence,
        evidence=f"{occurrence.evidence}; each right after an operator that filled a tensor on the "
        f"host, {context.us_text(held)}",
        gaps=union(occurrence.gaps, context.gaps.within(time, Cause.LAUNCH)),
        gone=union(fills, moved[mine][moved[mine] >= 0]),
    )


def _repeated(context: Context, rule: Rule) -> Bool:
    """Syncs of measured steps that a rule explains, without those that happen once."""
    return context.explained_by(rule) & context.syncs.counted & traffic.repeated(context)


CREATE_ON_CPU_THEN_MOVE = Rule(
    id="create-on-cpu-then-move",
    family="data-movement",
    title="Tensors are created on the CPU and then copied to the device",
    description="An operator that fills a tensor without a kernel (aten::zeros, randn, arange, "
    "...), and within 25 us (100 us where Python stacks are recorded) aten::to with a copy to the "
    "device that blocks.",
    fix="Create them where they are used: device= and dtype= in the constructor, or new_* and "
    "*_like of a tensor on the device. Register constants as buffers.",
    reference="PyTorch Performance Tuning Guide: create tensors directly on the target device",
    confidence="medium",
    explains=_explains_create_on_cpu_then_move,
    find=_find_create_on_cpu_then_move,
)


# Many small copies to the device in every step, as of Python numbers and lists.


_A_STEP = 10
_IN_ALL, _KERNELS_A_COPY = 100, 20
"""Without steps: how many in the trace, and most kernels for each of them. A batch of a few small
tensors has more."""
_WITHOUT_STEPS = "Many small host-to-device copies"


def _find_h2d_many_small(context: Context) -> Iterator[Occurrence]:
    """Blocking copies that no rule of higher priority explains, and all others."""
    syncs, small = context.syncs, _many_small(context) & context.device_events.counted
    mine = syncs.copy[context.explained_by(H2D_MANY_SMALL) & context.syncs.counted]
    found = np.flatnonzero(small & (context.analysis.device_events.launch >= 0))
    free = found[~isin(found, syncs.copy)]
    for occurrence in traffic.by_place_of_copies(context, union(mine, free)):
        title = "" if context.steps.marked else _WITHOUT_STEPS
        yield msgspec.structs.replace(occurrence, title=title)


def _many_small(context: Context) -> Bool:
    """Small copies from memory that is not pinned, where there are enough of them."""
    small = traffic.unpinned_uploads(context) & traffic.small(context)
    if not context.steps.marked:
        return _often(context, small)
    enough = (small & context.device_events.counted).sum() >= _A_STEP * len(context.steps)
    return np.asarray(small & enough)


def _often(context: Context, copies: Bool) -> Bool:
    """Some copies after the first kernel, if these are many next to the kernels."""
    work = context.analysis.device_events
    copies = copies & (work.start > traffic.first_kernel(context))
    enough = copies.sum() >= max(_IN_ALL, work.is_kernel.sum() / _KERNELS_A_COPY)
    return np.asarray(copies & enough)


H2D_MANY_SMALL = Rule(
    id="h2d-many-small",
    family="data-movement",
    title="Many small host-to-device copies in every step",
    description="Ten or more copies per step from pageable memory (on HIP, which does not record "
    "that, by hipMemcpyWithStream) to the device of at most 64 KiB (or, where the trace holds no "
    "sizes, 10 us), as torch.tensor(list, device='cuda') makes them. In a trace without marked "
    "steps a hundred or more after the first kernel, and one or more for every 20 kernels.",
    fix=traffic.PACK,
    reference="NVIDIA, Writing Sync-Free Code: tensors made from Python objects",
    explains=lambda context: traffic.syncs_for(context, _many_small(context)),
    find=_find_h2d_many_small,
    advice=("host-copy-torch-tensor",),
)


# Copies from pageable memory that block the host.


_UNKNOWN = (
    "HIP does not record whether the memory is pinned; if it is, non_blocking=True is enough."
)


def _explains_h2d_pageable_blocking(context: Context) -> Bool:
    unpinned = traffic.uploads(context, traffic.PAGEABLE, traffic.UNKNOWN)
    return traffic.syncs_for(context, unpinned) & traffic.blocking(context)


def _find_h2d_pageable_blocking(context: Context) -> Iterator[Occurrence]:
    found = _repeated(context, H2D_PAGEABLE_BLOCKING)
    unknown = traffic.syncs_for(context, traffic.uploads(context, traffic.UNKNOWN))
    yield from traffic.by_place_of_copies(
        context, unique(context.syncs.copy[found & ~unknown]), pinning=True, fix_small=traffic.PACK
    )
    yield from traffic.by_place_of_copies(
        context,
        unique(context.syncs.copy[found & unknown]),
        caveats=(_UNKNOWN,),
        confidence="medium",
        fix_small=traffic.PACK,
    )


H2D_PAGEABLE_BLOCKING = Rule(
    id="h2d-pageable-blocking",
    family="data-movement",
    title="Blocking host-to-device copies from pageable memory",
    description="A copy from pageable memory to the device with a synchronize after it in the same "
    "operator, as .to(device) makes it; hipMemcpyWithStream on HIP. In a trace without marked "
    "steps, not before the first kernel, where models move to the device, once, unless kernels "
    "have ten times as many names as there are copies before them: these are a batch.",
    fix="Load with DataLoader(pin_memory=True) and move batches by .to(device, non_blocking=True), "
    "or by copy_ with it where they have their place on the device: both are needed. A custom "
    "batch class needs a pin_memory() method that returns the batch. "
    "Values that never change belong on the device, as buffers.",
    reference="PyTorch, A guide on good usage of non_blocking and pin_memory(); Nsight Systems "
    "rule cuda_memcpy_async",
    explains=_explains_h2d_pageable_blocking,
    find=_find_h2d_pageable_blocking,
)


# Copies from pinned memory that block the host.


def _find_h2d_pinned_but_blocking(context: Context) -> Iterator[Occurrence]:
    found = _repeated(context, H2D_PINNED_BUT_BLOCKING)
    yield from traffic.by_place_of_copies(context, unique(context.syncs.copy[found]))


H2D_PINNED_BUT_BLOCKING = Rule(
    id="h2d-pinned-but-blocking",
    family="data-movement",
    title="Blocking host-to-device copies from pinned memory",
    description="A copy from pinned memory to the device with a synchronize after it in the same "
    "operator.",
    fix="Pass non_blocking=True. Kernels launched after the copy on its stream see the data "
    "without a sync. Do not write to the pinned memory again before the copy is done.",
    reference="PyTorch, A guide on good usage of non_blocking and pin_memory()",
    explains=lambda context: traffic.syncs_for(context, traffic.uploads(context, traffic.PINNED)),
    find=_find_h2d_pinned_but_blocking,
)


# `non_blocking=True` on memory that is not pinned: the call lasts as long as the copy.


_LONG_NS = 50_000
_LONG_SHARE = 0.5
"""Time, or part of its copy's device time, from which a call is long."""


def _explains_h2d_nonblocking_unpinned(context: Context) -> Bool:
    return traffic.syncs_for(context, _unpinned(context)) & ~traffic.blocking(context)


def _find_h2d_nonblocking_unpinned(context: Context) -> Iterator[Occurrence]:
    syncs = context.syncs
    large = traffic.syncs_for(context, ~traffic.small(context))
    explained = syncs.copy[context.explained_by(H2D_NONBLOCKING_UNPINNED) & syncs.counted & large]
    copies = union(explained, _long_calls(context))
    return traffic.by_place_of_copies(context, copies, pinning=True)


def _unpinned(context: Context) -> Bool:
    return traffic.uploads(context, traffic.PAGEABLE)


def _long_calls(context: Context) -> DeviceEventIndex:
    """Copies that no sync is for and whose call was long nevertheless."""
    work, call_tree = context.analysis.device_events, context.call_tree
    counted = _unpinned(context) & context.device_events.counted & ~traffic.small(context)
    found = setdiff(np.flatnonzero(counted & (work.launch >= 0)), context.syncs.copy)
    call = call_tree.duration[work.launch[found]]
    long = (call > _LONG_NS) | (call >= _LONG_SHARE * work.duration[found])
    return np.asarray(found[long & context.rows.on_training_thread(work.launch[found])])


H2D_NONBLOCKING_UNPINNED = Rule(
    id="h2d-nonblocking-unpinned",
    family="data-movement",
    title="non_blocking=True has no effect on copies from pageable memory",
    description="A copy from pageable memory to the device, larger than 64 KiB, without a "
    "synchronize after it, whose call lasts over 50 us or half of the copy.",
    fix="Pin in the loader: DataLoader(pin_memory=True) does it in a separate thread. "
    "Without it the flag non_blocking has no effect, and .pin_memory() in the loop costs more than "
    "it saves.",
    reference="PyTorch, A guide on good usage of non_blocking and pin_memory(); Nsight Systems "
    "rule cuda_memcpy_async",
    explains=_explains_h2d_nonblocking_unpinned,
    find=_find_h2d_nonblocking_unpinned,
)


# Copies from pinned memory on the stream of the kernels, which run after them.


_SHARE = 0.02
"""Part of a step from which such copies count."""


def _find_h2d_not_overlapped(context: Context) -> Iterator[Occurrence]:
    found = setdiff(_on_stream_of_kernels(context), context.syncs.copy)
    alone = traffic.exposed(context, found)
    found = found[alone > 0]
    exposed, step = context.steps.us_per_step(alone.sum()), context.steps.measured_us
    hidden = min(exposed, step - _copying(context, found))
    if hidden > _SHARE * step > 0:
        saved, caveats = hidden / exposed, (_BOUND,)
        yield from traffic.by_place_of_copies(context, found, saved=saved, caveats=caveats)


_BOUND = "A copy can be hidden behind the rest of a step only: a step stays as long as its copies."


def _copying(context: Context, copies: DeviceEventIndex) -> float:
    """Time of some copies on the device that copies longest, microseconds per step."""
    work = context.analysis.device_events
    total = np.bincount(work.device[copies], weights=work.duration[copies], minlength=1)
    return context.steps.us_per_step(total.max())


def _on_stream_of_kernels(context: Context) -> DeviceEventIndex:
    """Copies from pinned memory, in measured steps, on a stream that runs kernels too."""
    work = context.analysis.device_events
    kernels = isin(work.stream, unique(work.stream[work.is_kernel]))
    wanted = (
        traffic.uploads(context, traffic.PINNED)
        & context.device_events.counted
        & kernels
        & (work.launch >= 0)
    )
    return np.flatnonzero(wanted)


H2D_NOT_OVERLAPPED = Rule(
    id="h2d-not-overlapped",
    family="data-movement",
    title="Host-to-device copies do not overlap with kernels",
    description="Copies from pinned memory that do not block, on a stream that runs kernels, and "
    "that no kernel overlaps for over 2% of a step.",
    fix="Copy the next batch on a separate stream while this one is computed: wait_stream before "
    "its use, record_stream on its tensors. Ship compact types, such as uint8 images and int32 "
    "ids, and convert them on the device.",
    reference="CUDA semantics, CUDA streams; PyTorch, A guide on good usage of non_blocking and "
    "pin_memory()",
    find=_find_h2d_not_overlapped,
)


# Device time spent on copies of tensors: layout, dtype, concatenation.


_SHARE_DEVICE_LAYOUT_COPIES = 0.05
"""Part of device work from which copies within them count."""
_SHARE_OF_PLACE = 0.01
"""Part of it from which a place is reported."""
_AVOIDABLE = 0.5
_SHARE_OF_STEP = 0.01
"""Part of a step below which it does not matter."""
_TO_ITSELF = ("Memcpy DtoD", "Memcpy D2D")
"""Its changes of layout are `conv-layout-transpose`."""
_OTHERS = (
    *("nchwToNhwc", "nhwcToNchw", "FoldedNhwc", "foldedNhwc", "convertTensor_kernel"),
    *("dma_request", "HtoD", "DtoH"),
)
"""Kernels that convolutions launch, for traces without operators; copies from or to the host."""
_WITH_BIAS = ("aten::addmm", "aten::baddbmm")
"""Products that add: they copy the bias into each row of their result, and add the product."""
_FIXES = {
    "AccumulateGrad": "Pass gradient_as_bucket_view=True to DistributedDataParallel: gradients "
    "then lie in their buckets. Without it, keep gradients in the layout of their parameters, so "
    "that none is cloned.",
    "CompiledFunction": "Look for inputs and outputs of compiled graphs that are cloned: write in "
    "place to buffers and parameters less often, keep inputs in the layout that was compiled. A "
    "CUDA graph copies every input that may move into its fixed place: hand it the same tensors "
    "(torch._dynamo.mark_static_address), and capture larger parts. Fewer graph breaks pass fewer "
    "tensors.",
    "aten::sum": "A sum of bools, or of integers below int64, copies them as int64 first. Pass "
    "dtype=torch.int32 to halve the copy, or ask any() or all() where no count is needed. "
    "torch.compile makes one kernel of both.",
    "aten::cat": "Write the parts into one tensor in the first place (out=, or views of a tensor "
    "that holds all), or work on them apart.",
    "aten::to": "Cast what does not change once, before the loop (weights, masks, tables), and "
    "keep the rest in the type that is computed in.",
}
"""Remedies by a word in the name of the place, where they are not the rule's."""
_EXPANDED = (
    "The gradient of sum() is one number expanded to the shape of its input, which is written out "
    "as the product after it reads it, once for each operand. No layout or type avoids that: a "
    "loss does whose gradient differs by element, such as cross_entropy or mse_loss. In a "
    "benchmark pass a dense gradient: output.backward(gradient)."
)
"""Remedy for copies in nodes of products right after the node of a sum."""
_PRODUCTS = ("aten::mm", "aten::bmm", "aten::addmm", "aten::baddbmm")


def _find_device_layout_copies(context: Context) -> Iterator[Occurrence]:
    work, events = context.analysis.device_events, context.device_events
    if events.share(events.of_kinds("copy")) <= _SHARE_DEVICE_LAYOUT_COPIES:
        return
    moved = _within_device(context)
    share, least = events.share(moved), _SHARE_OF_STEP * context.steps.measured_us
    if share <= _SHARE_DEVICE_LAYOUT_COPIES or events.us_per_step(moved) <= least:
        return
    rows = np.flatnonzero(moved & events.counted & (work.launch >= 0))
    for (module, place), members in places_of(context, work.launch[rows]).items():
        mine = rows[members]
        wasted = context.steps.us_per_step(work.duration[mine].sum())
        part = wasted / events.work_us
        if part > _SHARE_OF_PLACE:
            yield Occurrence(
                place=place,
                module=module,
                evidence=f"{format_count(len(members), 'copy', 'copies')} within the device in "
                f"{context.steps.text}, {context.us_text(wasted)}, {part:.1%} of device "
                f"work; all such copies take {share:.0%}",
                wasted=mine,
                saved=_AVOIDABLE,
                caveats=("Assumes that half of the copies can be avoided.",),
                fix=_EXPANDED
                if _of_expanded(context, work.launch[mine])
                else next((fix for word, fix in _FIXES.items() if word in place), ""),
            )


def _of_expanded(context: Context, launch: TreeRow) -> bool:
    """Whether products launch each of some copies in a node right after that of a sum."""
    nodes, tree = context.analysis.nodes, context.call_tree
    node = lookup(context.analysis.row_node, launch)
    before = lookup(nodes.row, np.maximum(node - 1, -1))
    if not len(launch) or (before < 0).any():
        return False
    sums = context.rows.containing("SumBackward")[before]
    sums &= tree.thread[before] == tree.thread[launch]
    return bool((sums & context.rows.inside(context.rows.named(*_PRODUCTS))[launch]).all())


def _within_device(context: Context) -> Bool:
    """Kernels that copy, and copies from the device to itself, that no convolution asked for.

    FSDP copies shards into and out of its collectives, and casts them, which nothing avoids; nor
    what a product copies by itself. The compiler copies constants, and inputs of what it times,
    once.
    """
    launch = context.analysis.device_events.launch
    operator = lookup(context.host.operator_around, launch)
    bias = lookup(context.rows.named(*_WITH_BIAS), operator) == 1
    others = context.rows.inside(
        context.rows.beginning("FSDP::", "fsdp::") | context.analysis.compiling
    )
    events = context.device_events
    found = context.analysis.device_events.is_kernel | events.beginning(*_TO_ITSELF)
    found &= events.of_kinds("copy")
    found &= ~events.beginning("batched_transpose_", "SubTensorOp") & ~events.containing(*_OTHERS)
    found &= (lookup(others, launch) != 1) & ~bias
    return np.asarray(found & ~of_convolutions(context))


DEVICE_LAYOUT_COPIES = Rule(
    id="device-layout-copies",
    family="data-movement",
    title="Device-to-device copies of tensors (layout, dtype, concatenation)",
    description="Kernels and copies that only move data (contiguous, clone, cat, changes of type) "
    "take over 5% of device work, FSDP's own, the compiler's and those of a bias within addmm "
    "apart; one finding for each place that takes over 1%. Those of convolutions are left to "
    "conv-layout-transpose.",
    fix="Remove transposes that are made contiguous again. Write into one tensor instead of "
    "concatenating in a loop. Keep one memory format and one type of activations; leave autocast's "
    "cache of weights on. DistributedDataParallel copies no gradients with gradient_as_bucket_view="
    "True. torch.compile fuses what is left.",
    reference="PyTorch Performance Tuning Guide; torch.amp documentation",
    confidence="medium",
    find=_find_device_layout_copies,
)
