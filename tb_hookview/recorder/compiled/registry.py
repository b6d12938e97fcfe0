"""The compiled graphs that can run in this process, and their description in a trace."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from torch import nn

from tb_hookview.recorder.compiled import breaks
from tb_hookview.recorder.compiled.artifact import GraphMap
from tb_hookview.recorder.compiled.kernels import Part
from tb_hookview.recorder.compiled.regions import Region
from tb_hookview.recorder.compiled.stacks import Module, split

VERSION = 1
"""Version of the description's format."""


class RegisteredGraph(NamedTuple):
    """One compiled graph."""

    key: str
    """Of torch's cache; it names the range around each call of the graph."""
    compile_id: str
    backward: bool
    region: Region | None
    found: GraphMap | None
    why: str
    """Reason why there is no map: "cache" (filled without us), "foreign", "subgraph", ..."""


_entries: dict[int, tuple[weakref.ref[Any], RegisteredGraph]] = {}
off = ""
"""Why nothing is noted in this process, "" where it is."""


def add(compiled: Any, entry: RegisteredGraph) -> None:
    """Register a graph until torch drops it."""
    key = id(compiled)

    def forget(gone: weakref.ref[Any], entries: dict[int, Any] = _entries) -> None:
        if key in entries and entries[key][0] is gone:
            del entries[key]

    _entries[key] = weakref.ref(compiled, forget), entry


def describe(
    modules: Iterable[tuple[nn.Module, str]], shorten: Callable[[str], str]
) -> dict[str, Any] | None:
    """Return what a recording may have run, for `markers.encode_manifest`; None for nothing.

    Args:
        modules: every module that is recorded, with its path.
        shorten: makes a file's path one that may be shared.
    """
    broken = breaks.describe(shorten)
    if off:
        said = {"version": VERSION, "off": off, "graphs": [], "missing": []}
        return {**said, "breaks": broken} if broken else said
    # A reset of the compiler begins its numbers again; the older graph can run no more.
    latest = {entry[:3]: entry for _, entry in list(_entries.values())}
    if not latest and not broken:
        return None
    entries = list(latest.values())
    paths = _Paths(modules, entries)
    graphs = [_graph(e, e.found, paths) for e in entries if e.found is not None]
    missing = [
        {"key": e.key, "compile_id": e.compile_id, "backward": e.backward, "why": e.why}
        for e in entries
        if e.found is None
    ]
    return {"version": VERSION, "graphs": graphs, "missing": missing, "breaks": broken}


class _Paths:
    """The paths of modules under the wrapped roots."""

    def __init__(
        self, modules: Iterable[tuple[nn.Module, str]], entries: list[RegisteredGraph]
    ) -> None:
        self._paths: dict[int, tuple[nn.Module, str]] = {}
        for module, path in modules:
            self._paths.setdefault(id(module), (module, path))
        anchors = (
            entry.region.instance(text)
            for entry in entries
            if entry.region is not None
            for text in {*entry.region.anchors.values(), entry.region.base}
        )
        classes: set[type] = {type(anchor) for anchor in anchors if anchor is not None}
        # Not isinstance: it asks proxies for their class, and some answer with a warning.
        kinds: Iterator[type] = map(type, gc.get_objects())
        # What is frozen is not listed, so nothing is known to be the only one.
        self._alive = Counter(k for k in kinds if k in classes and not gc.get_freeze_count())

    def of(self, region: Region | None, text: str) -> str | None:
        """Return the path of the module that a source stood for as the region was compiled."""
        module = None if region is None else region.instance(text)
        if module is None or id(module) not in self._paths:
            return None
        return self._paths[id(module)][1]

    def is_sole(self, region: Region | None, text: str) -> bool:
        """Return whether no other module of its class is alive that the code could run for."""
        module = None if region is None else region.instance(text)
        return module is not None and self._alive[type(module)] == 1

    def certain(self, region: Region | None, text: str) -> str | None:
        """Return a module's path where the code can run for that one instance only."""
        if region is None or not self.is_sole(region, region.anchors.get(text, text)):
            return None
        return self.of(region, text)


def _graph(entry: RegisteredGraph, found: GraphMap, paths: _Paths) -> dict[str, Any]:
    region = entry.region
    base = region.base if region is not None else ""
    rows = [module for module in found.modules if module.text != base]
    index = {module: number for number, module in enumerate(rows)}
    return {
        "key": entry.key,
        "compile_id": entry.compile_id,
        "backward": entry.backward,
        "root": paths.certain(region, base) if base else None,
        "base": _base(region, base, paths),
        "paths": [
            [_relative(module.text, base), module.module_class, paths.certain(region, module.text)]
            for module in rows
        ],
        "calls": [[c.name, int(c.extern), _merged(c.parts, index)] for c in found.calls],
    }


def _base(region: Region | None, base: str, paths: _Paths) -> list[str | None] | None:
    module = None if region is None else region.instance(base)
    return None if module is None else [type(module).__name__, paths.of(region, base)]


def _relative(text: str, base: str) -> str:
    head, rest = split(text)
    return rest.lstrip(".") if base and head == base else text


def _merged(parts: list[Part], index: dict[Module, int]) -> list[list[int | None]]:
    """Return one row per module and kind of evidence: index or -1, how, nodes, bytes."""
    merged: dict[tuple[int, int], tuple[int, int | None]] = {}
    for part in parts:
        key = (-1 if part.module is None else index.get(part.module, -1), part.how)
        nodes, size = merged.get(key, (0, 0))
        total = None if size is None or part.size is None else size + part.size
        merged[key] = nodes + part.nodes, total
    return [[*key, *value] for key, value in merged.items()]
