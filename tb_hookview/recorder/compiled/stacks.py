"""Modules of a node of an FX graph, as Dynamo noted them in the node's metadata."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_FORWARD = "nn_module_stack"
BACKWARD = "fwd_nn_module_stack"
"""Modules of the forward node that a backward node differentiates."""

_MODULES = re.compile(r"\._(?:modules|parameters|buffers)(?=[\[.])")
_INDEX = re.compile(r"\[(['\"]?)([^\]'\"]+)\1\]")
_HEAD = re.compile(r"[LG]\[(['\"])(.+?)\1\]")


class Module(NamedTuple):
    """A module of a compiled region."""

    text: str
    """Where Dynamo found it, "L['self'].blocks.0"."""
    module_class: str


class StackModule(NamedTuple):
    """A module in a node's stack, with the identity it had as it was compiled."""

    module: Module
    identity: int | None


def stack(node: Any) -> tuple[StackModule, ...]:
    """Return the modules whose code made a node, outermost first."""
    noted = node.meta.get(_FORWARD) or node.meta.get(BACKWARD) or {}
    return tuple(_entries(noted))


def _entries(noted: dict[str, tuple[str, Any]]) -> Iterator[StackModule]:
    for key, (text, module_class) in noted.items():
        name = module_class if isinstance(module_class, str) else module_class.__name__
        name = name.rpartition(".")[2]
        if name == "OptimizedModule":  # torch.compile's own, around the module that it compiles
            continue
        number = str(key).partition("@")[0]
        identity = int(number) if number.isdecimal() else None
        yield StackModule(Module(normalized(text), name), identity)


def normalized(text: str) -> str:
    """Return a source of Dynamo's with plain dots, the way `named_modules()` writes a path."""
    head, rest = split(text)
    rest = _INDEX.sub(r".\2", _MODULES.sub("", rest))
    return head + rest.replace("._orig_mod", "")


def split(text: str) -> tuple[str, str]:
    """Return the variable of the frame that a source begins with, and the rest."""
    match = _HEAD.match(text)
    return ("", text) if match is None else (match[0], text[match.end() :])


def variable(head: str) -> str:
    """Return the name in "L['name']"."""
    match = _HEAD.fullmatch(head)
    return "" if match is None else match[2]


def innermost(node: Any) -> Module | None:
    """Return the module whose own code made a node; None for code outside of them all."""
    entries = stack(node)
    return entries[-1].module if entries else None


def has_lost_stack(node: Any) -> bool:
    """Whether a node replaces one of the backward: replacements get all of it but its modules."""
    noted = node.meta.keys() & {_FORWARD, BACKWARD, "seq_nr"}
    return node.meta.get("partitioner_tag") == "is_backward" and not noted


def operator_name(node: Any) -> str:
    """Return an operator's name without its library and overload."""
    if node.target is operator.getitem:
        return "getitem"
    name = getattr(node.target, "__name__", str(node.target))
    return str(name).partition(".")[0]
