"""The recorder's map as columns: graphs with the module of each path, their calls, who they serve.

One graph may run for several modules (instances that share compiled code). Each such pair is a
variant, with its own rows here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.analysis.modules.tree import Modules
from tb_hookview.arrays.joins import dense_rank, mask_of, ordinal, scatter
from tb_hookview.arrays.sums import MOST_WEIGHT
from tb_hookview.arrays.types import Bool, Int, ModuleIndex
from tb_hookview.trace.format.compiled_graphs import (
    REGION,
    CompiledGraph,
    KernelCall,
    RanModule,
    ServedModule,
)

# Names of rows about compiled code, and of the calls in a map.


REGION_ROW = "Torch-Compiled Region: "
GRAPH_CALL = re.compile(r"## Call CompiledFxGraph (\S+) ##")
_AROUND = (REGION_ROW, "CompiledFunction", "## Call CompiledFxGraph")
_PROFILED = re.compile(r"graph_\d+_")
"""Before the name of a C++ kernel, in the rows of `cpp.enable_kernel_profile`."""
_TRITON = re.compile(r"triton_[a-z]{3}_fused_|triton_unk_fused_|graph_\d+_cpp_fused_|cpp_fused_")


def row_name(call: str) -> str:
    """Name of the row that a call leaves, given the call's name in the map or in a row."""
    if "::" in call:
        return call
    parts = call.removeprefix("torch.ops.").split(".")
    if parts[0] == "extern_kernels":
        return "aten::" + parts[-1]
    if len(parts) in (2, 3):  # namespace, operator, overload
        return "::".join(parts[:2])
    return _PROFILED.sub("", call, count=1)


def is_compiled(name: str) -> bool:
    """Whether a row is around compiled code, or is some."""
    return name.startswith(_AROUND) or is_generated(name)


def is_generated(name: str) -> bool:
    """Whether a row or a kernel is code that Inductor generated."""
    return _TRITON.match(name) is not None


def operators_of(name: str) -> str:
    """The operators in the name of a generated kernel, as they stand there; else the name."""
    if not is_generated(name):
        return name
    return re.sub(r"_?\d*$", "", name.split("fused_", 1)[1]) or "unknown"


# Rows in which torch.compile compiles: Dynamo's spans, those of inductor and its autotuning.

_CONTAINED = ("compile_inner", "(dynamo_timed)")
_BEGINNINGS = (
    *("OutputGraph.call_user_compiler", "create_aot_dispatcher_function"),
    *("async_compile.wait", "CachingAutotuner.benchmark"),
)
_DATA = "_data: fn_name="
"""In names of rows that describe a span: metadata, no compilation."""
_COMPILE_FX = re.compile(r"_?compile_fx\b")


def compiling_rows(host: HostRows) -> Bool:
    """Rows in which code is compiled, also those inside each other, shape (n,)."""
    return host.is_named(_compiles)


def _compiles(name: str) -> bool:
    return (
        (any(word in name for word in _CONTAINED) and _DATA not in name)
        or name.startswith(_BEGINNINGS)
        or _COMPILE_FX.match(name) is not None
    )


# The module of each path in the map of a compiled graph.
#
# Where the recorder saw that a graph serves one instance only, it has the path as in the
# manifest. Other paths are relative to the module whose forward the region compiles: the one that
# the recorder names, else the one in whose call (or in whose node) the graph ran, if its class is
# right. A path below another object has Dynamo's text, `L['model'].fc`. It is below the one root
# that has everything the text lists. Class and path have to agree for every module, or none is
# placed.


_OBJECT = re.compile(r"((?:L|G)\[(?:'[^']*'|\"[^\"]*\")\])(?:\.(.*))?", re.DOTALL)


class Paths:
    """Modules by path and class."""

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._number = {
            (path, name): number
            for number, (path, name) in enumerate(
                zip(modules.path, modules.module_class, strict=True)
            )
        }

    def of_graph(self, graph: CompiledGraph, around: int) -> list[int] | None:
        """Module of each path; None where one is not in the trace.

        Args:
            graph: of the map.
            around: module in whose call or node the graph ran, -1 for none.
        """
        found: dict[int, int] = {}
        for place, ran in enumerate(graph.paths):
            if ran.absolute is not None:
                found[place] = self._number.get((ran.absolute, ran.module_class), -1)
        if min(found.values(), default=0) < 0:
            return None
        for origin, places in _by_object(graph.paths).items():
            below = [graph.paths[place] for place in places]
            listed = [(_object(ran.path)[1], ran.module_class) for ran in below]
            modules = self._below(listed, self._bases(graph, around, origin))
            if modules is None:
                return None
            found.update(zip(places, modules, strict=True))
        return [found[place] for place in range(len(graph.paths))]

    def _bases(self, graph: CompiledGraph, around: int, origin: str) -> Iterator[list[int]]:
        """Modules that paths may be below, likeliest first; several only where one has to fit."""
        path = self._modules.path
        if origin:
            yield [number for number, up in enumerate(self._modules.parent.tolist()) if up < 0]
            return
        named = [number for number, each in enumerate(path) if each == graph.root]
        below = around < 0 or any(around <= n < int(self._modules.end[around]) for n in named)
        if named and below:
            yield named
        classes = self._modules.module_class
        if around >= 0 and (graph.base is None or classes[around] == graph.base.module_class):
            yield [around]

    def _below(
        self, listed: Sequence[tuple[str, str]], bases: Iterator[list[int]]
    ) -> list[int] | None:
        """Modules of relative paths below the one base that has them all."""
        for candidates in bases:
            below = ([self._at(base, *each) for each in listed] for base in candidates)
            fitting = [modules for modules in below if min(modules) >= 0]
            if len(fitting) == 1:
                return fitting[0]
        return None

    def _at(self, base: int, path: str, module_class: str) -> int:
        above = self._modules.path[base]
        joined = f"{above}.{path}" if above and path else above or path
        return self._number.get((joined, module_class), -1)


def _object(path: str) -> tuple[str, str]:
    """Object of a path, "" for the region's own module, and the path below it."""
    match = _OBJECT.fullmatch(path)
    return (match[1], match[2] or "") if match else ("", path)


def _by_object(paths: Sequence[RanModule]) -> dict[str, list[int]]:
    """Places of paths that are not absolute, by the object that they are below."""
    found: dict[str, list[int]] = {}
    for place, ran in enumerate(paths):
        if ran.absolute is None:
            found.setdefault(_object(ran.path)[0], []).append(place)
    return found


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


# Rows of a graph's call paired with the calls in the recorder's map.
#
#     map     mm   add_0   mm   add_1   mul_2
#     rows    mm   add_0   mm   copy_   add_1   mul_2
#     call     0     1      2     -       3       4
#
# Names are called several times, for different modules, so position is the key: the k-th row of a
# name is the k-th call of that name. That holds only where a name has as many rows as calls; the
# rows of other names are not placed. All pairs of one range have to be in order.


class Alignment(Struct, frozen=True):
    """What rows were paired with."""

    call: Int
    """Call of each row, -1 for none, shape (k,)."""
    disordered: Bool
    """Ranges whose pairs are not in order, shape (r,). Their rows have no call."""


def align(variants: Variants, variant: Int, group: Int, name: Int) -> Alignment:
    """Pair rows with calls.

    Args:
        variants: the calls.
        variant: of each range, shape (r,).
        group: range of each row, ascending, shape (k,). Rows of one are in program order.
        name: number of each row's name, -1 for a name without calls.
    """
    width = len(variants.names) + 1
    of_call = np.repeat(np.arange(len(variants.backward)), np.diff(variants.first_call))
    keys = of_call * width + variants.name
    by_key = np.argsort(keys, kind="stable")
    wanted = variant[group] * width + name
    first = np.searchsorted(keys[by_key], wanted)
    count = np.searchsorted(keys[by_key], wanted, side="right") - first
    equal = dense_rank(group, name)
    known = (name >= 0) & (count == np.bincount(equal)[equal])
    call = scatter(known, by_key[(first + ordinal(equal))[known]], len(group))
    paired = np.flatnonzero(known)
    backwards = (np.diff(group[paired]) == 0) & (np.diff(call[paired]) <= 0)
    disordered = mask_of(group[paired[1:][backwards]], len(variant))
    call[disordered[group]] = -1
    return Alignment(call, disordered)
