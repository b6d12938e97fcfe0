"""Registers the wrapped roots that are alive, and gives each module a path."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, count
from typing import NamedTuple

from torch import nn

from tb_hookview.errors import UsageError
from tb_hookview.recorder.compiled.inlined import was_inlined
from tb_hookview.recorder.compiled.regions import may_have_compiled, optimized_module
from tb_hookview.recorder.module_filter import ModuleFilter
from tb_hookview.recorder.tree import Node, walk


@dataclass(eq=False)
class WrappedRoot:
    """One wrapped module, by a weak reference."""

    module: weakref.ref[nn.Module]
    path: str
    named: bool
    """Whether the path was given by the user."""
    module_filter: ModuleFilter
    caller: weakref.ref[nn.Module] | None = None
    """What `torch.compile` returned for it, where that is one module."""

    def called(self, module: nn.Module) -> nn.Module:
        """Return what is called in the place of the root's module, or the module itself."""
        caller = None if self.caller is None else self.caller()
        return module if caller is None else caller


class Assigned(NamedTuple):
    """A module and the root under whose path and options it is recorded."""

    root: WrappedRoot
    node: Node
    marked: bool
    """Whether it gets marks of its own."""


_roots: dict[int, WrappedRoot] = {}


def find(module: nn.Module) -> WrappedRoot | None:
    """Return the root a module was registered as, or None."""
    root = _roots.get(id(module))
    return root if root is not None and root.module() is module else None


def register(
    module: nn.Module, path: str, *, named: bool, module_filter: ModuleFilter
) -> WrappedRoot:
    """Add a root, or replace the one that this module already has."""
    key = id(module)

    def forget(_: object, registered: dict[int, WrappedRoot] = _roots) -> None:
        registered.pop(key, None)  # by its own name: at exit a module's globals are None

    root = WrappedRoot(weakref.ref(module, forget), path, named, module_filter)
    _roots[key] = root
    return root


def remove(module: nn.Module) -> None:
    """Remove a module's root, if it has one."""
    if find(module) is not None:
        del _roots[id(module)]


def alive() -> list[tuple[WrappedRoot, nn.Module]]:
    """Return the roots that exist, outer before inner, else in wrapping order."""
    entries = [(root, root.module()) for root in list(_roots.values())]
    roots = [(root, module) for root, module in entries if module is not None]
    inside = {
        id(module): sum(
            other is not module and any(below is module for below in other.modules())
            for _, other in roots
        )
        for _, module in roots
    }
    return sorted(roots, key=lambda pair: inside[id(pair[1])])


def assign() -> list[Assigned]:
    """Return every module of every root once, parents before children.

    A module that several roots hold goes to the outermost of them that marks it, or simply to the
    outermost.
    """
    chosen: dict[int, Assigned] = {}
    for root, module in alive():
        for node in walk(root.called(module), root.path):
            marked = node.reach != "none" and root.module_filter.admits(node)
            present = chosen.get(id(node.module))
            if present is None or (marked and not present.marked):
                chosen[id(node.module)] = Assigned(root, node, marked)
    return list(chosen.values())


def find_callers() -> None:
    """Find what `torch.compile` returned for roots that were wrapped themselves.

    Nothing but the garbage collector knows; asking it takes tens of milliseconds, so it is asked
    only where something was compiled.
    """
    wrapper = optimized_module()
    by_module = {id(module): root for root, module in alive()}
    if wrapper is None or not by_module:
        return
    callers: dict[int, list[nn.Module]] = {key: [] for key in by_module}
    for thing in gc.get_objects() if may_have_compiled() else ():
        if type(thing) is wrapper:
            callers.get(id(thing._modules.get("_orig_mod")), []).append(thing)
    for key, found in callers.items():
        by_module[key].caller = weakref.ref(found[0]) if len(found) == 1 else None


def compiled() -> list[WrappedRoot]:
    """Return the roots whose calls are compiled into the code around them.

    A module that was compiled in place (`module.compile()`) is marked as a whole, before or after.
    """
    return [
        root
        for root, module in alive()
        if was_inlined(module)
        and root.called(module) is module
        and next(walk(module, root.path)).reach != "call"
    ]


def choose_path(module: nn.Module, name: str | None) -> str:
    """Return a path for a root under which no module of another root lies.

    Raises:
        UsageError: the user's name gives two modules the same path.
    """
    earlier = find(module)
    if name is None and earlier is not None and not earlier.named:
        return earlier.path
    others = [root for root, other in alive() if other is not module]
    is_free = _free(module)
    if name is not None:
        if not is_free(name):
            raise UsageError(
                f"name={name!r} gives two wrapped modules the same path; choose another name"
            )
        return name
    if all(root.path for root in others) and is_free(""):
        return ""
    return class_path(module)


def class_path(module: nn.Module) -> str:
    """Return a path for a root that begins with its class, as of a second one without a name."""
    base = next(walk(module, "")).class_name
    numbered = (f"{base}-{number}" for number in count(2))
    return next(filter(_free(module), chain([base], numbered)))


def _free(module: nn.Module) -> Callable[[str], bool]:
    """Return whether under a path of this root no module of another root lies."""
    own = {id(below) for below in module.modules()}
    taken = {
        node.path
        for root, other in alive()
        if other is not module
        for node in walk(other, root.path)
        if id(node.module) not in own
    }
    return lambda path: taken.isdisjoint(node.path for node in walk(module, path))
