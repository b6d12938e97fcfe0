"""Modules of nodes that Inductor has replaced, on drawn graphs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import fx

from tb_hookview.recorder.compiled.labels import EXACT, NEAR, label, remember

ATEN = torch.ops.aten


class Drawn:
    """A graph of a backward, node by node."""

    def __init__(self) -> None:
        self.graph = fx.Graph()

    def given(self, name: str) -> fx.Node:
        return self.graph.placeholder(name)

    def noted(self, module: str | None, target: Any, *args: Any) -> fx.Node:
        """A node as autograd's formula makes it, of a module or of none."""
        stack = None if module is None else {"1": (f"L['self'].{module}", "Linear")}
        return self.lost(target, *args, fwd_nn_module_stack=stack, seq_nr=1)

    def lost(self, target: Any, *args: Any, **meta: Any) -> fx.Node:
        """A node as a replaced pattern has it."""
        node = self.graph.call_function(target, args)
        node.meta = {"partitioner_tag": "is_backward", "stack_trace": "here", **meta}
        return node

    def labels(self) -> dict[str, tuple[str | None, int]]:
        found = label(self.graph, remember(self.graph))
        return {
            node.name: (each.module and each.module.text.removeprefix("L['self']."), each.how)
            for node, each in found.items()
        }


@pytest.mark.parametrize("with_zeros", [False, True])
def test_a_padded_product_of_the_backward_is_of_the_module_that_transposes(
    with_zeros: bool,
) -> None:
    """Inductor pads products of odd sizes before it divides the graph into two."""
    drawn = Drawn()
    tangent, weight = drawn.given("tangent"), drawn.given("weight")
    gradient = drawn.noted("act", ATEN.mul.Tensor, tangent, tangent)
    turned = drawn.noted("fc", ATEN.permute.default, weight, [1, 0])

    def padded(node: fx.Node) -> fx.Node:
        if not with_zeros:
            return drawn.lost(ATEN.constant_pad_nd.default, node, [0, 3])
        zeros = drawn.lost(ATEN.full.default, [3, 3], 0)
        return drawn.lost(ATEN.cat.default, [node, zeros])

    factors = padded(gradient), padded(turned)
    product = drawn.lost(ATEN.mm.default, *factors)
    cut = drawn.lost(ATEN.slice.Tensor, product, 0, 0, -3)
    own = drawn.noted(None, ATEN.cos.default, cut)
    drawn.graph.output(own)
    found = drawn.labels()
    assert found[product.name] == ("fc", EXACT)
    assert [found[node.name] for node in (*factors, cut)] == [("fc", NEAR)] * 3
    assert found[own.name] == (None, EXACT), "code outside of the modules stays its own"


@pytest.mark.parametrize("others", [0, 1])
def test_a_padded_product_is_of_the_module_of_its_gradient_s_other_product(others: int) -> None:
    """The transposes of a saved weight cancel out, and its product with the gradient names nobody.

    Where two layers got the gradient, it is not known whose the product is.
    """
    drawn = Drawn()
    tangent, weight = drawn.given("tangent"), drawn.given("weight")
    gradient = drawn.noted("loss", ATEN.mul.Tensor, tangent, tangent)
    turned = drawn.noted("fc", ATEN.permute.default, gradient, [1, 0])

    def padded(node: fx.Node) -> fx.Node:
        return drawn.lost(ATEN.constant_pad_nd.default, node, [0, 3])

    of_weight = drawn.lost(ATEN.mm.default, padded(turned), padded(drawn.given("input")))
    more = [drawn.lost(ATEN.mm.default, padded(gradient), tangent) for _ in range(others)]
    of_input = drawn.lost(ATEN.mm.default, padded(gradient), padded(weight))
    drawn.graph.output((of_weight, of_input, *more))
    found = drawn.labels()
    assert found[of_weight.name] == ("fc", EXACT)
    assert found[of_input.name] == ((None, NEAR) if others else ("fc", NEAR))


def test_a_padded_product_of_two_modules_is_nobodys() -> None:
    drawn = Drawn()
    turned = [
        drawn.noted(module, ATEN.permute.default, drawn.given(module), [1, 0])
        for module in ("left", "right")
    ]
    product = drawn.lost(ATEN.mm.default, *turned)
    drawn.graph.output(product)
    assert drawn.labels()[product.name] == (None, NEAR)
