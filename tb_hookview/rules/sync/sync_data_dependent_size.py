"""Operators whose result has a size, or an error, that only the device knows."""

from __future__ import annotations

from collections.abc import Iterator

from tb_hookview.arrays.types import Bool
from tb_hookview.rules.engine.by_place import by_place
from tb_hookview.rules.engine.context import Context
from tb_hookview.rules.engine.rule import Occurrence, Rule

_SURE = (
    r"aten::(repeat_interleave|one_hot|linalg_(inv|solve|cholesky|eig|eigh|eigvals|eigvalsh|qr|svd"
    r"|lu_factor|lstsq)(_ex)?|inverse|_linalg_\w+)"
)
_LIKELY = (
    r"aten::(_unique|_unique2|unique_dim|unique_consecutive|unique_dim_consecutive|bincount|histc)"
)


def _explains(context: Context) -> Bool:
    return context.syncs.inside_matching(f"{_SURE}|{_LIKELY}")


def _find(context: Context) -> Iterator[Occurrence]:
    explained = context.explained_by(RULE)
    sure = context.syncs.inside_matching(_SURE)
    yield from by_place(context, explained & sure)
    yield from by_place(context, explained & ~sure, confidence="medium")


RULE = Rule(
    id="sync-data-dependent-size",
    family="sync",
    title="An operator syncs for the size of its result or an error check",
    description="A sync in aten::repeat_interleave, one_hot, _unique2, unique_dim, "
    "unique_consecutive, bincount, histc, or a factorization of aten::linalg_*.",
    fix="Pass the size: repeat_interleave(output_size=...), one_hot(num_classes=...), scatter_add "
    "into a buffer of fixed size instead of bincount, histc with min and max. Sort and mark "
    "segments instead of unique. Use the *_ex forms of linalg with check_errors=False. Keep counts "
    "that the host knows as Python numbers.",
    reference="torch.repeat_interleave, torch.linalg.inv_ex; torchtitan PR 3274",
    explains=_explains,
    find=_find,
)
