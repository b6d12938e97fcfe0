"""Pairs of programs: one that is recorded, and the same with something changed.

A change is a question as `--scale` has it; or what a finding would take out, which has no name
there. Where it needs a factor, that is measured on the changed part alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from known_answers.loaders import batches
from known_answers.timing import in_turns
from known_answers.training import (
    BATCH,
    TOKENS,
    WIDTH,
    Block,
    Checkpointed,
    Scores,
    Training,
    Twice,
    adamw,
    blocks,
    network,
    sgd,
    training,
)
from tb_hookview.analysis.analysis import Analysis
from tb_hookview.analysis.host.rows import Role
from tb_hookview.simulation.changes import Change, together
from tb_hookview.simulation.questions import host_rows, scaled

_CHECKPOINT = "what `checkpoint` does in the forward and for each saved tensor stays"
_WAITING = "waiting is not slowed by recording, and all else is"
_ALONE = 80
"""How often each part is timed that is timed alone."""


Make = Callable[[nn.Module], torch.optim.Optimizer]


class Asked(NamedTuple):
    """A question in words, and what it changes in a trace."""

    words: str
    change: Callable[[Analysis], Change]


class Pair(NamedTuple):
    """A program before and after a change."""

    name: str
    before: Callable[[], Training]
    after: Callable[[], Training]
    question: Callable[[], Asked]
    note: str = ""
    """Why the prediction is off."""


def _scale(**factors: float) -> Callable[[], Asked]:
    return lambda: _scaled(factors)


def _module(path: str, factor: float) -> Callable[[], Asked]:
    return lambda: _scaled({f"module:{path}": factor})


def _scaled(factors: dict[str, float]) -> Asked:
    words = ", ".join(f"{what}={factor:.3g}" for what, factor in factors.items())
    return Asked(words, lambda analysis: scaled(analysis, factors))


def _rows_of(role: Role, factor: float) -> Callable[[Analysis], Change]:
    return lambda analysis: host_rows(analysis, np.flatnonzero(analysis.host.role == role), factor)


def _without(words: str, change: Callable[[Analysis], Change]) -> Callable[[], Asked]:
    return lambda: Asked(words, change)


def _optimizer(before: Make, after: Make) -> Callable[[], Asked]:
    def measured() -> Asked:
        model = network(*blocks())
        old, new = _alone(_update(model, before), _update(model, after))
        return Asked(f"optimizer x {new / old:.2f}", _rows_of(Role.OPTIMIZER, new / old))

    return measured


def _without_module() -> Asked:
    """The first module goes, and the optimizer does not update it."""
    old, new = _alone(_update(network(*blocks()), adamw), _update(_identity_first(), adamw))
    factor = new / old
    return Asked(
        f"module:0=0, optimizer x {factor:.2f}",
        lambda analysis: together(
            [scaled(analysis, {"module:0": 0}), _rows_of(Role.OPTIMIZER, factor)(analysis)]
        ),
    )


def _update(model: nn.Module, make: Make) -> Callable[[], object]:
    optimizer = make(model)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    return optimizer.step


def _replaced(
    paths: Sequence[str],
    before: Callable[[], nn.Module],
    after: Callable[[], nn.Module],
    width: int = WIDTH,
) -> Callable[[], Asked]:
    def measured() -> Asked:
        modules = nn.Identity(), before(), after()
        nothing, old, new = _alone(*(_there_and_back(module, width) for module in modules))
        factor = (new - nothing) / (old - nothing)
        return _scaled({f"module:{path}": factor for path in paths})

    return measured


def _there_and_back(module: nn.Module, width: int) -> Callable[[], object]:
    """Forward and backward of a module."""
    tokens = torch.randn(BATCH, TOKENS, width, requires_grad=True)
    return lambda: module(tokens).sum().backward()


def _alone(*steps: Callable[[], object]) -> list[float]:
    """Milliseconds of parts that take turns, each alone."""
    return in_turns(steps, _ALONE)


def _ready(milliseconds: float) -> Callable[[], Asked]:
    """A loader that always has a batch ready; what taking it costs is measured alone."""

    def measured() -> Asked:
        ready = batches(workers=2)
        slow = batches(milliseconds)
        took, read = _alone(lambda: next(ready), lambda: next(slow))
        return _scaled({"data": took / read})

    return measured


def _wide() -> nn.Module:
    return network(Block(inner=6 * WIDTH))


def _identity_first() -> nn.Module:
    return network(nn.Identity(), *blocks(1))


PAIRS = (
    Pair(
        "batches read in 4 ms -> in memory",
        lambda: training(_wide(), batches(4)),
        lambda: training(_wide()),
        _scale(data=0),
        note=_WAITING,
    ),
    Pair(
        "batches read in 4 ms -> in 2 ms",
        lambda: training(_wide(), batches(4)),
        lambda: training(_wide(), batches(2)),
        _scale(data=0.5),
    ),
    Pair(
        "batches read in 2 ms -> in 6 ms",
        lambda: training(_wide(), batches(2)),
        lambda: training(_wide(), batches(6)),
        _scale(data=3),
    ),
    Pair(
        "batches read in 6 ms by the loop -> by 4 workers",
        lambda: training(_wide(), batches(6)),
        lambda: training(_wide(), batches(6, workers=4)),
        _ready(6),
        note=_WAITING,
    ),
    Pair(
        "batches read in 24 ms by 2 workers -> in memory",
        lambda: training(_wide(), batches(24, workers=2), length=4),
        lambda: training(_wide(), length=4),
        _scale(data=0),
        note="workers slow the host's own work: cores, caches, new memory for each batch",
    ),
    Pair(
        "20 transforms by the loop -> 10",
        lambda: training(network(*blocks(1)), batches(transforms=20)),
        lambda: training(network(*blocks(1)), batches(transforms=10)),
        _scale(data=0.5),
    ),
    Pair(
        "2 blocks -> the first one is an identity",
        lambda: training(network(*blocks())),
        lambda: training(_identity_first()),
        _module("0", 0),
    ),
    Pair(
        "2 blocks, AdamW -> the first one is an identity",
        lambda: training(network(*blocks()), optimizer=adamw),
        lambda: training(_identity_first(), optimizer=adamw),
        _module("0", 0),
        note="the optimizer has less to do, which is no part of the module",
    ),
    Pair(
        "2 blocks, AdamW -> the first one is an identity, and the optimizer has less to do",
        lambda: training(network(*blocks()), optimizer=adamw),
        lambda: training(_identity_first(), optimizer=adamw),
        _without_module,
    ),
    Pair(
        "2 blocks -> the first one applied twice",
        lambda: training(network(*blocks())),
        lambda: training(network(Twice(blocks(1)[0]), *blocks(1))),
        _module("0", 2),
    ),
    Pair(
        "2 blocks -> the first one twice as wide",
        lambda: training(network(*blocks())),
        lambda: training(network(Block(inner=8 * WIDTH), *blocks(1))),
        lambda: _scaled({f"module:0.{part}": 2 for part in ("up", "act", "down")}),
    ),
    Pair(
        "2 blocks -> their norms are identities",
        lambda: training(network(*blocks())),
        lambda: training(network(*blocks(norm=False))),
        lambda: _scaled({f"module:{each}.norm": 0 for each in range(2)}),
        note="without a norm before it the first product needs no gradient of its input",
    ),
    Pair(
        "AdamW, foreach=False -> True",
        lambda: training(network(*blocks()), optimizer=lambda m: adamw(m, foreach=False)),
        lambda: training(network(*blocks()), optimizer=adamw),
        _optimizer(lambda m: adamw(m, foreach=False), adamw),
    ),
    Pair(
        "AdamW -> SGD",
        lambda: training(network(*blocks()), optimizer=adamw),
        lambda: training(network(*blocks())),
        _optimizer(adamw, sgd),
    ),
    Pair(
        "checkpointing -> none",
        lambda: training(network(Checkpointed(*blocks(1)))),
        lambda: training(network(*blocks(1))),
        _scale(recomputation=0),
        note=_CHECKPOINT,
    ),
    Pair(
        "a loop over the batch -> one call",
        lambda: training(network(*blocks(1), loop=True)),
        lambda: training(network(*blocks(1))),
        _replaced(["1"], lambda: Scores(loop=True), lambda: Scores(loop=False)),
    ),
    Pair(
        "2 blocks with GELU -> with ReLU",
        lambda: training(network(*blocks())),
        lambda: training(network(*blocks(act=nn.ReLU))),
        _replaced(["0.act", "1.act"], nn.GELU, nn.ReLU, 4 * WIDTH),
    ),
    Pair(
        "a block of half the width -> applied four times",
        lambda: training(network(Block(inner=2 * WIDTH))),
        lambda: training(network(Twice(Twice(Block(inner=2 * WIDTH))))),
        _module("0", 4),
        note="each further time takes less than the first: gradients are accumulated once",
    ),
    Pair(
        "checkpointing of a wide block -> none",
        lambda: training(network(Checkpointed(Block(inner=6 * WIDTH)))),
        lambda: training(_wide()),
        _scale(recomputation=0),
        note=_CHECKPOINT,
    ),
    Pair(
        "gradients clipped one by one -> not clipped",
        lambda: training(network(*blocks()), clip=True),
        lambda: training(network(*blocks())),
        _without("clipping = 0", _rows_of(Role.FUNCTION_MARK, 0)),
    ),
    Pair(
        "20 transforms and checkpointing -> neither",
        lambda: training(network(Checkpointed(*blocks(1))), batches(transforms=20)),
        lambda: training(network(*blocks(1))),
        _scale(data=0, recomputation=0),
        note=_CHECKPOINT,
    ),
)
