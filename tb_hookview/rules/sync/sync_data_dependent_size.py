"""Operators whose result has a size, or an error, that only the device knows."""

from __future__ import annotations

from collections.abc import Iterator

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.by_place import by_place
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule
from tb_hookview.schema.findings import Confidence

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
}
"""Operators of torch that sync, with the confidence that it is for this, and the fix."""


def _explains(context: Context) -> Bool:
    return context.syncs.inside_matching(rf"aten::({'|'.join(_FIXES)})")


def _find(context: Context) -> Iterator[Occurrence]:
    explained = context.explained_by(RULE)
    for operators, (confidence, fix) in _FIXES.items():
        mine = explained & context.syncs.inside_matching(rf"aten::({operators})")
        yield from by_place(context, mine, confidence=confidence, fix=fix)
        explained &= ~mine


RULE = Rule(
    id="sync-data-dependent-size",
    family="sync",
    title="An operator syncs for the size of its result or an error check",
    description="A sync in aten::repeat_interleave, one_hot, _unique2, unique_dim, "
    "unique_consecutive, bincount, histc, or a factorization of aten::linalg_*.",
    fix=" ".join(fix for _, fix in _FIXES.values()),
    reference="torch.repeat_interleave, torch.linalg.inv_ex; torchtitan PR 3274",
    explains=_explains,
    find=_find,
)
