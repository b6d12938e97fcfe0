"""Small models, one for each feature of modules, and a training step of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from support.harmless import Options, Run, sum_backward
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

ROWS = sum_backward(6, 4)


class Case(NamedTuple):
    """A model and a training step of it."""

    make: Callable[[], nn.Module]
    run: Run = ROWS
    profile: Options | None = None


class InPlace(nn.Module):
    """In-place operations inside modules and on their outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.first(x)
        out += x
        return self.second(self.act(out)).mul_(3)


class ThroughViews(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = super().forward(x)
        out[:, 1:] *= 2
        return out.view(-1).mul_(3)


class Half(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[:, :2]


class Halves(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x[:, :2], x[:, 2:]


class ViewOfAnInput(nn.Module):
    """A module returns a view of its input; both are changed in place afterwards."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.left, self.both = nn.Linear(4, 4), Half(), Halves()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        whole = self.fc(x)
        half = self.left(whole)
        half.mul_(2)
        whole.add_(1)
        left, right = self.both(whole)
        return left * right + half


class Chunks(nn.Linear):
    """Two outputs of one node."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return super().forward(x).chunk(2, dim=1)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(7, 4, sparse=False), nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.embed((x.abs() * 3).long().clamp(max=6)))


class Shared(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = self.a

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(20):
            x = self.b(self.a(x))
        return x


class Frozen(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4))
        self[0].requires_grad_(False)


class Structured(nn.Module):
    """Keyword inputs; dict, tuple and None outputs; a module that is never called."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.unused = Inner(), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> dict[str, object]:
        first, second, nothing = self.inner(x=x, scale=2)
        return {"a": first, "b": (second, nothing), "c": [first * second]}


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, *, x: torch.Tensor, scale: int) -> tuple[torch.Tensor, torch.Tensor, None]:
        return self.fc(x), self.fc(x) * scale, None


@dataclass
class Answer:
    first: torch.Tensor
    second: torch.Tensor | None = None


class Answers(nn.Linear):
    def forward(self, x: torch.Tensor) -> Answer:
        return Answer(super().forward(x))


class Pieces(nn.Linear):
    def forward(self, x: torch.Tensor) -> Iterator[torch.Tensor]:
        return (row.exp() for row in super().forward(x))


class Generating(nn.Module):
    """A module returns a generator, whose work is done outside of its call."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces = Pieces(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.stack(list(self.pieces(x)))


class Spectrum(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.fft.rfft(super().forward(x))


class Complex(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.spectrum = Spectrum(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.spectrum(x).abs()


class Chosen(nn.Linear):
    """Integers, which have no gradient, next to floats; and a detached output."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        out = super().forward(x)
        values, indices = out.max(dim=1)
        return values, indices, out.detach()


class Compressed(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x).to_sparse()


class SparseOutput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.compressed = Compressed(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sparse.sum(self.compressed(x), dim=1).to_dense()


class Positions(nn.Module):
    """Returns its own parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self) -> torch.Tensor:
        return self.weight


class ReturnsItsParameter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.positions, self.same, self.fc = Positions(), nn.Identity(), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.same(self.fc(self.same(x) + self.positions()))


class Tagged(torch.Tensor):
    """A tensor of a class of its own, which every operation keeps."""


class Tagging(nn.Linear):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x).as_subclass(Tagged)


class Subclassed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tag, self.fc = Tagging(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.fc(self.tag(x))
        assert type(out) is Tagged
        return out.as_subclass(torch.Tensor)


class Jagged(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        nested = torch.nested.as_nested_tensor([x[:2], x[2:]], layout=torch.jagged)
        return self.fc(nested).values()


class Direct(nn.Module):
    """Calls the `forward` of a part, which leaves out every hook."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc.forward(x)


class Checkpointed(nn.Module):
    def __init__(self, *, reentrant: bool) -> None:
        super().__init__()
        self.reentrant = reentrant
        self.block = nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True), nn.Linear(4, 4))
        self.drop = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = checkpoint(self.block, x, use_reentrant=self.reentrant)
        return checkpoint(self.drop, inner, use_reentrant=self.reentrant)


class CheckpointedParts(nn.Module):
    """Segments of a Sequential, and a function that calls a module and more."""

    def __init__(self) -> None:
        super().__init__()
        blocks = (nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 4), nn.ReLU()) for _ in range(4))
        self.blocks = nn.Sequential(*blocks)
        self.last = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = checkpoint_sequential(self.blocks, 2, x, use_reentrant=False)
        return checkpoint(lambda y: self.last(y.tanh()) * 2, x, use_reentrant=False)


class Nested(nn.Module):
    def __init__(self, *, reentrant: bool = False) -> None:
        super().__init__()
        self.inner, self.last = Checkpointed(reentrant=reentrant), nn.Linear(4, 4)
        self.reentrant = reentrant

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(checkpoint(self.inner, x, use_reentrant=self.reentrant))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 3, num_layers=2, batch_first=True, dropout=0.3)

    def forward(self, x: torch.Tensor) -> object:
        return self.lstm(x[None])


def attention() -> nn.Module:
    layer = nn.TransformerEncoderLayer(4, 2, dim_feedforward=8, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def parametrized() -> nn.Module:
    return nn.Sequential(
        parametrizations.weight_norm(nn.Linear(4, 4)),
        parametrizations.orthogonal(nn.Linear(4, 4)),
        parametrizations.spectral_norm(nn.Linear(4, 4)),
    )


def embed(model: nn.Module) -> object:
    out = model(torch.tensor([1, 2, 2]))
    out.sum().backward()
    return out


def through_cross_entropy(model: nn.Module) -> object:
    functional.cross_entropy(model(torch.randn(6, 4)), torch.arange(6) % 4).backward()
    return None


def keyword(model: nn.Module) -> Any:
    out = model(input=torch.randn(3, 4))
    out.sum().backward()
    return out


def first_conv(model: nn.Module) -> object:
    out = model(torch.randn(2, 3, 4))
    out.sum().backward()
    return out


CASES: dict[str, Case] = {
    "in-place operations inside modules and on their outputs": Case(InPlace),
    "in-place operations through views": Case(lambda: ThroughViews(4, 4)),
    "views of inputs, changed in place later": Case(ViewOfAnInput),
    "tied weights": Case(Tied),
    "a shared module, called 40 times": Case(Shared),
    "frozen layers and batch norm": Case(Frozen),
    "keyword inputs; dict, tuple and None outputs; a module never called": Case(Structured),
    "a root called with keywords only": Case(lambda: nn.Linear(4, 4), keyword),
    "a dataclass output": Case(lambda: nn.Sequential(Answers(4, 4))),
    "two outputs of one node": Case(lambda: nn.Sequential(Chunks(4, 4))),
    "a generator as output": Case(Generating),
    "complex outputs": Case(Complex),
    "integer and detached outputs": Case(lambda: nn.Sequential(Chosen(4, 4))),
    "sparse outputs": Case(SparseOutput),
    "jagged tensors": Case(Jagged),
    "a module that returns its own parameter, or its input": Case(ReturnsItsParameter),
    "a tensor subclass": Case(Subclassed),
    "a part whose `forward` is called directly": Case(Direct),
    "reentrant checkpoint": Case(lambda: Checkpointed(reentrant=True)),
    "checkpoint": Case(lambda: Checkpointed(reentrant=False)),
    "checkpoint_sequential, and a checkpoint of a function": Case(CheckpointedParts),
    "nested checkpoints": Case(Nested),
    "nested reentrant checkpoints": Case(lambda: Nested(reentrant=True)),
    "LSTM": Case(Recurrent),
    "transformer encoder of torch's own": Case(attention, sum_backward(2, 3, 4)),
    "parametrizations (weight, spectral norm, orthogonal)": Case(parametrized),
    "sparse gradients": Case(lambda: nn.Sequential(nn.Embedding(5, 4, sparse=True)), embed),
    "convolution on an input without gradient": Case(
        lambda: nn.Sequential(nn.Conv1d(3, 2, 1)), first_conv
    ),
    "a loss outside of the model": Case(
        lambda: nn.Sequential(nn.Linear(4, 4)), through_cross_entropy
    ),
}
