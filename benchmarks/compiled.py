"""Compiled models recorded here: how much of their graphs is on modules, and what gaps are.

    python benchmarks/compiled.py [--quick]

Prints Markdown. The shares are of the host time of the graphs' calls, as in `report.compiled`.
Gaps are between neighbouring rows of a graph. With Python's frames in the trace, each generated
kernel of a CPU is one, and so is each function that prepares a call: these say what ran in a gap.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from common import page
from common.markdown import table
from torch import nn

import tb_hookview as hookview
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.arrays.types import Int
from tb_hookview.loading import load
from tb_hookview.report.build import build_report
from tb_hookview.schema import PlacedTime
from tb_hookview.trace import EventCategory

_PROGRAM = "compiled"
_STEPS = 5


class Attention(nn.Module):
    """Attention whose products and softmax are its own code."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads = heads

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """As `nn.Module.forward`."""
        rows, length, width = x.shape
        parts = self.qkv(x).reshape(rows, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        weights = (query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5).softmax(-1)
        return self.out((weights @ value).transpose(1, 2).reshape(rows, length, width))


class Block(nn.Module):
    """A block of a transformer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, 4)
        self.norm2, self.drop = nn.LayerNorm(width), nn.Dropout(0.1)
        self.fc1, self.act, self.fc2 = (
            nn.Linear(width, 4 * width),
            nn.GELU(),
            nn.Linear(4 * width, width),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """As `nn.Module.forward`."""
        x = x + self.attention(self.norm1(x))
        return x + self.drop(self.fc2(self.act(self.fc1(self.norm2(x)))))


class ConvBlock(nn.Module):
    """A convolution with batch norm."""

    def __init__(self, inward: int, outward: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(inward, outward, 3, padding=1, bias=False)
        self.bn, self.act = nn.BatchNorm2d(outward), nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """As `nn.Module.forward`."""
        return self.act(self.bn(self.conv(x)))


def _transformer() -> nn.Module:
    return nn.Sequential(*[Block(128) for _ in range(4)], nn.LayerNorm(128), nn.Linear(128, 32))


def _conv() -> nn.Module:
    blocks = [ConvBlock(3, 32), ConvBlock(32, 32), ConvBlock(32, 64)]
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "transformer, 4 blocks": (_transformer, (8, 64, 128)),
    "conv net with batch norm": (_conv, (8, 3, 32, 32)),
}


def main(argv: Sequence[str]) -> int:
    """Record each model twice, without and with Python's frames, and print the tables."""
    options = page.arguments_of(__doc__).parse_args(argv)
    load_before = page.load_now()
    torch.set_num_threads(1)
    shares, gaps = [], []
    for name, (make, shape) in MODELS.items():
        page.say(name)
        torch.manual_seed(0)
        model = torch.compile(make())
        hookview.wrap(model)
        x, steps = torch.randn(shape), 1 if options.quick else _STEPS
        for _ in range(2):
            train(model, x)
        shares += _shares(name, _recorded(model, x, steps, with_stack=False))
        gaps += _gaps(name, _recorded(model, x, steps, with_stack=True))
    parts = [
        page.measured_on(_PROGRAM, argv, load_before),
        table(("model", "direction", "placed", *_PARTS), shares, left=2),
        table(("model", "kernels between", "gaps", "of the graphs", *_SIDES), gaps, left=2),
    ]
    page.publish(_PROGRAM, parts, [], options.write)
    return 0


def train(model: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> None:
    """Run one step, without an optimizer."""
    model(x).square().mean().backward()


def _recorded(
    model: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, steps: int, *, with_stack: bool
) -> Analysis:
    with tempfile.TemporaryDirectory() as folder:
        with hookview.profile(folder, with_stack=with_stack):
            for _ in range(steps):
                train(model, x)
        (path,) = Path(folder).glob("*.json.gz")
        return load(path)


_PARTS = ("on leaf modules", "on containers", "split", "near")


def _shares(name: str, analysis: Analysis) -> Iterator[list[str]]:
    compiled = build_report(analysis).data.compiled
    if compiled is None or compiled.placed != compiled.calls:
        raise SystemExit(f"{name}: calls of graphs without modules: {compiled}")
    for direction, found in (("forward", compiled.forward), ("backward", compiled.backward)):
        yield [name, direction, *(f"{100 * part:.1f}" for part in _parts(found))]


def _parts(found: PlacedTime) -> Iterator[float]:
    yield found.placed_host_us / found.host_us
    on_containers = found.placed_host_us - found.leaf_host_us
    for part in (found.leaf_host_us, on_containers, found.split_host_us, found.near_host_us):
        yield part / found.placed_host_us


_SIDES = ("kernels", "end of the earlier call", "start of the later", "buffers", "Python")
"""What runs in a gap: built-in functions that reach into it, or are in it; Python is the rest."""


def _gaps(name: str, analysis: Analysis) -> Iterator[list[str]]:
    """Percent of gaps with and without a generated kernel in them, by the frames they hold."""
    if analysis.compiled is None:
        raise SystemExit(f"{name}: no map of compiled graphs")
    tree, first = analysis.call_tree, _neighbours(analysis)
    since, until = tree.end[first[:, 0]], tree.start[first[:, 1]]
    events = analysis.trace.events
    frame = np.flatnonzero(events.kind == EventCategory.PYTHON)
    names = [analysis.trace.strings[text] for text in events.name[frame].tolist()]
    built_in = np.array([each.startswith("<built-in") for each in names], bool)
    kernel = np.array([each == "<built-in function kernel>" for each in names], bool)[built_in]
    frame = frame[built_in]
    start, end = events.start[frame], events.end[frame]
    sums = np.zeros((2, len(_SIDES)), np.int64)
    counts = [0, 0]
    for low, high in zip(since.tolist(), until.tolist(), strict=True):
        within = ~((start < low) & (end > high))  # the frames around the graph hold all of it
        time = np.maximum(np.minimum(end, high) - np.maximum(start, low), 0) * within
        side = np.where(kernel, 0, np.where(start < low, 1, np.where(end > high, 2, 3)))
        parts = np.bincount(side, time, minlength=len(_SIDES)).astype(np.int64)
        parts[-1] = high - low - parts.sum()
        holds = int(parts[0] > 0)
        counts[holds] += 1
        sums[holds] += parts
    graphs = int(tree.duration[analysis.compiled.placement.calls.row].sum())
    for holds, total in enumerate(sums.sum(axis=1).tolist()):
        shares = (f"{100 * part / max(total, 1):.0f}" for part in sums[holds].tolist())
        yield [
            name,
            "yes" if holds else "no",
            str(counts[holds]),
            f"{100 * total / graphs:.1f}",
            *shares,
        ]


def _neighbours(analysis: Analysis) -> Int:
    """Pairs of neighbouring rows directly inside of one graph's call, both with a call."""
    compiled, tree = analysis.compiled, analysis.call_tree
    if compiled is None:
        return np.zeros((0, 2), np.int64)
    graphs = compiled.placement.calls.row
    rows = np.flatnonzero(np.isin(tree.parent, graphs) & (compiled.placement.row_call >= 0))
    pairs = np.stack([rows[:-1], rows[1:]], axis=1)
    return pairs[tree.parent[pairs[:, 0]] == tree.parent[pairs[:, 1]]]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
