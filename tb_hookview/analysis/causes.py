"""Why the host waited: told by the operators around the wait, one line per cause.

The identifiers are those of the rules that later price and explain them; this table is coarse and
names only what the operators alone prove.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tb_hookview.analysis.schema import Sync

PROFILER = "profiler"
UNKNOWN = "sync-explicit"
"""A synchronize that no operator asked for: `torch.cuda.synchronize()`, an event, a library."""


class Cause(NamedTuple):
    """A cause of host-device synchronization.

    Attributes:
        id: identifier.
        operators: the cause holds where one of these is around the wait.
        title: what happens, a phrase.
        fix: what to do about it.
    """

    id: str
    operators: frozenset[str]
    title: str
    fix: str


def _cause(identifier: str, operators: str, title: str, fix: str) -> Cause:
    return Cause(identifier, frozenset(operators.split()), title, fix)


CAUSES: tuple[Cause, ...] = (
    _cause(
        "sync-gather-backward-deterministic",
        "GatherBackward0 aten::gather_backward",
        "the backward of gather uploads strides from the host (deterministic mode)",
        "Select by indexing a flattened tensor instead of torch.gather, or relax determinism for "
        "this operator.",
    ),
    _cause(
        "sync-nonzero-variable-shape",
        "aten::nonzero aten::argwhere aten::nonzero_numpy aten::masked_select",
        "the size of a result depends on values on the device",
        "Keep shapes fixed: torch.where with a mask, topk or argsort on masked scores, "
        "nonzero_static with a bound.",
    ),
    _cause(
        "sync-data-dependent-size",
        "aten::_unique2 aten::unique_dim aten::unique_consecutive aten::bincount aten::histc "
        "aten::repeat_interleave aten::one_hot",
        "the size of a result depends on values on the device",
        "State the size: repeat_interleave(output_size=...), one_hot(num_classes=...), "
        "scatter_add into a fixed buffer.",
    ),
    _cause(
        "sync-bool-branch",
        "aten::is_nonzero",
        "Python branches on a tensor's value",
        "Use torch.where or masking instead of `if tensor:`; check finiteness every k steps.",
    ),
    _cause(
        "sync-scalar-item",
        "aten::item aten::_local_scalar_dense",
        "a single value is read back to the host",
        "Keep metrics on the device and read them once every k steps.",
    ),
    _cause(
        "sync-copy",
        "aten::copy_ aten::_to_copy aten::to aten::_copy_from",
        "a copy between host and device blocks",
        "Pin the host memory and pass non_blocking=True, or create the tensor on the device.",
    ),
)


def own_syncs(syncs: Iterable[Sync]) -> list[Sync]:
    """Those waits that are the program's and not the profiler's."""
    return [sync for sync in syncs if sync.cause != PROFILER]


def cause_of(chain: list[str]) -> str:
    """Identifier of the first cause that the operators around a wait prove."""
    around = set(chain)
    for cause in CAUSES:
        if cause.operators & around:
            return cause.id
    return UNKNOWN if not chain else "sync-in-operator"
