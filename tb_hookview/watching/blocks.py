"""Chooses the blocks of a model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from torch import nn
from torch.nn.parallel import DataParallel
from torch.nn.parameter import is_lazy

from tb_hookview.recorder.tree import Node, walk, within_parallel

MOST = 16
"""Blocks of a model at most."""

_NOT_CALLED = nn.Module.forward
"""Forward of a class that has none of its own, as that of lists."""


class Block(NamedTuple):
    """A part of the model that is timed: one module, or neighbours of one list."""

    name: str
    """Path of the module; `first..last` of neighbours."""
    modules: tuple[nn.Module, ...]


def choose_blocks(model: nn.Module, path: str, most: int) -> list[Block]:
    """Cut a model into at most `most` blocks that hold all its parameters between them.

    The largest module is opened again and again, with its like next to it, as long as the parts
    fit. A list of more parts than fit becomes groups of neighbours. Modules without parameters are
    in no block. Of modules that hold the same parameters the outermost is the block: what its
    forward does around the others is its time.
    """
    if isinstance(model, DataParallel):  # its replicas run in threads, several at a time
        return []
    nodes = {id(node.module): node for node in walk(within_parallel(model), path)}
    root = next(iter(nodes.values()), None)
    if root is None or most < 1 or root.reach == "call" or root.holder is not root.module:
        return []
    chosen = _parts(root, nodes)
    closed: set[int] = set()
    while True:
        open_ = [n for n in chosen if id(n.module) not in closed and n.reach == "hooks"]
        largest = max(open_, key=_size, default=None)
        if largest is None:
            break
        alike = [n for n in open_ if _is_alike(n, largest)]
        parts = {id(n.module): _parts(n, nodes) for n in alike}
        more = sum(len(each) - 1 for each in parts.values())
        if not all(parts.values()) or len(chosen) + more > most:
            closed.update(parts)
        else:
            chosen = [part for n in chosen for part in parts.get(id(n.module), [n])]
    around = _around(nodes)
    return _as_blocks([_outermost(n, around) for n in chosen], nodes, most)


def _as_blocks(chosen: list[Node], nodes: dict[int, Node], most: int) -> list[Block]:
    lists = [n for n in chosen if isinstance(n.module, nn.ModuleList | nn.ModuleDict)]
    room = max(1, (most - (len(chosen) - len(lists))) // max(1, len(lists)))
    blocks: list[Block] = []
    for node in chosen:
        parts = _parts(node, nodes) if node in lists else [node]
        blocks += _groups(parts, room if node in lists else 1)
    return blocks[:most]


def _groups(nodes: list[Node], most: int) -> Iterable[Block]:
    per_group = -(-len(nodes) // most) if nodes else 1
    for start in range(0, len(nodes), per_group):
        group = nodes[start : start + per_group]
        name = group[0].path if len(group) == 1 else f"{group[0].path}..{group[-1].path}"
        yield Block(name, tuple(node.module for node in group))


def _parts(node: Node, nodes: dict[int, Node]) -> list[Node]:
    """Return the parts of a module that hold parameters; none where it holds some itself."""
    if any(p is not None for p in node.module._parameters.values()) and node.depth:
        return []
    found = [nodes.get(id(child)) for child in node.holder._modules.values()]
    return [n for n in found if n is not None and n.depth == node.depth + 1 and _size(n)]


def _around(nodes: dict[int, Node]) -> dict[int, Node]:
    """Return by module the one around it, below the root, that holds the same parameters."""
    parts = ((node, _parts(node, nodes)) for node in nodes.values() if node.depth)
    return {id(inside[0].module): node for node, inside in parts if len(inside) == 1}


def _outermost(node: Node, around: dict[int, Node]) -> Node:
    """Return the outermost module that is called and holds the parameters of this one."""
    found, outer = node, around.get(id(node.module))
    while outer is not None:
        if outer.reach == "hooks" and type(outer.holder).forward is not _NOT_CALLED:
            found = outer
        outer = around.get(id(outer.module))
    return found


def _is_alike(one: Node, other: Node) -> bool:
    same_parent = one.path.rpartition(".")[0] == other.path.rpartition(".")[0]
    return same_parent and type(one.holder) is type(other.holder)


def _size(node: Node) -> int:
    return sum(1 if is_lazy(p) else p.numel() for p in node.holder.parameters())
