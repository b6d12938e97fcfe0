"""Pairs of rows of two reports that are the same row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TypeVar

from tb_hookview.schema import Module

Row = TypeVar("Row")
RowPair = tuple[int | None, int | None]
"""Index of a row on the base's side and on the other's; None where it has no partner."""
Keys = Callable[[Sequence[Row]], Sequence[Hashable | None]]
"""The key of each of some rows, by which it finds its partner; None for none."""

WRAPPERS = frozenset({"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})
"""Parts of a path that data parallelism, compilation or checkpoints put in, not the model."""


def pair_up(base: Sequence[Row], other: Sequence[Row], keys: Sequence[Keys[Row]]) -> list[RowPair]:
    """Match rows of two tables by keys, the surest first.

    Every row is in exactly one match. Two rows match by a key that no other row without a partner
    has, on either side.
    """
    partner: dict[int, int] = {}
    left, right = list(range(len(base))), list(range(len(other)))
    for key in keys:
        mine = _unique(left, key([base[index] for index in left]))
        theirs = _unique(right, key([other[index] for index in right]))
        partner |= {mine[k]: theirs[k] for k in mine if k in theirs}
        left = [index for index in left if index not in partner]
        taken = set(partner.values())
        right = [index for index in right if index not in taken]
    matched: list[RowPair] = [(index, partner.get(index)) for index in range(len(base))]
    return [*matched, *((None, index) for index in right)]


def pair_modules(base: Sequence[Module], other: Sequence[Module]) -> list[RowPair]:
    """Match modules by path and class, class and order, path end, path.

    Only labels of Python stacks (`Linear_3`) are matched by order: their numbers begin at 0 in
    every process. Of paths the longest end counts that names one module on each side, so that a
    model is matched below `DistributedDataParallel` or in another model, too.
    """
    depth = max((len(_parts(module.path)) for module in [*base, *other]), default=0)
    ends = [_by_end(length) for length in range(depth, 0, -1)]
    return pair_up(base, other, [_by_path_and_class, _by_order, _by_whole_path, *ends, _by_path])


def _by_path_and_class(modules: Sequence[Module]) -> list[Hashable | None]:
    return [(module.path, module.module_class) for module in modules]


def _by_order(modules: Sequence[Module]) -> list[Hashable | None]:
    numbers = _count(module.module_class if _is_label(module) else None for module in modules)
    return [
        (module.module_class, number) if _is_label(module) else None
        for module, number in zip(modules, numbers, strict=True)
    ]


def _by_whole_path(modules: Sequence[Module]) -> list[Hashable | None]:
    return [None if _is_label(m) else (m.module_class, _parts(m.path)) for m in modules]


def _by_end(length: int) -> Keys[Module]:
    def keys(modules: Sequence[Module]) -> list[Hashable | None]:
        ends = [None if _is_label(m) else _parts(m.path)[-length:] for m in modules]
        return [
            (module.module_class, end)
            if end and len(end) == length and _names_module(end)
            else None
            for module, end in zip(modules, ends, strict=True)
        ]

    return keys


def _by_path(modules: Sequence[Module]) -> list[Hashable | None]:
    return [module.path for module in modules]


def same_place(base: Module, other: Module) -> bool:
    """Whether two matched modules have the same path, apart from label numbers."""
    labels = _is_label(base) and _is_label(other)
    return labels or _parts(base.path) == _parts(other.path)


def _names_module(end: tuple[str, ...]) -> bool:
    """Whether the end of a path names more than the index in a list."""
    return not all(part.isdigit() for part in end)


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split(".") if part and part not in WRAPPERS)


def _is_label(module: Module) -> bool:
    return re.fullmatch(re.escape(module.module_class) + r"_\d+", module.path) is not None


def _count(names: Iterator[str | None]) -> Iterator[int]:
    """Number of times that each name was there before."""
    seen: Counter[str | None] = Counter()
    for name in names:
        yield seen[name]
        seen[name] += 1


def _unique(indices: Sequence[int], keys: Sequence[Hashable | None]) -> dict[Hashable, int]:
    often = Counter(keys)
    return {
        key: index
        for index, key in zip(indices, keys, strict=True)
        if key is not None and often[key] == 1
    }
