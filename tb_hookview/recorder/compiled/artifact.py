"""The map from a compiled graph's kernel calls to modules, as torch's caches hold it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tb_hookview.recorder.compiled.kernels import KernelCall, Part
from tb_hookview.recorder.compiled.stacks import Module

ATTRIBUTE = "_tb_hookview_modules_1"
"""Attribute of torch's `CompiledFxGraph`; its number is the version of the text in it."""

Sequence = tuple[Module | None, ...]
"""The module of each node of a graph, in the graph's order."""


@dataclass(frozen=True)
class GraphMap:
    """What a compiled graph's kernels serve."""

    calls: list[KernelCall]
    modules: list[Module]
    """Every module that takes part, containers too."""
    nodes: Sequence
    """Of the graph that Inductor was given; a graph with the same cache key has the same nodes."""
    dynamo: Sequence | None
    """Of the graph that Dynamo captured; None where it is not known."""
    operators: str
    """Fingerprint of the operators of that graph, "" where it is not known."""


def encode(found: GraphMap) -> str:
    """Return a map as text."""
    modules = list(dict.fromkeys([*found.modules, *_all_modules(found)]))
    index = {module: number for number, module in enumerate(modules)}

    def numbers(sequence: Sequence | None) -> list[int] | None:
        return None if sequence is None else [_number(index, module) for module in sequence]

    content = {
        "modules": modules,
        "listed": [index[module] for module in found.modules],
        "calls": [
            [c.name, int(c.extern), [[_number(index, p.module), *p[1:]] for p in c.parts]]
            for c in found.calls
        ],
        "nodes": numbers(found.nodes),
        "dynamo": numbers(found.dynamo),
        "operators": found.operators,
    }
    return json.dumps(content, separators=(",", ":"))


def decode(text: str) -> GraphMap:
    """Return the map that `encode` made a text of."""
    content = json.loads(text)
    modules = [Module(*each) for each in content["modules"]]

    def sequence(numbers: list[int]) -> Sequence:
        return tuple(None if n < 0 else modules[n] for n in numbers)

    def part(number: int, *rest: Any) -> Part:
        return Part(None if number < 0 else modules[number], *rest)

    dynamo = content["dynamo"]
    return GraphMap(
        calls=[
            KernelCall(n, bool(e), [part(*p) for p in parts]) for n, e, parts in content["calls"]
        ],
        modules=[modules[number] for number in content["listed"]],
        nodes=sequence(content["nodes"]),
        dynamo=None if dynamo is None else sequence(dynamo),
        operators=content["operators"],
    )


def translate(calls: list[KernelCall], old: Sequence, new: Sequence) -> list[KernelCall] | None:
    """Return the calls of one graph with the modules of another, None if that is not certain.

    torch's caches serve a graph to every model that has the same operators, whatever its modules
    are called.

    Args:
        calls: of the graph that is in the cache.
        old: modules of the nodes of that graph.
        new: modules of the same nodes in the graph at hand.
    """
    if len(old) != len(new):
        return None
    renamed: dict[Module | None, Module | None] = {}
    for before, after in zip(old, new, strict=True):
        if renamed.setdefault(before, after) != after:
            return None
    renamed.setdefault(None, None)
    if any(part.module not in renamed for call in calls for part in call.parts):
        return None
    return [
        KernelCall(call.name, call.extern, [Part(renamed[p.module], *p[1:]) for p in call.parts])
        for call in calls
    ]


def _all_modules(found: GraphMap) -> list[Module]:
    sequences = [*found.nodes, *(found.dynamo or ())]
    parts = [part.module for call in found.calls for part in call.parts]
    return [module for module in [*sequences, *parts] if module is not None]


def _number(index: dict[Module, int], module: Module | None) -> int:
    return -1 if module is None else index[module]
