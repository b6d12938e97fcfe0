"""What goes on while a graph is compiled, on each thread: kernel calls to a map."""

from __future__ import annotations

import re
import sys
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from tb_hookview.recorder.compiled import registry
from tb_hookview.recorder.compiled.artifact import (
    ATTRIBUTE,
    GraphMap,
    Sequence,
    decode,
    encode,
    translate,
)
from tb_hookview.recorder.compiled.kernels import Note, attribute, note
from tb_hookview.recorder.compiled.labels import Before, label, remember
from tb_hookview.recorder.compiled.regions import Region, capture
from tb_hookview.recorder.compiled.stacks import Module, innermost, stack

_LOST = "modules inside compiled regions may be missing from the trace"
_MOST_REGIONS = 512


@dataclass(eq=False)
class Compilation:
    """One graph that Inductor compiles, or finds in its cache."""

    region: Region | None
    nodes: Sequence
    modules: list[Module]
    before: Before
    notes: defaultdict[int, list[Note]] = field(default_factory=lambda: defaultdict(list))
    """Kernel calls, by the identity of Inductor's graph that they belong to."""
    made: bool = False
    """Whether the graph was compiled here, not found in a cache."""
    why: str = ""
    """Reason why the graph that was compiled here has no map."""


def _raise(_: str, fault: Exception, __: str) -> None:
    raise fault


report: Callable[[str, Exception, str], None] = _raise
"""Called with a fault of ours; `install` sets it."""


class _Threads(threading.local):
    def __init__(self) -> None:
        self.compilations: list[Compilation] = []
        self.regions: list[Region] = []


_threads = _Threads()
_regions: OrderedDict[str, list[Region]] = OrderedDict()
"""The last regions by compile id; a backward may be compiled long after its forward."""


def begin_region(graph: Any) -> None:
    """Note the modules of a graph that Dynamo hands to Inductor; `end_region` ends it."""
    _threads.regions.append(Region(""))
    compile_id = _compile_id()
    region = _threads.regions[-1] = capture(graph.graph, compile_id)
    around = _threads.regions[-2] if len(_threads.regions) > 1 else None
    if around is not None and around.is_of_the_graph_of(region):
        # With options of its own, `torch.compile` hands a graph to Inductor within Inductor.
        _threads.regions[-1] = around
        return
    known = [each for each in _regions.pop(compile_id, []) if region.is_of_the_frame_of(each)]
    _regions[compile_id] = [*known, region]
    while len(_regions) > _MOST_REGIONS:
        _regions.popitem(last=False)


def end_region() -> None:
    """End what `begin_region` began."""
    _threads.regions.pop()


def begin(graph: Any) -> None:
    """Note the nodes of a graph before Inductor changes it; `end` ends it."""
    _threads.compilations.append(Compilation(None, (), [], Before(frozenset(), frozenset(), {})))
    nodes = [node for node in graph.graph.nodes if node.op != "placeholder"]
    modules = [entry.module for node in nodes for entry in stack(node)]
    _threads.compilations[-1] = Compilation(
        _region(),
        tuple(innermost(node) for node in nodes),
        list(dict.fromkeys(modules)),
        remember(graph.graph),
    )


def end() -> None:
    """End what `begin` began."""
    _threads.compilations.pop()


def note_call(schedule: Any, name: str, *, extern: bool) -> None:
    """Note one kernel call, as Inductor writes it."""
    if _threads.compilations and name:
        graph = sys.modules["torch._inductor.virtualized"].V.graph
        _threads.compilations[-1].notes[id(graph)].append(note(schedule, name, extern=extern))


def make(compiled: Any, lowered: Any, graph: Any) -> None:
    """Attach the map to a graph that was just compiled.

    Args:
        compiled: torch's `CompiledFxGraph`.
        lowered: Inductor's graph.
        graph: the FX module that it was lowered from.
    """
    if not _threads.compilations:
        return
    compilation = _threads.compilations[-1]
    compilation.made = True
    notes = compilation.notes.pop(id(lowered), [])
    if compilation.notes:  # a region within the region has a graph of its own
        compilation.why = "subgraph"
    elif not _is_order_of(notes, getattr(compiled, "source_code", "")):
        compilation.why = "unsupported"
    else:
        calls = attribute(notes, label(graph.graph, compilation.before))
        region = compilation.region
        found = GraphMap(
            calls,
            compilation.modules,
            compilation.nodes,
            dynamo=None if region is None else region.nodes,
            operators="" if region is None else region.operators,
        )
        setattr(compiled, ATTRIBUTE, encode(found))


def finish(compiled: Any, *, backward: bool) -> None:
    """Register a compiled graph, new or from a cache, as it becomes ready to run."""
    key = str(getattr(compiled, "_fx_graph_cache_key", None))
    compilation = _threads.compilations[-1] if _threads.compilations else None
    region = _region() if compilation is None else compilation.region
    text = vars(compiled).get(ATTRIBUTE)
    found, why = (None, "cache") if text is None else _of_this_region(text, compilation, region)
    if compilation is not None and compilation.made and found is None:
        why = compilation.why or "unsupported"
    registry.add(
        compiled, registry.RegisteredGraph(key, _compile_id(), backward, region, found, why)
    )


def _of_this_region(
    text: str, compilation: Compilation | None, region: Region | None
) -> tuple[GraphMap | None, str]:
    """Return the map of an artifact in terms of the modules at hand, or why there is none."""
    found = decode(text)
    if compilation is not None and compilation.made:
        return found, ""
    old: Sequence | None
    if compilation is not None:
        old, new, modules = found.nodes, compilation.nodes, compilation.modules
    elif region is not None and region.nodes is not None and region.operators == found.operators:
        # torch's outer cache was hit: only the graph that Dynamo captured is there to compare.
        old, new, modules = found.dynamo, region.nodes, region.modules
    else:
        return None, "foreign"
    calls = None if old is None else translate(found.calls, old, new)
    if calls is None:
        return None, "foreign"
    return replace(found, calls=calls, modules=modules), ""


def _region() -> Region | None:
    """Return the region that is compiled on this thread, or whose backward is."""
    if _threads.regions:
        return _threads.regions[-1]
    known = _regions.get(_compile_id(), [])
    if len(known) == 1:
        return known[0]
    return _merged(known) if known else None


def _merged(known: list[Region]) -> Region:
    """Return what several graphs of one frame have in common: its modules."""
    merged = Region(known[-1].compile_id, base=known[-1].base)
    for region in known:
        merged.modules += region.modules
        merged.instances.update(region.instances)
        merged.anchors.update(region.anchors)
    return merged


def _compile_id() -> str:
    return str(torch._guards.CompileContext.current_compile_id())


def _is_order_of(notes: list[Note], source: str) -> bool:
    """Return whether a generated program calls the kernels as often and in the order noted."""
    names = [each.name for each in notes if not each.extern]
    if not names:
        return True
    either = "|".join(map(re.escape, sorted(set(names), key=len, reverse=True)))
    calls = re.compile(rf"^[ \t]+(?:[\w.]+ = )?({either})(?:\.run)?\(", re.MULTILINE)
    return names == calls.findall(source)


def guarded(action: Any, *args: Any, **kwargs: Any) -> None:
    """Run something of ours while torch compiles; a fault of it is one warning."""
    try:
        action(*args, **kwargs)
    except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the training loop
        report("noting what is compiled", fault, _LOST)
