"""The rule of the trace's findings that a sync belongs to."""

from __future__ import annotations

from collections.abc import Collection
from types import CodeType
from typing import NamedTuple

from tb_hookview.dryrun.operators.row import Reason
from tb_hookview.dryrun.operators.uploads import FROM_PINNED as PINNED
from tb_hookview.dryrun.recording.frames import OFFLOADING, Use

_DATA_DEPENDENT = (
    *("repeat_interleave", "_unique", "_unique2", "unique_dim", "unique_consecutive"),
    *("unique_dim_consecutive", "bincount", "histc", "linalg_matrix_exp", "cholesky"),
    "_coalesce",
)
_INDEXING = frozenset(
    (
        "aten::index",
        "aten::_unsafe_index",
        "aten::_index_put_impl_",
        "aten::masked_scatter_backward",
    )
)


_TRAINING = {
    "torch/amp/grad_scaler.py": "sync-grad-scaler",
    "torch/nn/utils/clip_grad.py": "sync-grad-clip",
    "torch/optim/optimizer.py": "sync-optimizer-scalar-state",
}


class Situation(NamedTuple):
    """What is known of a sync when its cause is chosen."""

    operator: str
    within: str
    """The operator around it that is known by name; "" for none."""
    reason: Reason
    phase: str
    node: str
    use: Use
    codes: Collection[CodeType]
    """Code of the frames around it."""


def cause(of: Situation) -> str:
    """Return the id of the rule, whose fix is that of the sync."""
    if of.reason.kind == "explicit":
        return "sync-explicit"
    return _of_training(of) or _of_indexing(of) or _of_operator(of) or _of_kind(of)


def _of_training(of: Situation) -> str:
    """What the update of the parameters asks for, by the innermost frame of it."""
    for code in of.codes if of.reason.kind == "read" else ():
        for file, rule in _TRAINING.items():
            if code.co_filename.endswith(file):
                return rule
    return ""


def _of_indexing(of: Situation) -> str:
    indexing = of.operator in _INDEXING or of.within in _INDEXING
    if of.operator == "aten::masked_select" or (indexing and of.reason.kind == "size"):
        return "sync-mask-index"
    if of.reason.kind == "to_device" and indexing:
        return "sync-host-index-or-slice"
    if of.operator == "aten::nonzero":
        return "sync-nonzero-variable-shape"
    return ""


def _of_operator(of: Situation) -> str:
    name = of.operator.removeprefix("aten::").partition(".")[0]
    of_errors = of.within == "aten::_linalg_check_errors" or name.startswith("_linalg")
    if of_errors or name.startswith("linalg_") or name in _DATA_DEPENDENT:
        return "sync-data-dependent-size"
    if of.operator == "aten::_local_scalar_dense":
        if of.use is Use.BRANCH:
            return "sync-bool-branch"
        return "sync-host-index-or-slice" if of.use is Use.SUBSCRIPT else "sync-scalar-item"
    return ""


def _of_kind(of: Situation) -> str:
    kind = of.reason.kind
    if of.operator != "aten::copy_" and of.within == "":
        return "sync-in-operator"
    if kind == "staging":
        return "h2d-nonblocking-unpinned"
    if kind == "to_host":
        return "sync-d2h-copy"
    if kind == "to_device":
        if of.reason.text == PINNED:
            return "h2d-pinned-but-blocking"
        moved = of.phase == "other" or any(code.co_name in OFFLOADING for code in of.codes)
        return "h2d-pageable-blocking" if moved else "create-on-cpu-then-move"
    return "sync-in-operator"
