"""The recorder's map as columns: graphs with the module of each path, their calls, who they serve.

One graph may run for several modules (instances that share compiled code). Each such pair is a
variant, with its own rows here.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.compiled.names import row_name
from tb_hookview.arrays.split import MOST_WEIGHT
from tb_hookview.arrays.types import Bool, Int, ModuleIndex
from tb_hookview.trace.format.compiled_graphs import REGION, CompiledGraph, KernelCall, ServedModule


class Variants(Struct, frozen=True):
    """Calls of all variants, shape (c,), in program order; their parts, shape (p,)."""

    first_call: Int
    """First call of each variant, shape (v + 1,); the last is the number of calls."""
    name: Int
    """Number of each call's row name."""
    extern: Bool
    first_part: Int
    """First part of each call, shape (c + 1,)."""
    module: ModuleIndex
    """Module that each part serves, -1 for the region's own."""
    near: Bool
    weight: Int
    """Of a part in its call; those of a variant sum to less than `MOST_WEIGHT`."""
    ran: tuple[ModuleIndex, ...]
    """Modules of each variant that ran in it, but the one in whose call it ran."""
    backward: Bool
    """Of each variant."""
    names: dict[str, int]
    """Numbers of row names."""

    def parts(self, call: Int) -> tuple[Int, Int]:
        """First part and the one after the last, of each call."""
        return self.first_part[call], self.first_part[call + 1]

    def dominant(self, call: Int) -> Int:
        """Part of largest weight of each call, of equal ones the first."""
        place = np.repeat(np.arange(len(self.name)), np.diff(self.first_part))
        order = np.lexsort((np.arange(len(place)), -self.weight, place))
        return np.asarray(order[self.first_part[call]])


def variants_of(
    graphs: Sequence[tuple[CompiledGraph, Sequence[int]]], around: Sequence[int]
) -> Variants:
    """Columns of some graphs, given the module of each of their paths.

    Args:
        graphs: each with the module of its paths.
        around: module in whose call or node each ran, whose own calls are in the trace.
    """
    names: dict[str, int] = {}
    calls: list[KernelCall] = []
    module: list[int] = []
    weight: list[int] = []
    first = [0]
    for graph, of_path in graphs:
        calls += graph.calls
        weight += _weights(graph.calls)
        module += [
            REGION if part.path == REGION else of_path[part.path]
            for call in graph.calls
            for part in _served(call)
        ]
        first.append(len(calls))
    parts = [part for call in calls for part in _served(call)]
    sizes = [len(_served(call)) for call in calls]
    return Variants(
        first_call=np.array(first, np.int64),
        name=np.array([names.setdefault(row_name(c.name), len(names)) for c in calls], np.int64),
        extern=np.array([call.extern for call in calls], bool),
        first_part=np.cumsum([0, *sizes]).astype(np.int64),
        module=np.array(module, np.int64),
        near=np.array([part.near for part in parts], bool),
        weight=np.array(weight, np.int64),
        ran=tuple(
            np.array(sorted(set(of_path) - {called}), np.int64)
            for (_, of_path), called in zip(graphs, around, strict=True)
        ),
        backward=np.array([graph.backward for graph, _ in graphs], bool),
        names=names,
    )


_OWN = (ServedModule(REGION, near=False, nodes=1, bytes=0),)


def _served(call: KernelCall) -> tuple[ServedModule, ...]:
    """Who a call serves; the region where the map has nobody."""
    return call.serves or _OWN


def _weights(calls: Sequence[KernelCall]) -> list[int]:
    """Weight of each part: bytes, or nodes where none or unknown; numbers that multiply well."""
    plain = [weight for call in calls for weight in _plain_weights(call)]
    most = max(sum(plain), 1)
    room = max(MOST_WEIGHT - len(plain), 1)
    if most <= room:
        return plain
    return [max(weight * room // most, 1) if weight else 0 for weight in plain]


def _plain_weights(call: KernelCall) -> list[int]:
    served = _served(call)
    moved = [part.bytes for part in served if part.bytes is not None]
    if any(moved) and len(moved) == len(served):
        return moved
    nodes = [part.nodes for part in served]
    return nodes if any(nodes) else [1] * len(served)
