"""The module tree of a trace, where its names come from, and the calls of each module.

Names come from the strongest source a trace has: our recorder's forward marks (exact instances),
Lightning's annotations, the `nn.Module: Class_k` rows of Python stacks, and last of all any
annotation somebody put around the forward. A weaker source counts only where no stronger one is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from tb_hookview.analysis.autograd.nodes import Nodes, recomputed_operators
from tb_hookview.analysis.host.activity import microbatch_ranges
from tb_hookview.analysis.host.rows import MODULE_ROLES, HostRows, ModuleName, Role, module_name
from tb_hookview.arrays.joins import (
    asof,
    dense_rank,
    first_of_each,
    grouped,
    index_of,
    mask_of,
    scatter,
    unique,
    unique_inverse,
)
from tb_hookview.arrays.nesting import CallTree, enclosing, innermost_at, lookup
from tb_hookview.arrays.types import Bool, EventRow, Int, ModuleIndex, Nanoseconds, TreeRow
from tb_hookview.trace import EventCategory
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


def find_modules(host: HostRows, nodes: Nodes) -> tuple[Modules, ModuleCalls]:
    """Find the modules of a trace and their calls.

    An annotation counts as a module only where it is around the forward operator of a node, and
    names no microbatch of a pipeline.
    """
    rows = _call_rows(host, nodes.forward_op)
    names, of_row = _named(host, rows)
    roles = [host.role_of(row) for row in rows[first_of_each(of_row)].tolist()]
    path_like = [role in _WITH_PATHS for role in roles]
    listed = _listed(host.trace.manifest)
    known = {name.path for name in names}
    extra = [name for name in listed if name.path not in known]
    all_names = names + extra
    parents = _parents(host, rows, of_row, all_names, path_like + [True] * len(extra))
    order = _tree_order(all_names, parents, [name.path for name in listed])
    origin = [MODULE_ROLES.index(role) for role in roles] + [_RECORDER] * len(extra)
    place = index_of(order, len(order))
    modules = Modules(
        path=tuple(all_names[number].path for number in order),
        module_class=tuple(all_names[number].module_class for number in order),
        parent=np.array([place[p] if (p := parents[n]) >= 0 else -1 for n in order], np.int64),
        origin=np.array([origin[number] for number in order], np.int64),
    )
    module = scatter(rows, place[of_row] if len(rows) else of_row, len(host))
    module = np.where(module >= 0, module, _annotations_again(host, nodes, module))
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


def _around(call_tree: CallTree, rows: Bool, operators: TreeRow) -> Bool:
    innermost = call_tree.nearest_above(rows)[operators[operators >= 0]]
    return mask_of(innermost[innermost >= 0], len(call_tree))


def _annotations_again(host: HostRows, nodes: Nodes, module: ModuleIndex) -> ModuleIndex:
    """Module of each annotation within a node that is around its forward as it runs again.

    A checkpoint that is not re-entrant makes nodes that are never evaluated, so no operator inside
    is a node's forward operator. The name says that the annotation is a module's.
    """
    label = host.role == Role.LABEL
    calls = np.flatnonzero(label & (module >= 0))
    named = scatter(host.string[calls], module[calls], len(host.trace.strings))
    found = np.where(label & (nodes.of_row >= 0), lookup(named, host.string), -1)
    if not (found >= 0).any():
        return found
    again = np.flatnonzero(recomputed_operators(host, nodes))
    counts = _around(host.call_tree, found >= 0, again)
    counts &= host.call_tree.nearest_above((module >= 0) & ~label) < 0
    return np.where(counts, found, -1)


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
    first = first_of_each(place[by_time])
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
    """Innermost module around all calls of each module, by where each was called first.

    -1 for none, -2 if never called. A call around a first call began earlier, so no two modules
    enclose each other here, even where later calls do. Calls outside of all modules, and those
    inside the module itself, change nothing.
    """
    is_call = mask_of(rows, len(call_tree))
    module = scatter(rows, of_row, len(call_tree))
    above = lookup(module, call_tree.nearest_above(is_call)[rows])
    first = np.full(count, -1, np.int64)
    by_time = np.lexsort((rows, call_tree.start[rows]))[::-1]
    first[of_row[by_time]] = by_time
    parents = [int(above[row]) if row >= 0 else -2 for row in first.tolist()]
    around = list(parents)
    pairs = unique(of_row[above >= 0] * count + above[above >= 0])
    for called, caller in (divmod(pair, count) for pair in pairs.tolist()):
        if around[called] in (caller, -1):
            continue
        over = _and_above(parents, caller)
        if called not in over:
            around[called] = next((m for m in _and_above(parents, around[called]) if m in over), -1)
    return around


def _and_above(parents: list[int], module: int) -> list[int]:
    """A module and those above it, innermost first."""
    found = []
    while module >= 0:
        found.append(module)
        module = parents[module]
    return found


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


# The recorder's marks on the backward pass: whose gradient, and between which marks.
#
# A pair of marks spans what ran between them on one thread, from the node at which the first was
# left to the one at which the second was:
#
#     before blocks.0 | before blocks.0.fc | MmBackward0 | after blocks.0.fc | after blocks.0
#                     |---------------- blocks.0.fc -----|
#     |--------------------------- blocks.0 ------------------------------|


def marked_modules(host: HostRows, modules: Modules, rows: TreeRow) -> ModuleIndex:
    """Module that each mark names, -1 for one that is not in the tree."""
    by_path = {path: number for number, path in enumerate(modules.path)}

    def number(name: str) -> int:
        return by_path.get(module_name(name, Role.NONE).path, -1)

    return host.trace.strings.map(host.string[rows], number, np.int64)


def module_between_marks(host: HostRows, modules: Modules, rows: TreeRow) -> ModuleIndex:
    """Innermost module between whose marks each of the rows began; -1 for none."""
    before = np.flatnonzero(host.role == Role.BEFORE_MARK)
    after = np.flatnonzero(host.role == Role.AFTER_MARK)
    if not len(before) or not len(after):
        return np.full(len(rows), -1, np.int64)
    opened = marked_modules(host, modules, before)
    closed = marked_modules(host, modules, after)
    pair = _pairs(host, before, opened, after, closed)
    whole = np.flatnonzero((pair >= 0) & (opened >= 0))
    marks = before[whole]
    start, end = np.split(_began(host, np.concatenate([marks, after[pair[whole]]])), 2)
    thread = host.call_tree.thread[marks]
    order = np.lexsort((marks, start - end, start, thread))
    start, end, thread = start[order], end[order], thread[order]
    spans = CallTree(marks[order], enclosing(thread, start, end), start, end, thread)
    found = innermost_at(spans, host.call_tree.thread[rows], host.call_tree.start[rows])
    return lookup(opened[whole][order], found)


def _pairs(
    host: HostRows, before: TreeRow, opened: ModuleIndex, after: TreeRow, closed: ModuleIndex
) -> Int:
    """Index of the mark after that belongs to each mark before, -1 for none.

    They pair as brackets do, for each module and thread by itself. A mark before without a mark
    after, because the backward failed, takes no other's.
    """
    marks, module = np.concatenate([before, after]), np.concatenate([opened, closed])
    thread, start = host.call_tree.thread[marks], host.call_tree.start[marks]
    step = np.repeat([1, -1], [len(before), len(after)])
    order = np.lexsort((start, module, thread))
    depth = np.empty(len(marks), np.int64)
    depth[order] = np.cumsum(step[order])  # the offset of what is sorted before is the same for all
    depth[step < 0] += 1
    key = dense_rank(thread, module, depth)
    first, second = key[: len(before)], key[len(before) :]
    opening = asof(first, start[: len(before)], second, start[len(before) :])
    return scatter(opening[opening >= 0], np.flatnonzero(opening >= 0), len(before))


def _began(host: HostRows, marks: TreeRow) -> Nanoseconds:
    """Start of the node at which each mark was left."""
    # The mark may lie inside its evaluation.
    node = host.call_tree.nearest_above(host.role == Role.NODE)[marks]
    return np.where(node >= 0, lookup(host.call_tree.start, node), host.call_tree.start[marks])


# Source of each module: from our recorder's manifest, else from Python stacks.
#
# The manifest holds where a module's class is defined. Without it, the source is the first frame
# named `forward` in the module's first call, before a module inside is called.


_FORWARD = re.compile(r"(?P<file>.+)\((?P<line>\d+)\): forward")


def module_sources(
    host: HostRows, modules: Modules, module_calls: ModuleCalls
) -> tuple[str | None, ...]:
    """`file.py:line` of each module, `file.py` where the line is unknown; None where neither is."""
    shown = _in_stacks(host, module_calls, len(modules))
    listed = _listed_sources(host.trace.manifest)
    return tuple(
        listed.get(path) or in_stack for path, in_stack in zip(modules.path, shown, strict=True)
    )


def _listed_sources(manifest: Manifest | None) -> dict[str, str]:
    """Source by the module's path, from the manifest."""
    found: dict[str, str] = {}
    for module in manifest.modules if manifest else ():
        if module.file:
            known = module.line is not None
            found.setdefault(module.path, f"{module.file}:{module.line}" if known else module.file)
    return found


def _in_stacks(host: HostRows, module_calls: ModuleCalls, count: int) -> list[str | None]:
    """Source lines of each module's `forward`, None where no stack shows it."""
    found: list[str | None] = [None] * count
    frames = _forward_frames(host)
    if not len(frames):
        return found
    is_call = (module_calls.module >= 0) & (module_calls.role != Role.LABEL)
    calls = np.flatnonzero(is_call)
    by_time = calls[np.argsort(host.call_tree.start[calls], kind="stable")]
    first = by_time[first_of_each(module_calls.module[by_time])]
    events, texts = host.trace.events, host.trace.strings
    frame = _first_inside(host, first, calls, frames)
    for module, row in zip(module_calls.module[first].tolist(), frame.tolist(), strict=True):
        if row >= 0 and (match := _FORWARD.fullmatch(texts[int(events.name[row])])):
            found[module] = f"{match['file']}:{match['line']}"
    return found


def _forward_frames(host: HostRows) -> EventRow:
    """Rows of the trace that are Python frames of a function called `forward`."""
    events, texts = host.trace.events, host.trace.strings.texts
    named = np.array([text.endswith("): forward") for text in texts] or [False], bool)
    return np.flatnonzero((events.kind == EventCategory.PYTHON) & named[events.name])


def _first_inside(host: HostRows, asked: TreeRow, calls: TreeRow, frames: EventRow) -> EventRow:
    """First frame inside each given call and in no inner call; -1 for none.

    Args:
        host: host rows.
        asked, calls: rows of the call tree; `calls` are those of all modules.
        frames: rows of the trace.
    """
    events, call_tree = host.trace.events, host.call_tree
    thread, start = call_tree.thread[asked], call_tree.start[asked]
    # In time that runs backwards, the last one up to a moment is the first one from it on.
    nearest = asof(events.thread[frames].astype(np.int64), -events.start[frames], thread, -start)
    row = np.where(nearest >= 0, frames[nearest], -1)
    following = np.append(calls, len(call_tree))[np.searchsorted(calls, asked) + 1]
    within = np.append(call_tree.thread, -1)[following] == thread
    until = np.where(within, np.append(call_tree.start, 0)[following], call_tree.end[asked])
    inside = (row >= 0) & (events.start[row] <= np.minimum(until, call_tree.end[asked]))
    return np.where(inside, row, -1)
