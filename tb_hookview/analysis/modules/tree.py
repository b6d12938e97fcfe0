"""The module tree of a trace, and the calls of each module.

Names come from the strongest source a trace has: our recorder's forward marks (exact instances),
Lightning's annotations, the `nn.Module: Class_k` rows of Python stacks, and last of all any
annotation somebody put around the forward. A weaker source counts only where no stronger one is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.host.pipeline_ranges import microbatch_ranges
from tb_hookview.analysis.host.roles import MODULE_ROLES, ModuleName, Role, module_name
from tb_hookview.analysis.host.rows import HostRows
from tb_hookview.arrays.joins import grouped, unique_inverse
from tb_hookview.arrays.nesting import CallTree, lookup
from tb_hookview.arrays.types import Bool, Int, ModuleIndex, TreeRow
from tb_hookview.trace.format.manifest import Manifest

_WITH_PATHS = (Role.FORWARD_MARK, Role.LIGHTNING)
"""Roles whose names are qualified paths, and so contain the tree."""


ORIGINS = ("recorder", "lightning", "python_stack", "annotation")
"""What names a module, in the order of `MODULE_ROLES`."""
_RECORDER, _ANNOTATION = 0, ORIGINS.index("annotation")


class Modules(Struct, frozen=True, dict=True):
    """Modules as a flat tree: parents come before their children."""

    path: tuple[str, ...]
    module_class: tuple[str, ...]
    parent: ModuleIndex
    """Module above, -1 for a root."""
    origin: Int
    """Index into ORIGINS."""

    @property
    def annotation(self) -> Bool:
        """Whether each is none, but a range that somebody put around the forward."""
        return np.asarray(self.origin == _ANNOTATION)

    def __len__(self) -> int:
        return len(self.path)

    @cached_property
    def depth(self) -> Int:
        """Number of modules above each."""
        depth, parent = [0] * len(self), self.parent.tolist()
        for module in range(len(self)):
            if parent[module] >= 0:
                depth[module] = depth[parent[module]] + 1
        return np.array(depth, np.int64)

    @cached_property
    def end(self) -> ModuleIndex:
        """Index after the last module below each; those of a subtree are consecutive."""
        end, parent = list(range(1, len(self) + 1)), self.parent.tolist()
        for module in range(len(self) - 1, -1, -1):
            if parent[module] >= 0:
                end[parent[module]] = max(end[parent[module]], end[module])
        return np.array(end, np.int64)

    def rolled_up(self, column: Int) -> Int:
        """Add to each module's value those of all modules below it.

        The column is of shape (m,) or (m, k).
        """
        before = np.zeros((len(column) + 1, *column.shape[1:]), np.int64)
        np.cumsum(column, axis=0, out=before[1:])
        return np.asarray(before[self.end] - before[:-1])


class ModuleCalls(Struct, frozen=True):
    """Rows of the call tree that are calls of modules, shape (n,)."""

    module: ModuleIndex
    """Module whose call the row is, -1 for other rows."""
    role: Int
    """`Role` of that row, -1 for other rows."""

    def innermost(self, call_tree: CallTree, role: Role | None = None) -> TreeRow:
        """Innermost module call around each row (of one role, or of any), -1 for none."""
        return call_tree.nearest(self.module >= 0 if role is None else self.role == role)


def find_modules(host: HostRows, forward_ops: TreeRow) -> tuple[Modules, ModuleCalls]:
    """Find the modules of a trace and their calls.

    Args:
        host: host rows.
        forward_ops: forward operators of the nodes. An annotation counts as a module only where it
            is around one of these, and names no microbatch of a pipeline.
    """
    rows = _call_rows(host, forward_ops)
    names, of_row = _named(host, rows)
    roles = [host.role_of(row) for row in _first_rows(rows, of_row, len(names))]
    path_like = [role in _WITH_PATHS for role in roles]
    listed = _listed(host.trace.manifest)
    known = {name.path for name in names}
    extra = [name for name in listed if name.path not in known]
    all_names = names + extra
    parents = _parents(host, rows, of_row, all_names, path_like + [True] * len(extra))
    order = _tree_order(all_names, parents, [name.path for name in listed])
    origin = [MODULE_ROLES.index(role) for role in roles] + [_RECORDER] * len(extra)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    modules = Modules(
        path=tuple(all_names[number].path for number in order),
        module_class=tuple(all_names[number].module_class for number in order),
        parent=np.array([place[p] if (p := parents[n]) >= 0 else -1 for n in order], np.int64),
        origin=np.array([origin[number] for number in order], np.int64),
    )
    module = np.full(len(host), -1, np.int64)
    module[rows] = place[of_row] if len(rows) else of_row
    return modules, ModuleCalls(module, np.where(module >= 0, host.role, -1))


def _call_rows(host: HostRows, forward_ops: TreeRow) -> TreeRow:
    """Rows that are calls of modules; a weaker source counts only outside of stronger ones."""
    strong = np.zeros(len(host), bool)
    for source in MODULE_ROLES:
        rows = host.role == source
        if source is Role.LABEL:
            rows[microbatch_ranges(host).row] = False
            rows &= _around(host.call_tree, rows, forward_ops)
        if not rows.any():
            continue
        rows &= host.call_tree.nearest_above(strong) < 0
        rows[_same_call(host, rows, strong)] = False
        strong |= rows
    return np.flatnonzero(strong)


def _around(call_tree: CallTree, rows: Bool, forward_ops: TreeRow) -> Bool:
    innermost = call_tree.nearest_above(rows)[forward_ops[forward_ops >= 0]]
    result = np.zeros(len(call_tree), bool)
    result[innermost[innermost >= 0]] = True
    return result


def _same_call(host: HostRows, weak: Bool, strong: Bool) -> TreeRow:
    """Weak rows that are the same call as a stronger row inside them (same class)."""
    inside = np.flatnonzero(strong)
    above = host.call_tree.nearest_above(weak)[inside]
    inside, above = inside[above >= 0], above[above >= 0]
    classes = _class_numbers(host, np.concatenate([inside, above]))
    return np.asarray(above[classes[: len(inside)] == classes[len(inside) :]])


def _class_numbers(host: HostRows, rows: TreeRow) -> Int:
    """A number for the class in each row's name; each distinct name is parsed once."""
    _, first, inverse = grouped(host.string[rows])
    classes = [_name_of(host, row).module_class for row in rows[first].tolist()]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(classes))}
    return np.array([numbers[name] for name in classes], np.int64)[inverse]


def _name_of(host: HostRows, row: int) -> ModuleName:
    return module_name(host.name(row), host.role_of(row))


def _named(host: HostRows, rows: TreeRow) -> tuple[list[ModuleName], Int]:
    """Distinct modules by first appearance in time, and the module of each row."""
    strings, place = unique_inverse(host.string[rows])
    by_time = np.argsort(host.call_tree.start[rows], kind="stable")
    first = np.empty(len(strings), np.int64)
    first[place[by_time[::-1]]] = np.arange(len(rows))[::-1]  # the last one written stays
    numbers: dict[str, int] = {}
    names: list[ModuleName] = []
    of_string = np.empty(len(strings), np.int64)
    for string in np.argsort(first).tolist():
        name = _name_of(host, int(rows[by_time[first[string]]]))
        if name.path not in numbers:
            numbers[name.path] = len(names)
            names.append(name)
        of_string[string] = numbers[name.path]
    return names, of_string[place]


def _first_rows(rows: TreeRow, of_row: Int, count: int) -> list[int]:
    first = np.zeros(count, np.int64)
    first[of_row[::-1]] = rows[::-1]
    return [int(row) for row in first]


def _listed(manifest: Manifest | None) -> list[ModuleName]:
    """Modules that the recorder's manifest lists, in its order; each path once."""
    listed: dict[str, ModuleName] = {}
    for module in manifest.modules if manifest else ():
        listed.setdefault(module.path, ModuleName(module.path, module.module_class))
    return list(listed.values())


def _parents(
    host: HostRows,
    rows: TreeRow,
    of_row: Int,
    names: Sequence[ModuleName],
    path_like: Sequence[bool],
) -> list[int]:
    by_path = {n.path: i for i, n in enumerate(names) if path_like[i]}
    manifest = host.trace.manifest
    roots = frozenset(manifest.roots if manifest else ())
    enclosing = _enclosing_modules(host.call_tree, rows, of_row, len(names))
    parents = []
    for number, name in enumerate(names):
        if not path_like[number]:
            parents.append(enclosing[number])
        elif name.path in roots or (not roots and enclosing[number] == -1):
            parents.append(-1)
        else:
            parents.append(_prefix_parent(name.path, by_path))
    return parents


def _enclosing_modules(call_tree: CallTree, rows: TreeRow, of_row: Int, count: int) -> list[int]:
    """Module around each module's first call; -1 for none, -2 if never called.

    A call around a first call began earlier, so no two modules enclose each other here, even where
    later calls do.
    """
    is_call = np.zeros(len(call_tree), bool)
    is_call[rows] = True
    module = np.full(len(call_tree), -1, np.int64)
    module[rows] = of_row
    above = lookup(module, call_tree.nearest_above(is_call)[rows])
    first = np.full(count, -1, np.int64)
    by_time = np.lexsort((rows, call_tree.start[rows]))[::-1]
    first[of_row[by_time]] = by_time
    return [int(above[row]) if row >= 0 else -2 for row in first.tolist()]


def _prefix_parent(path: str, by_path: dict[str, int]) -> int:
    while path:
        path = path.rpartition(".")[0]
        if path in by_path:
            return by_path[path]
    return -1


def _tree_order(names: Sequence[ModuleName], parents: list[int], listed: list[str]) -> list[int]:
    """Depth-first order; siblings as the manifest lists them, else by first call."""
    rank = {path: number for number, path in enumerate(listed)}
    children: dict[int, list[int]] = {}
    for number, parent in enumerate(parents):
        children.setdefault(max(parent, -1), []).append(number)
    order: list[int] = []
    waiting = _ranked(children.get(-1, []), names, rank)[::-1]
    while waiting:
        number = waiting.pop()
        order.append(number)
        waiting.extend(_ranked(children.pop(number, []), names, rank)[::-1])
    return order


def _ranked(numbers: list[int], names: Sequence[ModuleName], rank: dict[str, int]) -> list[int]:
    return sorted(numbers, key=lambda number: rank.get(names[number].path, len(rank)))
