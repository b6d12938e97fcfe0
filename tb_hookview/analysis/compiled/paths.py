"""The module of each path in the map of a compiled graph.

Where the recorder saw that a graph serves one instance only, it has the path as in the manifest.
Other paths are relative to the module whose forward the region compiles: the one that the recorder
names, else the one in whose call (or in whose node) the graph ran, if its class is right. A path
below another object has Dynamo's text, `L['model'].fc`. It is below the one root that has
everything the text lists. Class and path have to agree for every module, or none is placed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tb_hookview.analysis.modules.tree import Modules
from tb_hookview.trace.format.compiled_graphs import CompiledGraph, RanModule

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
