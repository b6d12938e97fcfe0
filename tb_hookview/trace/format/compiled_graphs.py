"""The recorder's map of compiled graphs, decoded once, as far as it has the shape that we know.

For each graph that Inductor compiled: its calls of kernels in program order, and the modules that
each call serves. A graph with a value of an unexpected type is dropped, and counted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from tb_hookview.decoders import described
from tb_hookview.markers import decode_manifest

VERSION = 1
"""Version of the map that is read; a later one counts as unknown as a whole."""

REGION = -1
"""Path index of work that is the region's own, and no module's."""


class RanModule(NamedTuple):
    """One module that ran in a graph."""

    path: str
    """Relative to the region's own module; below another object Dynamo's text (`L['m'].fc`)."""
    module_class: str
    absolute: str | None = None
    """Path in the manifest, where the graph can run for this one instance only."""


class Base(NamedTuple):
    """The region's own module: the one whose `forward` it compiles."""

    module_class: str
    path: str | None = None
    """Path of the instance that it was compiled for; it may run for others."""


class ServedModule(NamedTuple):
    """One module that a call serves."""

    path: int
    """Index into the graph's paths, or REGION."""
    near: bool
    """Whether it was inferred from neighbours, as the compiler lost the module on the way."""
    nodes: int
    """Nodes of the graph that became part of the call."""
    bytes: int | None
    """Bytes that these nodes read and write; 0 for views, None for unknown."""


class KernelCall(NamedTuple):
    """One call of a kernel in a graph."""

    name: str
    """Of a generated kernel its own (`triton_poi_fused_add_1`), else `extern_kernels.addmm`."""
    extern: bool
    serves: tuple[ServedModule, ...]


class CompiledGraph(Struct, frozen=True):
    """One graph, forward or backward, of one variant of a compiled region."""

    key: str
    """As in `## Call CompiledFxGraph key ##`."""
    compile_id: str
    """As in `Torch-Compiled Region: 0/0`."""
    backward: bool
    root: str | None
    """Path of the region's own module, where the graph can run for this one instance only."""
    base: Base | None
    """None where the region is no module's forward, or not known."""
    paths: tuple[RanModule, ...]
    """Modules that ran, those without a kernel of their own too."""
    calls: tuple[KernelCall, ...]


class GraphBreak(Struct, frozen=True):
    """Where a graph ended and Python goes on, as Dynamo reports it."""

    compile_id: str
    """Of the region that ends there, as in `Torch-Compiled Region: 0/0`."""
    file: str
    line: int
    function: str
    reason: str


class CompiledGraphs(Struct, frozen=True):
    """All graphs of a recording."""

    graphs: tuple[CompiledGraph, ...]
    missing: dict[str, str] = {}
    """Reason by key, of graphs that ran without a map."""
    unreadable: int = 0
    """Graphs of another shape."""
    breaks: tuple[GraphBreak, ...] = ()


class _RawGraph(Struct, frozen=True):
    key: str
    compile_id: str = ""
    backward: bool = False
    root: str | None = None
    base: Base | None = None
    paths: list[RanModule] = []
    calls: list[tuple[str, int, list[tuple[int, int, int, int | None]]]] = []


def read_compiled_graphs(raw: object) -> CompiledGraphs | None:
    """Decode what a file has under the map's key; None where that is no map."""
    if not isinstance(raw, dict):
        return None
    try:
        found = decode_manifest(raw)
    except RecursionError:  # nested without end: not written by the recorder
        return None
    listed = found.get("graphs")
    entries = listed if isinstance(listed, list) and found.get("version") == VERSION else []
    graphs = [graph for entry in entries if (graph := _graph(entry)) is not None]
    unreadable = len(listed) - len(graphs) if isinstance(listed, list) else 1
    return CompiledGraphs(
        graphs=tuple(graphs),
        missing=_missing(found.get("missing")),
        unreadable=unreadable,
        breaks=_breaks(found.get("breaks")),
    )


def _graph(entry: Any) -> CompiledGraph | None:
    try:
        raw = msgspec.convert(entry, described(_RawGraph))
    except msgspec.ValidationError:
        return None
    served = [part for _, _, parts in raw.calls for part in parts]
    if any(not REGION <= path < len(raw.paths) for path, *_ in served):
        return None
    calls = tuple(
        KernelCall(name, bool(extern), tuple(_served(*part) for part in parts))
        for name, extern, parts in raw.calls
    )
    return CompiledGraph(**asdict(raw) | {"paths": tuple(raw.paths), "calls": calls})


def _breaks(listed: object) -> tuple[GraphBreak, ...]:
    try:
        return tuple(msgspec.convert(listed or [], described(list[GraphBreak])))
    except msgspec.ValidationError:
        return ()


def _served(path: int, how: int, nodes: int, amount: int | None) -> ServedModule:
    known = None if amount is None else min(max(amount, 0), _MOST)
    return ServedModule(path, how != 0, min(max(nodes, 0), _MOST), known)


_MOST = 1 << 50
"""Largest number of bytes that is believed."""


def _missing(listed: object) -> dict[str, str]:
    found = {}
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("key"), str):
            found[entry["key"]] = str(entry.get("why", ""))
    return found
