"""Kernel calls of a compiled graph to the modules that they serve."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tb_hookview.recorder.compiled.labels import NEAR, Label
from tb_hookview.recorder.compiled.stacks import Module, operator_name

_USERS = frozenset(["triton_kernel_wrapper_mutation", "triton_kernel_wrapper_functional"])
"""Nodes that launch a Triton kernel of the user's."""


class Part(NamedTuple):
    """What one module has in a kernel call."""

    module: Module | None
    how: int
    nodes: int
    size: int | None
    """Bytes that its operators read and write; None where a size is unknown."""


class Note(NamedTuple):
    """One kernel call as Inductor wrote it."""

    name: str
    extern: bool
    outputs: list[Any]
    """FX nodes whose value the kernel writes, as far as Inductor knows them."""
    origins: list[Any]
    """FX nodes that took part; some of them were computed by an earlier kernel."""


class KernelCall(NamedTuple):
    """One kernel call and the modules it serves."""

    name: str
    extern: bool
    parts: list[Part]


def note(schedule: Any, name: str, *, extern: bool) -> Note:
    """Return the note of a kernel call.

    Args:
        schedule: an extern kernel, or scheduler nodes.
        name: of the kernel.
        extern: whether it is a call of an operator.
    """
    if type(schedule).__name__ == "UserDefinedTritonKernel":
        # Its launch is a row of that name, not an operator's; its origins have its inputs' too.
        own = [node for node in schedule.origins if operator_name(node) in _USERS]
        return Note(name, False, own, own)
    operators = [schedule] if extern else list(_operators(schedule))
    outputs = [o.origin_node for o in operators if getattr(o, "origin_node", None) is not None]
    origins = dict.fromkeys(origin for o in operators for origin in getattr(o, "origins", ()))
    return Note(name, extern, outputs, list(origins))


def _operators(schedule: Iterable[Any]) -> Iterator[Any]:
    for scheduled in schedule:
        # Markers between the nodes are classes.
        if isinstance(scheduled, type):
            continue
        parts = scheduled.get_nodes() if hasattr(scheduled, "get_nodes") else [scheduled]
        yield from (part.node for part in parts if getattr(part, "node", None) is not None)


def attribute(notes: list[Note], labels: dict[Any, Label]) -> list[KernelCall]:
    """Return the calls with their modules, in the same order.

    Args:
        notes: of all kernel calls of a graph, in the order of the calls.
        labels: by FX node.
    """
    written: defaultdict[Any, set[int]] = defaultdict(set)
    for number, each in enumerate(notes):
        for node in each.outputs:
            written[node].add(number)
    calls = []
    for number, each in enumerate(notes):
        elsewhere = {node for node in each.origins if written[node] - {number}}
        nodes = _computed(each, elsewhere - set(each.outputs))
        calls.append(KernelCall(each.name, each.extern, _parts(nodes, labels)))
    return calls


def _computed(each: Note, elsewhere: set[Any]) -> list[Any]:
    """Return the nodes that a kernel computes itself, not those whose values it reads."""
    members = set(each.origins)
    if each.extern and each.outputs:
        return each.outputs
    own = members - elsewhere
    # Inductor may count the reader of a value among those that made it.
    pending = [*each.outputs, *_last(own, members)] or _last(own, own)
    kept: set[Any] = set()
    while pending:
        node = pending.pop()
        if node not in kept and node not in elsewhere:
            kept.add(node)
            if not each.extern:
                pending.extend(n for n in node.all_input_nodes if n in members)
    return [n for n in dict.fromkeys([*each.origins, *each.outputs]) if n in kept]


def _last(nodes: set[Any], among: set[Any]) -> list[Any]:
    return [node for node in nodes if among.isdisjoint(node.users)]


def _parts(nodes: list[Any], labels: dict[Any, Label]) -> list[Part]:
    sizes = [_traffic(node) for node in nodes]
    if not any(sizes):  # a copy of a view, or nothing that has a size
        sizes = [_size(node) for node in nodes]
    known = None not in sizes
    grouped: dict[Label, tuple[int, int]] = {}
    for node, size in zip(nodes, sizes, strict=True):
        label = labels.get(node, Label(None, NEAR))
        count, total = grouped.get(label, (0, 0))
        grouped[label] = count + 1, total + (size or 0)
    return [
        Part(label.module, label.how, count, total if known else None)
        for label, (count, total) in grouped.items()
    ]


_VIEWS = frozenset(
    [
        "alias",
        "as_strided",
        "chunk",
        "detach",
        "diagonal",
        "expand",
        "getitem",
        "lift_fresh",
        "permute",
        "reshape",
        "select",
        "slice",
        "split",
        "split_with_sizes",
        "squeeze",
        "t",
        "transpose",
        "unfold",
        "unsqueeze",
        "view",
        "_unsafe_view",
    ]
)
_GATHERS = frozenset(["embedding", "gather", "index", "index_select", "_unsafe_index"])


def _traffic(node: Any) -> int | None:
    """Return the bytes that an operator reads and writes; 0 for a view, None if unknown."""
    name = operator_name(node)
    if name in _VIEWS:
        return 0
    size = _size(node)
    if size is None:
        return None
    for source in node.all_input_nodes:
        read = _size(source)
        if read is None:
            return None
        size += min(read, size) if name in _GATHERS else read
    return size


def _size(node: Any) -> int | None:
    """Return the bytes of a node's value, by the hints of its sizes; None if unknown."""
    value = node.meta.get("val")
    total = 0
    for tensor in value if isinstance(value, tuple | list) else [value]:
        if not hasattr(tensor, "element_size"):
            continue
        count = tensor.element_size()
        for length in tensor.shape:
            hint = _hint(length)
            if hint is None:
                return None
            count *= hint
        total += count
    return total


def _hint(length: Any) -> int | None:
    """Return a size as an integer, without a guard on it, which would change what is compiled."""
    if type(length) is int:
        return length
    hint = getattr(getattr(length, "node", None), "_hint", None)
    return hint if type(hint) is int else None
