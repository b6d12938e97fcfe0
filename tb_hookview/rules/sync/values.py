"""Rules about syncs for a value, a size or a copy that the host wants from the device."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from tb_hookview.analysis.host.rows import Call
from tb_hookview.arrays.joins import isin, mask_of, unique
from tb_hookview.arrays.nesting import lookup
from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.by_place import by_place
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.rules.engine.syncs import READS, VALUES, Direction
from tb_hookview.rules.evidence.cuda_graphs import RECORD_ONCE, next_to_recording
from tb_hookview.rules.evidence.element_loops import (
    COMPARE_AT_ONCE,
    COMPARED,
    ITERATED,
    READ_AT_ONCE,
    compared,
)
from tb_hookview.rules.evidence.host import with_value
from tb_hookview.rules.evidence.traffic import (
    FASTER_PINNED,
    SIZES,
    Purpose,
    bytes_of,
    exposed,
    purposes,
    sizes_copied,
    small,
)
from tb_hookview.schema.findings import Confidence

# Python branches on a tensor: `if t:`, `while t:`, `assert t`.


_REDUCTIONS = (
    *("aten::any", "aten::all", "aten::_is_any_true", "aten::_is_all_true", "aten::logical_or"),
    *("aten::logical_not", "aten::bitwise_not", "aten::bitwise_or", "aten::abs", "aten::mul"),
    *("aten::eq", "aten::ne", "aten::sum"),
)
_FINITE = ("aten::isnan", "aten::isinf", "aten::isfinite")
_ALL = "each right after aten::all or aten::any, as where a mask is tested"
_MASKS = (
    "Where a library tests a mask (transformers: whether anything is padded), pass no mask if "
    "nothing is, or one that it takes as it is. In your own code apply the mask without a test "
    "(torch.where, masking), or check with torch._assert_async."
)


def _find_bool_branch(context: Context) -> Iterator[Occurrence]:
    explained, finite = context.explained_by(SYNC_BOOL_BRANCH), _after_finite_check(context)
    of_all = _of_all(context) & ~finite
    elements = compared(context, explained)
    yield from by_place(context, explained & ~finite & ~of_all & ~elements)
    yield from by_place(context, explained & elements, note=COMPARED, fix=COMPARE_AT_ONCE)
    yield from by_place(context, explained & finite, note="each after a check for NaN or inf")
    yield from by_place(context, explained & of_all, note=_ALL, fix=_MASKS)


def _of_all(context: Context) -> Bool:
    """Reads right after a reduction of all elements to one truth value."""
    syncs = context.syncs
    read = syncs.outermost(*READS)
    return syncs.named(syncs.before(read, *READS), "aten::all", "aten::any")


def _after_finite_check(context: Context) -> Bool:
    syncs = context.syncs
    read = syncs.outermost(*READS)
    return syncs.named(syncs.before(read, *READS, *_REDUCTIONS), *_FINITE)


SYNC_BOOL_BRANCH = Rule(
    id="sync-bool-branch",
    family="sync",
    title="Python branches on the value of a tensor",
    description="A sync in aten::is_nonzero. The evidence says where a check for NaN or inf "
    "precedes it, and where eight or more follow one another with a comparison alone in between.",
    fix="Replace the branch by torch.where, masking or clamping; check with torch._assert_async. "
    "Check for NaN and inf on the loss or gradient norm that exists already, every k steps only, "
    "or keep a flag on the device. Distributions check their parameters so: validate_args=False.",
    reference="NVIDIA, Writing Sync-Free Code: dynamic patterns",
    explains=lambda context: context.syncs.inside("aten::is_nonzero"),
    find=_find_bool_branch,
)


# Indices from the host, and bounds of slices from the device.


_INDEXING = ("aten::index", "aten::index_put_", "aten::index_put", "aten::_index_put_impl_")
_SLICES = ("aten::slice", "aten::select", "aten::narrow")
_BOUND = 2
"""Place of the first bound among the arguments of these."""
_INDICES = "Create index tensors on the device once and reuse them, by index_select or gather."
_LENGTHS = (
    "Keep lengths as Python numbers from the data pipeline on. Replace slices whose bound is on "
    "the device by masks."
)
_AT_ONCE_NS = 10_000
"""Time after a read of a bound within which torch slices; Python takes longer."""


def _uploads(context: Context) -> Bool:
    syncs = context.syncs
    copied = syncs.inside("aten::to", "aten::_to_copy", "aten::copy_")
    upload = copied & (syncs.direction != Direction.TO_HOST) & ~syncs.reads_value
    return np.asarray(upload & syncs.inside(*_INDEXING))


def _bounds(context: Context) -> Bool:
    """Values read in a module's call, if any, and sliced by at once."""
    syncs, call_tree = context.syncs, context.call_tree
    read = syncs.outermost(*VALUES)
    following = syncs.after(read, *VALUES)
    soon = lookup(call_tree.start, following) - lookup(call_tree.end, read) <= _AT_ONCE_NS
    module = context.analysis.attribution.row_module[syncs.row]
    in_model = (module >= 0) | (len(context.analysis.modules) == 0)
    bounds = (read >= 0) & syncs.named(following, *_SLICES) & soon & in_model
    slices = mask_of(following[bounds], len(call_tree))
    constant = with_value(context, slices, _BOUND, "-1")  # not what was read
    return np.asarray(bounds & ~constant[following])


def _find_host_index_or_slice(context: Context) -> Iterator[Occurrence]:
    explained, uploads = context.explained_by(SYNC_HOST_INDEX_OR_SLICE), _uploads(context)
    yield from by_place(
        context, explained & uploads, note="an index is copied to the device", fix=_INDICES
    )
    yield from by_place(
        context,
        explained & ~uploads,
        note="each followed at once by a slice or select, as when the value is its bound",
        confidence="medium",
        fix=_LENGTHS,
    )


SYNC_HOST_INDEX_OR_SLICE = Rule(
    id="sync-host-index-or-slice",
    family="sync",
    title="Host tensor used as an index, or device scalar as a slice bound",
    description="A blocking copy to the device inside aten::index or aten::index_put_; or "
    "aten::item inside a module with aten::slice, select or narrow right after it.",
    fix=f"{_INDICES} {_LENGTHS}",
    reference="NVIDIA, CUDA Graphs: quick checklist",
    explains=lambda context: _uploads(context) | _bounds(context),
    find=_find_host_index_or_slice,
)


# Indexing by a boolean mask: the number of elements is known on the device only.


_INDEXING_SYNC_MASK_INDEX = (
    *("aten::index", "aten::index_put_", "aten::index_put", "aten::_index_put_impl_"),
    *("aten::masked_scatter_", "aten::masked_scatter"),
)


def _explains_mask_index(context: Context) -> Bool:
    syncs = context.syncs
    selected = syncs.inside("aten::masked_select") & ~syncs.prints
    return selected | (syncs.inside("aten::nonzero") & syncs.inside(*_INDEXING_SYNC_MASK_INDEX))


_NMS = (
    "Each call of nms selects the boxes that it keeps by a mask. Call it once for all classes, "
    "levels and images (torchvision.ops.batched_nms), or less often."
)
_WRITES = (
    "Write with a Python number (x[mask] = 0.0 does not sync), masked_fill or torch.where. If the "
    "mask came from the host, compute the integer indices there once."
)
_SELECTS = (
    "Compute on the whole tensor and leave the rest out of the result: multiply by the mask, and "
    "divide by mask.sum() in a mean; ignore_index in a loss. Where one mask selects from several "
    "tensors, call mask.nonzero() once and index by that; where several masks select from one "
    "(x[key == i]), sort by the key once and split at its counts. If the mask came from the host, "
    "compute the integer indices there once."
)
_SELECTING = ("aten::index", "aten::masked_select")


def _find_mask_index(context: Context) -> Iterator[Occurrence]:
    syncs, explained = context.syncs, context.explained_by(SYNC_MASK_INDEX)
    nms = syncs.inside("torchvision::nms")
    # The backward of x[mask] writes by the same mask, and goes away with it.
    selects = syncs.inside(*_SELECTING) | syncs.inside_matching(r".*\bIndexBackward\d*")
    yield from by_place(context, explained & selects & ~nms, fix=_SELECTS)
    yield from by_place(context, explained & ~selects & ~nms, fix=_WRITES)
    yield from by_place(context, explained & nms, fix=_NMS)


SYNC_MASK_INDEX = Rule(
    id="sync-mask-index",
    family="sync",
    title="Indexing by a boolean mask syncs to count the selected elements",
    description="A sync in aten::nonzero inside aten::index or aten::index_put_, or in "
    "aten::masked_select. The fix is that of what is done: values are selected, or written.",
    fix=f"{_WRITES} To select: {_SELECTS[0].lower()}{_SELECTS[1:]}",
    reference="PyTorch issue 12461: implicit sync points",
    explains=_explains_mask_index,
    find=_find_mask_index,
)


# `nonzero` and similar: the shape of the result depends on values.


_CONDITIONAL = (
    "The gain is conditional: fixed shapes compute more, which can cost more than the sync "
    "on small inputs; measure again after compiling and batching.",
)


def _explains_nonzero_variable_shape(context: Context) -> Bool:
    return context.syncs.inside("aten::nonzero", "aten::argwhere", "aten::nonzero_numpy")


SYNC_NONZERO_VARIABLE_SHAPE = Rule(
    id="sync-nonzero-variable-shape",
    family="sync",
    title="Output shape depends on values on the device (nonzero)",
    description="A sync in aten::nonzero, argwhere or nonzero_numpy outside of indexing by a mask.",
    fix="Keep shapes fixed: torch.where with a mask, count_nonzero for counts, topk or argsort on "
    "masked scores for selection, padding with a validity mask, nonzero_static(size=...) where a "
    "bound is known.",
    reference="torch.nonzero_static; NVIDIA, Writing Sync-Free Code: dynamic shapes",
    explains=_explains_nonzero_variable_shape,
    caveats=_CONDITIONAL,
)


# Operators whose result has a size, or an error, that only the device knows.


_COUNTS = "Keep counts that the host knows as Python numbers."
_FIXES: dict[str, tuple[Confidence, str]] = {
    r"repeat_interleave": ("high", f"Pass the size: repeat_interleave(output_size=...). {_COUNTS}"),
    r"one_hot": ("high", "Pass the number of classes: one_hot(num_classes=...)."),
    r"linalg_(inv|solve|cholesky|eig|eigh|eigvals|eigvalsh|qr|svd|lu_factor|lstsq)(_ex)?|inverse"
    r"|_linalg_\w+": ("high", "Use the *_ex forms of torch.linalg with check_errors=False."),
    r"_unique|_unique2|unique_dim|unique_consecutive|unique_dim_consecutive": (
        "medium",
        "Sort and mark segments instead of unique, in tensors of a fixed size. Do it where the "
        "data is made, if the values come from there.",
    ),
    r"bincount": (
        "medium",
        "Use scatter_add into a buffer of fixed size instead of bincount. Its minlength alone "
        "does not spare the sync.",
    ),
    r"histc": ("medium", "Pass min and max to histc."),
    r"_coalesce": (
        "medium",
        "Coalesce a sparse tensor once, before the loop, or hold it as CSR (to_sparse_csr()). The "
        "transpose of a coalesced tensor is not, and dense @ sparse transposes: coalesce that. "
        "Gradients of sparse embeddings are coalesced in each step.",
    ),
}
"""Operators of torch that sync, with the confidence that it is for this, and the fix."""


def _find_data_dependent_size(context: Context) -> Iterator[Occurrence]:
    explained = context.explained_by(SYNC_DATA_DEPENDENT_SIZE)
    if not explained.any():
        return
    for operators, (confidence, fix) in _FIXES.items():
        mine = explained & context.syncs.inside_matching(rf"aten::({operators})")
        yield from by_place(context, mine, confidence=confidence, fix=fix, named=True)
        explained &= ~mine


SYNC_DATA_DEPENDENT_SIZE = Rule(
    id="sync-data-dependent-size",
    family="sync",
    title="An operator syncs for the size of its result or an error check",
    description="A sync in aten::repeat_interleave, one_hot, _unique2, unique_dim, "
    "unique_consecutive, bincount, histc, _coalesce, or a factorization of aten::linalg_*.",
    fix=" ".join(fix for _, fix in _FIXES.values()),
    reference="torch.repeat_interleave, torch.linalg.inv_ex; torchtitan PR 3274",
    explains=lambda context: context.syncs.inside_matching(rf"aten::({'|'.join(_FIXES)})"),
    find=_find_data_dependent_size,
)


# One value read back to Python: `loss.item()`, `float(t)`, `print(t)`.


_INSTEAD = {
    Purpose.METRIC: ("", ""),
    Purpose.SIZE: ("as sizes, splits and indices are read", SIZES),
    Purpose.FLAG: (
        "each tests a tensor",
        "Replace the test by torch.where or a mask, or by torch._assert_async if it is a check. "
        "Where the answer is the same in every step, ask once.",
    ),
    Purpose.NORM: (
        "each right after a norm",
        "Take all norms at once on the device (torch.nn.utils.get_total_norm, torch._foreach_norm) "
        "and leave the total there: clip by it with clip_grads_with_norm_, and read it every k "
        "steps.",
    ),
    Purpose.SCALE: (
        "each right after GradScaler.update(): of the scale or of the loss",
        "Do not call GradScaler.get_scale() in every step. Keep the loss as a detached tensor on "
        "the device, and read both once every k steps, which keeps 1/k of the cost.",
    ),
    Purpose.PRINT: ("each formats a tensor, as print() does", "Print outside of the loop."),
    Purpose.ELEMENT: (ITERATED, READ_AT_ONCE),
}
"""What the evidence says of a read, and the remedy, where it is not the rule's."""


def _find_scalar_item(context: Context) -> Iterator[Occurrence]:
    explained = context.explained_by(SYNC_SCALAR_ITEM)
    if not explained.any():
        return
    purpose = purposes(context)
    for each, (note, fix) in _INSTEAD.items():
        yield from by_place(context, explained & (purpose == each), note=note, fix=fix)


SYNC_SCALAR_ITEM = Rule(
    id="sync-scalar-item",
    family="sync",
    title="A scalar is read back to the host",
    description="A sync in aten::item or aten::_local_scalar_dense that no rule of higher priority "
    "explains, or in the aten::masked_select by which print() formats a tensor. The fix is that of "
    "what the value seems to be for: a metric, a size, a test, a norm, the scale of a loss, an "
    "element of a tensor over which Python iterates.",
    fix="Keep metrics as detached tensors on the device and read them once every k steps, which "
    "keeps 1/k of the cost. Stack several values and copy them once. To log, copy into pinned "
    "memory with non_blocking=True and read it a step later. Print outside of the loop.",
    reference="PyTorch Performance Tuning Guide: avoid unnecessary CPU-GPU synchronization",
    explains=lambda context: context.syncs.reads_value | context.syncs.prints,
    find=_find_scalar_item,
)


# Tensors brought to the host: `.cpu()`, `.numpy()`, `.tolist()`, `torch.save`.


_NO_OPERATORS = "the trace has no operators: it may be .item() as well as .cpu()"
_ONE_VALUE = "the trace has no operators: so few bytes are probably read by .item()"
_VALUE_BYTES = 8
_INTO_PAGEABLE = "DtoH (Device -> Pageable"
_ASSUMES_FASTER = (
    "Assumes that a copy into pinned memory takes half as long, as it did on an A100 (154 MB in "
    "17.7 ms instead of 34.5 ms)."
)


def _explains_d2h_copy(context: Context) -> Bool:
    syncs = context.syncs
    to_host = syncs.direction == Direction.TO_HOST
    if not syncs.operators_known:
        return np.asarray(to_host)
    return np.asarray(to_host & syncs.inside("aten::copy_", "aten::to", "aten::_to_copy"))


def _find_d2h_copy(context: Context) -> Iterator[Occurrence]:
    explained = context.explained_by(SYNC_D2H_COPY)
    if not explained.any():
        return
    sizes = sizes_copied(context)
    known, one = context.syncs.operators_known, _of_one_value(context)
    note = "" if known else _NO_OPERATORS
    for occurrence in by_place(context, explained & ~(sizes | one), note=note):
        yield _into_pinned(context, occurrence)
    yield from by_place(
        context, explained & one & ~sizes, note=_ONE_VALUE, fix=SYNC_SCALAR_ITEM.fix
    )
    note = "where batches are exchanged or split, such as lengths and split sizes"
    yield from by_place(context, explained & sizes, note=note, fix=SIZES)


def _of_one_value(context: Context) -> Bool:
    """Syncs of copies of one number, where the trace has no operators that show what reads it."""
    copy = context.syncs.copy
    if context.syncs.operators_known:
        return np.zeros(len(copy), bool)
    size = lookup(bytes_of(context), copy)
    return np.asarray((size > 0) & (size <= _VALUE_BYTES))


def _into_pinned(context: Context, occurrence: Occurrence) -> Occurrence:
    """The occurrence with what pinned memory saves of its copies into pageable memory."""
    large = context.device_events.copies_containing(_INTO_PAGEABLE) & ~small(context)
    copies = unique(context.syncs.copy[occurrence.syncs])
    copies = copies[copies >= 0]
    copies = copies[large[copies]]
    if not len(copies) or not occurrence.claims_gain:
        return occurrence
    alone = exposed(context, copies)
    held = context.us_text(context.steps.us_per_step(alone.sum()))
    return msgspec.structs.replace(
        occurrence,
        evidence=f"{occurrence.evidence}; copies into pageable memory while no kernel ran, {held}",
        wasted=copies,
        wasted_ns=alone,
        saved=FASTER_PINNED,
        caveats=(*occurrence.caveats, _ASSUMES_FASTER),
    )


SYNC_D2H_COPY = Rule(
    id="sync-d2h-copy",
    family="sync",
    title="Blocking copy of a tensor to the host",
    description="A copy from the device to the host in aten::copy_ or aten::to that blocks, or a "
    "synchronize after it in the same operator; without operators in the trace, any such copy. "
    "Integers copied under an annotation about lengths, splits or an all-to-all, or before an "
    "all-to-all with nothing computed in between, have a separate fix.",
    fix="Reduce on the device and move the result only; gather small tensors into one first. Copy "
    "into a pinned buffer with non_blocking=True and use it after an event, never before. Take "
    "checkpoints asynchronously.",
    reference="PyTorch, A guide on good usage of non_blocking and pin_memory()",
    explains=_explains_d2h_copy,
    find=_find_d2h_copy,
)


# Syncs in operators that no other rule explains.


_NOTE = "each in a call that copies, to or from the device: the trace lacks the copy itself"
_FIX = (
    "To a device: create tensors there (device=...), or copy from pinned memory with "
    "non_blocking=True. From it: copy rarely, and only what is needed. Record the device, too: its "
    "copies say which it is."
)
_RECORDS = "a CUDA graph is recorded in the same operator, and the device is waited for before"


def _find_in_operator(context: Context) -> Iterator[Occurrence]:
    explained = context.explained_by(SYNC_IN_OPERATOR)
    call = context.analysis.calls[context.syncs.row]
    unseen = isin(call, [Call.COPY, Call.ASYNC_COPY]) & (context.syncs.copy < 0)
    records = ~unseen & next_to_recording(context, context.syncs.row)
    yield from by_place(context, explained & ~unseen & ~records, named=True)
    yield from by_place(context, explained & records, note=_RECORDS, fix=RECORD_ONCE)
    yield from by_place(context, explained & unseen, note=_NOTE, fix=_FIX)


SYNC_IN_OPERATOR = Rule(
    id="sync-in-operator",
    family="sync",
    title="An operator synchronizes with the device",
    description="A sync inside an operator that no other rule explains. The evidence says where it "
    "is a copy that the trace lacks on the device, and where a CUDA graph is recorded.",
    fix="Find the cause: torch.cuda.set_sync_debug_mode('warn') names the line. Then move it out "
    "of the loop, or use a form of the operator that needs nothing from the host.",
    reference="torch.cuda.set_sync_debug_mode",
    confidence="medium",
    explains=lambda context: np.ones(len(context.syncs), bool),
    find=_find_in_operator,
)
