"""Modules of the nodes of an FX graph, also of those that Inductor has replaced."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tb_hookview.recorder.compiled.stacks import (
    BACKWARD,
    Module,
    has_lost_stack,
    innermost,
    operator_name,
)

EXACT, NEAR = 0, 1


class Label(NamedTuple):
    """The module of a node."""

    module: Module | None
    """None for the region's own code."""
    how: int
    """EXACT where torch noted it, NEAR where it is a neighbour's."""


_PRODUCTS = frozenset(["mm", "addmm", "bmm", "baddbmm"])
_TRANSPOSES = frozenset(["permute", "t", "transpose"])


@dataclass(frozen=True)
class Before:
    """What a graph said of its nodes before Inductor changed it."""

    nodes: frozenset[Any]
    own: frozenset[Any]
    """Nodes of code outside of all modules."""
    products: Mapping[Any, set[Module | None]]
    """Modules of matrix products: by each factor, and by both."""


def remember(graph: Any) -> Before:
    """Return what is to be known later about a graph that Inductor is about to change."""
    operators = [node for node in graph.nodes if node.op == "call_function"]
    own = frozenset(
        node
        for node in operators
        if innermost(node) is None
        and node.meta.get("stack_trace")
        and not node.meta.get("is_gradient_acc")
        and not has_lost_stack(node)
    )
    products: defaultdict[Any, set[Module | None]] = defaultdict(set)
    for node in operators:
        if operator_name(node) in _PRODUCTS and len(node.args) > 1 and not has_lost_stack(node):
            factors = tuple(node.args[-2:])
            for each in (*factors, factors):
                products[each].add(innermost(node))
    return Before(frozenset(graph.nodes), own, products)


def label(graph: Any, before: Before) -> dict[Any, Label]:
    """Return the label of every operator of a graph.

    Inductor's replacements of patterns drop the metadata. A matrix product is known by its
    factors again; what pads these is the product's, and any other such node gets its neighbours'
    module.

    Args:
        graph: the FX graph that the kernels were made from.
        before: what it said before Inductor changed it.
    """
    labels: dict[Any, Label] = {}
    unknown = []
    for node in graph.nodes:
        if node.op not in ("call_function", "call_method", "call_module"):
            continue
        module = innermost(node)
        if module is not None or node in before.own:
            labels[node] = Label(module, EXACT)
        elif operator_name(node) in _PRODUCTS:
            labels[node] = _product(node, before)
        else:
            unknown.append(node)
    _share_gradients(labels, before)
    for node in reversed(unknown):
        if has_lost_stack(node):
            _take(labels, node, filter(has_lost_stack, node.users))
    unknown = [node for node in unknown if node not in labels]
    # In order of the graph a chain of them is filled from what feeds it, else from what it feeds.
    for node in unknown:
        _take(labels, node, node.all_input_nodes)
    for node in reversed(unknown):
        if node not in labels:
            _take(labels, node, node.users)
    return labels


def _product(node: Any, before: Before) -> Label:
    """Return the label of a product that replaced another one; a guess would cost too much."""
    factors = tuple(_unpadded(factor, before) for factor in node.args[-2:])
    if len(both := before.products.get(factors, set())) == 1:
        return Label(next(iter(both)), EXACT)
    each = [before.products.get(factor, set()) for factor in factors]
    found = set[Module | None]().union(*(modules for modules in each if len(modules) == 1))
    # The backward of a product transposes a factor, as the same module's.
    found = found or {
        innermost(factor)
        for factor in factors
        if operator_name(factor) in _TRANSPOSES and factor.meta.get(BACKWARD)
    }
    return Label(found.pop(), EXACT) if len(found) == 1 else Label(None, NEAR)


def _share_gradients(labels: dict[Any, Label], before: Before) -> None:
    """Give replaced products of the backward the module of the other product of their gradient.

    Of a layer's two products the weight's transposes the gradient, and the input's does not.
    """
    products: defaultdict[tuple[Any, bool], list[Any]] = defaultdict(list)
    for node in labels:
        if operator_name(node) in _PRODUCTS:
            for factor in (_unpadded(each, before) for each in node.args[-2:]):
                turned = operator_name(factor) in _TRANSPOSES
                gradient = _unpadded(factor.args[0], before) if turned else factor
                products[gradient, turned].append(node)
    for (gradient, turned), found in list(products.items()):
        others = products.get((gradient, not turned), [])
        if len(found) == len(others) == 1:
            (node,), (other,) = found, others
            if labels[node].module is None and has_lost_stack(node):
                labels[node] = Label(labels[other].module, NEAR)


def _unpadded(factor: Any, before: Before) -> Any:
    """Return the factor that was there before Inductor padded it."""
    while factor not in before.nodes or has_lost_stack(factor):
        filled = [each for each in factor.all_input_nodes if not _is_constant(each)]
        if len(filled) != 1:
            break
        factor = filled[0]
    return factor


def _is_constant(node: Any) -> bool:
    return node.op == "call_function" and not node.all_input_nodes


def _take(labels: dict[Any, Label], node: Any, neighbours: Iterable[Any]) -> None:
    known = [labels[n] for n in neighbours if n in labels]
    chosen = next((each for each in known if each.module is not None), None)
    if chosen is None and known:
        chosen = known[0]
    if chosen is not None:
        labels[node] = Label(chosen.module, NEAR)
