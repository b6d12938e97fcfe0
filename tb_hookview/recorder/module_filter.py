"""Filters the modules to mark, by the include, exclude and depth of `wrap`."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from torch import nn

from tb_hookview.errors import UsageError
from tb_hookview.recorder.tree import Node

Markers = Literal["auto", "module", "forward"]
Pattern = str | type[nn.Module]
Patterns = Pattern | Iterable[Pattern]

_ROOT = "."


@dataclass(frozen=True)
class ModuleFilter:
    """The checked options of one `wrap` call."""

    include: tuple[Pattern, ...] | None
    exclude: tuple[Pattern, ...]
    depth: int | None
    markers: Markers

    def admits(self, node: Node) -> bool:
        """Return whether a module gets marks of its own."""
        return (
            (self.depth is None or node.depth <= self.depth)
            and (self.include is None or any(_matches(p, node) for p in self.include))
            and not any(_matches(p, node) for p in self.exclude)
        )

    def require_matches(self, nodes: list[Node]) -> None:
        """Raise UsageError where an include pattern matches none of the modules."""
        for pattern in self.include or ():
            if not any(_matches(pattern, node) for node in nodes):
                raise UsageError(_no_match(pattern, nodes))


def parse_filter(
    include: Patterns | None, exclude: Patterns | None, depth: int | None, markers: str
) -> ModuleFilter:
    """Check the options of `wrap`; raise UsageError for a wrong one."""
    if markers not in get_args(Markers):
        known = ", ".join(repr(m) for m in get_args(Markers))
        raise UsageError(f"unknown markers {markers!r}; one of {known} is expected")
    if depth is not None and (not isinstance(depth, int) or isinstance(depth, bool) or depth < 0):
        raise UsageError(
            f"depth is {depth!r}; a whole number of levels below the root, or None for all, "
            "is expected"
        )
    return ModuleFilter(
        include=None if include is None else _patterns("include", include),
        exclude=() if exclude is None else _patterns("exclude", exclude),
        depth=depth,
        markers=markers,  # type: ignore[arg-type]  # one of the literal's values, checked above
    )


def _patterns(option: str, given: Patterns) -> tuple[Pattern, ...]:
    if isinstance(given, str | type):
        given = (given,)
    if not isinstance(given, Iterable):
        raise UsageError(f"{option} is {given!r}; path patterns or module classes are expected")
    patterns = tuple(given)
    for pattern in patterns:
        is_class = isinstance(pattern, type) and issubclass(pattern, nn.Module)
        if not is_class and not isinstance(pattern, str):
            raise UsageError(
                f"{option} holds {pattern!r}; a path pattern such as 'blocks.*.attn' or a class "
                "of modules is expected"
            )
    return patterns


def _matches(pattern: Pattern, node: Node) -> bool:
    if isinstance(pattern, str):
        return fnmatch.fnmatchcase(node.path or _ROOT, pattern)
    return isinstance(node.module, pattern)


def _no_match(pattern: Pattern, nodes: list[Node]) -> str:
    if isinstance(pattern, str):
        wanted, known = pattern, [node.path or _ROOT for node in nodes]
    else:
        wanted, known = pattern.__name__, [node.class_name for node in nodes]
    close = difflib.get_close_matches(wanted, list(dict.fromkeys(known)), n=3, cutoff=0.5)
    hint = "close: " + ", ".join(close) if close else f"there are {', '.join(known[:3])}, ..."
    return f"include={wanted!r} matches no module ({hint})"
