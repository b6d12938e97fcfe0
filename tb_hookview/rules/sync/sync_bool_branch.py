"""Python branches on a tensor: `if t:`, `while t:`, `assert t`."""

from __future__ import annotations

from collections.abc import Iterator

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.by_place import by_place
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_REDUCTIONS = (
    *("aten::any", "aten::all", "aten::_is_any_true", "aten::_is_all_true", "aten::logical_or"),
    *("aten::logical_not", "aten::bitwise_not", "aten::bitwise_or", "aten::abs", "aten::mul"),
    *("aten::eq", "aten::ne", "aten::sum"),
)
_READS = ("aten::is_nonzero", "aten::item", "aten::_local_scalar_dense")
_FINITE = ("aten::isnan", "aten::isinf", "aten::isfinite")
_ALL = "each right after aten::all or aten::any, as where a mask is tested"
_MASKS = (
    "Where a library tests a mask (transformers: whether anything is padded), pass no mask if "
    "nothing is, or one that it takes as it is. In your own code apply the mask without a test "
    "(torch.where, masking), or check with torch._assert_async."
)


def _explains(context: Context) -> Bool:
    return context.syncs.inside("aten::is_nonzero")


def _find(context: Context) -> Iterator[Occurrence]:
    explained, finite = context.explained_by(RULE), _after_finite_check(context)
    of_all = _of_all(context) & ~finite
    yield from by_place(context, explained & ~finite & ~of_all)
    yield from by_place(context, explained & finite, note="each after a check for NaN or inf")
    yield from by_place(context, explained & of_all, note=_ALL, fix=_MASKS)


def _of_all(context: Context) -> Bool:
    """Reads right after a reduction of all elements to one truth value."""
    syncs = context.syncs
    read = syncs.outermost("|".join(_READS))
    return syncs.named(syncs.before(read, *_READS), "aten::all", "aten::any")


def _after_finite_check(context: Context) -> Bool:
    syncs = context.syncs
    read = syncs.outermost("|".join(_READS))
    return syncs.named(syncs.before(read, *_READS, *_REDUCTIONS), *_FINITE)


RULE = Rule(
    id="sync-bool-branch",
    family="sync",
    title="Python branches on the value of a tensor",
    description="A sync in aten::is_nonzero. The evidence says where a check for NaN or inf "
    "precedes it.",
    fix="Replace the branch by torch.where, masking or clamping; check with torch._assert_async. "
    "Check for NaN and inf on the loss or gradient norm that exists already, every k steps only, "
    "or keep a flag on the device.",
    reference="NVIDIA, Writing Sync-Free Code: dynamic patterns",
    explains=_explains,
    find=_find,
)
