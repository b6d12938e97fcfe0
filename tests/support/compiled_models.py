"""Models in which every Linear and Conv2d has its own shape, so that operands name the module."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

if TYPE_CHECKING:  # it imports the recorder, and some compile without
    from support.recording import Span, Trace

ROWS = 23
"""Rows of every matrix that goes into a Linear; no width is 23."""


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.act, self.second = nn.Linear(10, 17), nn.GELU(), nn.Linear(17, 13)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.act(self.first(x))) * 2


class SwappedMlp(nn.Module):
    """The same graph under other names, two of them in the places of the other model's."""

    def __init__(self) -> None:
        super().__init__()
        self.second, self.act, self.first = nn.Linear(10, 17), nn.GELU(), nn.Linear(17, 13)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.first(self.act(self.second(x))) * 2


class Autocast(Mlp):
    """Products of half precision, with casts around them."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return super().forward(x).float()


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(10, 17), nn.Linear(17, 13)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(nn.functional.gelu(self.up(x)))


class NestedMlp(nn.Module):
    """The same operators again, in modules that are cut in another way."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Inner()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) * 2


class Attention(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(width, inner), nn.Linear(width, inner + 1)
        self.value, self.out = nn.Linear(width, inner + 2), nn.Linear(inner + 2, width + 2)
        self.width, self.inner = width, inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.query(x) @ self.key(x)[:, : self.inner].T
        return self.out(scores.softmax(-1) @ self.value(x))[:, : self.width]


class Block(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, inner)
        self.norm2, self.drop = nn.LayerNorm(width), nn.Dropout(0.1)
        self.mlp = nn.Sequential(
            nn.Linear(width, inner + 4), nn.GELU(), nn.Linear(inner + 4, width + 1)
        )
        self.width = width

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.drop(self.mlp(self.norm2(x))[:, : self.width])


class Transformer(nn.Module):
    def __init__(self, *inner: int, checkpointed: bool = False) -> None:
        super().__init__()
        self.embed, self.head = nn.Linear(9, 16), nn.Linear(16, 5)
        self.blocks = nn.ModuleList([Block(16, width) for width in inner])
        self.checkpointed = checkpointed

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointed else block(x)
        return self.head(x)


class ConvBlock(nn.Module):
    def __init__(self, inward: int, outward: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inward, outward, 3, padding=1, bias=False)
        self.bn, self.act = nn.BatchNorm2d(outward), nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.act(self.bn(self.conv(x)))


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 3)
        self.layers = nn.Sequential(ConvBlock(6, 8), ConvBlock(8, 11))
        self.head = nn.Linear(11, 7)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.reshape(ROWS, 3, 4, 4)
        return self.head(self.layers(self.stem(x)).mean((2, 3)))


class Tied(nn.Module):
    """One module called twice, and a weight in two places."""

    def __init__(self) -> None:
        super().__init__()
        self.inward, self.twice = nn.Linear(10, 14), nn.Linear(14, 14)
        self.outward = nn.Linear(14, 10, bias=False)
        self.outward.weight = nn.Parameter(self.inward.weight.detach().T.contiguous())
        self.again = nn.Linear(10, 21)
        self.tied = nn.Linear(10, 21)
        self.tied.weight = self.again.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.twice(torch.relu(self.twice(self.inward(x))))
        x = self.outward(x)
        return self.again(x).sin() + self.tied(x)


class Known(NamedTuple):
    """A model, its input, and the modules that own an operator, by their shape."""

    make: Callable[[], nn.Module]
    width: int
    same: dict[str, set[str]]
    """Modules that have one shape together."""


MODELS = {
    "mlp": Known(Mlp, 10, {}),
    "transformer": Known(lambda: Transformer(24, 34), 9, {}),
    "checkpoints": Known(lambda: Transformer(24, checkpointed=True), 9, {}),
    "conv": Known(ConvNet, 48, {}),
    "tied": Known(Tied, 10, {"again": {"again", "tied"}, "inward": {"inward", "outward"}}),
    "autocast": Known(Autocast, 10, {}),
    "swapped": Known(SwappedMlp, 10, {}),
    "nested": Known(NestedMlp, 10, {}),
}


def batch(known: Known) -> torch.Tensor:
    return torch.randn(ROWS, known.width, generator=torch.Generator().manual_seed(1))


def train(call: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> None:
    call(x).square().mean().backward()


class Served(NamedTuple):
    """An event of an operator, and the modules that the map gives it."""

    event: Span
    backward: bool
    modules: list[str]
    how: list[int]


JUDGED = ("mm", "addmm", "convolution", "convolution_backward")


def served(trace: Trace) -> Iterator[Served]:
    """Join the events of compiled graphs to the map, by the order of the calls alone."""
    graphs = {(g["key"], g["compile_id"], g["backward"]): g for g in trace.compiled["graphs"]}
    regions = [span for span in trace.spans if span.name.startswith("Torch-Compiled Region: ")]
    numbered = [span for span in trace.spans if span.name.startswith("CompiledFunction")]
    regions_by_number = {}
    for span in sorted(trace.spans, key=lambda span: span.start):
        match = re.fullmatch("## Call CompiledFxGraph (.*) ##", span.name)
        if match is None:
            continue
        node = _innermost(numbered, span)
        number = None if node is None else node.args["Sequence number"]
        backward = node is not None and node.name == "CompiledFunctionBackward"
        if not backward:
            region = _innermost(regions, span)
            assert region is not None
            regions_by_number[number] = region.name.rpartition(" ")[2]
        yield from _joined(trace, span, graphs[match[1], regions_by_number[number], backward])


def _innermost(spans: list[Span], inside: Span) -> Span | None:
    around = [span for span in spans if span.holds(inside)]
    return max(around, key=lambda span: span.start, default=None)


def _joined(trace: Trace, span: Span, graph: dict[str, Any]) -> Iterator[Served]:
    events = [
        each
        for each in sorted(trace.spans, key=lambda each: each.start)
        if span.holds(each) and each.name in {f"aten::{name}" for name in JUDGED}
    ]
    calls = [
        (short, parts)
        for name, extern, parts in graph["calls"]
        if extern and (short := _short(name)) in JUDGED
    ]
    assert [event.name for event in events] == [f"aten::{name}" for name, _ in calls]
    for event, (_, parts) in zip(events, calls, strict=True):
        modules = [_path(graph, index) for index, *_ in parts]
        yield Served(event, graph["backward"], modules, [how for _, how, *_ in parts])


def _short(name: str) -> str:
    return re.sub(r"^(extern_kernels|torch\.ops\.aten|aten)\.|\.default$", "", name)


def _path(graph: dict[str, Any], index: int) -> str:
    if index < 0:
        return graph["root"] or ""
    relative, _, absolute = graph["paths"][index]
    return relative if absolute is None else absolute


def true_modules(model: nn.Module, known: Known, event: Span) -> set[str]:
    """Return the modules that an operator can belong to by the sizes of its operands."""
    dims = [tuple(dim) for dim in event.args["Input Dims"] if dim]
    if "convolution" in event.name:
        owners = _of(model, nn.Conv2d, lambda conv: tuple(conv.weight.shape) in dims)
    else:
        first, second = _operands(event)
        sizes = sorted([*first, second[1]])
        sizes.remove(ROWS)
        if ROWS in sizes:
            inner = sum(sizes) - ROWS
            owners = _of(model, Attention, lambda own: inner in (own.inner, own.inner + 2))
        else:
            owners = _of(model, nn.Linear, lambda linear: sorted(linear.weight.shape) == sizes)
    for each in list(owners):
        owners |= known.same.get(each, set())
    assert owners, (event.name, dims)
    return owners


def _of(model: nn.Module, kind: type, fits: Callable[[Any], bool]) -> set[str]:
    named = model.named_modules()
    return {path for path, module in named if isinstance(module, kind) and fits(module)}


def _operands(event: Span) -> tuple[list[int], list[int]]:
    dims = event.args["Input Dims"]
    first, second = dims[1:3] if event.name == "aten::addmm" else dims[:2]
    return first, second
