"""Kinds of collectives and sizes of their messages, by the names in a trace."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from math import prod

import msgspec

from tb_hookview.analysis.host.inputs import width

_KINDS = (
    ("all_reduce", r"all_?reduce|AllReduce"),
    ("reduce_scatter", r"reduce_?scatter|ReduceScatter"),
    ("all_gather", r"all_?gather|AllGather"),
    ("all_to_all", r"all_?to_?all|AllToAll|SendRecv"),
    ("broadcast", r"broadcast|Broadcast"),
    ("reduce", r"reduce|Reduce"),
    ("gather", r"gather"),
    ("scatter", r"scatter"),
    ("send", r"\bi?send|Send"),
    ("recv", r"recv|Recv"),
    ("barrier", r"barrier"),
)
_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)

POINT_TO_POINT = ("send", "recv")

BUS_FACTOR: dict[str, Callable[[int], float]] = {
    "all_reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "all_gather": lambda ranks: (ranks - 1) / ranks,
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks,
    "all_to_all": lambda ranks: (ranks - 1) / ranks,
    "gather": lambda ranks: (ranks - 1) / ranks,
    "scatter": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda _ranks: 1.0,
    "reduce": lambda _ranks: 1.0,
    "send": lambda _ranks: 1.0,
    "recv": lambda _ranks: 1.0,
}
"""Bus bandwidth over bytes by time, as nccl-tests define it (doc/PERFORMANCE.md)."""


@lru_cache(4096)
def kind_of_collective(name: str) -> str:
    """Kind by the name of a collective, its annotation or its kernel; "" for unknown."""
    return next((kind for kind, pattern in _COMPILED if pattern.search(name)), "")


@lru_cache(4096)
def message_bytes(shapes: str, types: str) -> int:
    """Bytes of the tensors in an operator's `Input Dims` and `Input type`; -1 for unknown."""
    try:
        dims, names = msgspec.json.decode(shapes or "[]"), msgspec.json.decode(types or "[]")
    except msgspec.DecodeError:
        return -1
    if not isinstance(dims, list) or not isinstance(names, list):
        return -1
    sizes = [_bytes(dim, name) for dim, name in zip(dims, names, strict=False)]
    known = [size for size in sizes if size > 0]
    return sum(known) if known else -1


def _bytes(dim: object, name: object) -> int:
    if not isinstance(dim, list) or not isinstance(name, str):
        return 0
    sizes = [size for size in dim if isinstance(size, int) and size >= 0]
    return prod(sizes) * width(name) if len(sizes) == len(dim) else 0
