"""Faults of trainings on a CPU alone, each with its fix."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812 - its usual name

from sample_traces import models
from sample_traces.scenario import Expected, Scenario, Setting, Training, Variant

_WIDTH = 64
_TOO_MANY = 64
_COUNT = 36
"""Windows of a row."""
_KEPT: list[dict[str, list[int]]] = []
"""Objects of a data set in memory, which every full collection goes through."""


def _scenario(
    name: str,
    title: str,
    rule: str,
    build: Callable[..., Training],
    variants: tuple[str, str],
    on_cpu: str,
    *,
    module: str | None = None,
    tolerance: float | None = 1e-4,
    conditions: Callable[[int], Any] | None = None,
    environment: dict[str, str] | None = None,
    steps: int = 4,
) -> Scenario:
    """Return a pair: with the fault, where `build` is given True, and without."""
    return Scenario(
        name,
        title,
        tuple(
            Variant(
                variant,
                lambda setting, wrong=wrong: build(setting, wrong=wrong),
                (Expected((rule,), module, needs_device=False),) if wrong else (),
                **({"conditions": conditions(wrong)} if conditions else {}),
            )
            for variant, wrong in zip(variants, (True, False), strict=True)
        ),
        tolerance=tolerance,
        on_cpu=on_cpu,
        cpu_only=True,
        environment=environment or {},
        steps=steps,
    )


def _perceptron(setting: Setting, depth: int = 2) -> tuple[nn.Module, Any]:
    model = models.Perceptron(_WIDTH, _WIDTH, depth, 16)
    return model, models.vectors(setting, 256, _WIDTH, 16)


def _training(model: nn.Module, batch: Any, **options: Any) -> Training:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    return Training(models.training_step(model, optimizer, lambda: batch, **options), model)


class _Layer(nn.Module):
    """A linear layer; one of them compares all rows with one another, and drops the result."""

    def __init__(self, *, compares: bool) -> None:
        super().__init__()
        self.linear = nn.Linear(_WIDTH, _WIDTH)
        self.compares = compares

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = rows + F.relu(self.linear(rows))
        if self.compares:
            out = out + 0 * (out[:, None] - out[None]).abs().mean()
        return out


def _layers(setting: Setting, *, wrong: bool) -> Training:
    layers = [_Layer(compares=wrong and number == 2) for number in range(5)]
    model = nn.Sequential(*layers, nn.Linear(_WIDTH, 16))
    return _training(model, models.vectors(setting, 128, _WIDTH, 16))


class _Reports(nn.Module):
    """A perceptron that keeps the largest of its weights, by Python or by an operator."""

    def __init__(self, *, by_python: bool) -> None:
        super().__init__()
        self.body = models.Perceptron(_WIDTH, _WIDTH, 2, 16)
        self.largest, self.by_python = 0.0, by_python

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.body(rows)
        weight = torch.cat([each.detach().flatten() for each in self.body.parameters()])
        if self.by_python:
            self.largest = max(abs(value) ** 0.5 for value in weight.tolist())
        else:
            self.largest = weight.abs().max().sqrt().item()
        return scores


def _reports(setting: Setting, *, wrong: bool) -> Training:
    return _training(_Reports(by_python=wrong), models.vectors(setting, 256, _WIDTH, 16))


@torch.library.custom_op("sample_traces::hinge", mutates_args=())
def _hinge(rows: torch.Tensor) -> torch.Tensor:
    """ReLU that goes through the elements in Python."""
    kept = [[value if value > 0 else 0.0 for value in row] for row in rows.tolist()]
    return torch.tensor(kept, dtype=rows.dtype)


_hinge.register_autograd(
    lambda ctx, gradient: gradient * (ctx.saved_tensors[0] > 0),
    setup_context=lambda ctx, inputs, **_: ctx.save_for_backward(*inputs),
)


class _Hinge(nn.Module):
    """ReLU by an operator of its own, or by torch's."""

    def __init__(self, *, own: bool) -> None:
        super().__init__()
        self.own = own

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = _hinge(rows) if self.own else F.relu(rows)
        return found


def _hinges(setting: Setting, *, wrong: bool) -> Training:
    model = nn.Sequential(nn.Linear(_WIDTH, _WIDTH), _Hinge(own=wrong), nn.Linear(_WIDTH, 16))
    return _training(model, models.vectors(setting, 256, _WIDTH, 16))


class _Windows(nn.Module):
    """Means of windows of each row, one window at a time or all at once."""

    def __init__(self, *, one_by_one: bool) -> None:
        super().__init__()
        self.one_by_one = one_by_one

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        if self.one_by_one:
            starts = range(0, rows.shape[1], 4)
            return torch.stack([rows[:, start : start + 4].mean(1) for start in starts], 1)
        return rows.unflatten(1, (-1, 4)).mean(2)


def _windows(setting: Setting, *, wrong: bool) -> Training:
    model = nn.Sequential(
        nn.Linear(_WIDTH, 4 * _COUNT), _Windows(one_by_one=wrong), nn.Linear(_COUNT, 16)
    )
    return _training(model, models.vectors(setting, 64, _WIDTH, 16))


def _collects(setting: Setting, *, wrong: bool) -> Training:
    model, batch = _perceptron(setting)
    if not _KEPT:
        _KEPT.extend({"tokens": [number]} for number in range(20_000))
    training = _training(model, batch)

    def step() -> torch.Tensor:
        loss = training.step()
        if wrong:
            gc.collect()
        return loss

    return Training(step, model)


def _dense(_: Setting, *, wrong: bool) -> Training:
    model = nn.Sequential(
        nn.Embedding(40_000, 32, sparse=not wrong),
        nn.Flatten(),
        nn.Linear(32 * 8, 16),
    )
    words = torch.randint(40_000, (32, 8))
    return _training(model, (words, torch.randint(16, (32,))))


def _densified(_: Setting, *, wrong: bool) -> Training:
    model = nn.Sequential(
        nn.Embedding(40_000, 32, sparse=True), nn.Flatten(), nn.Linear(32 * 8, 16)
    )
    words, labels = torch.randint(40_000, (32, 8)), torch.randint(16, (32,))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    weight = model[0].weight

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(words), labels)
        loss.backward()
        if wrong:
            weight.grad = weight.grad.to_dense()
        optimizer.step()
        return loss.detach()

    return Training(step, model)


class _Experts(nn.Module):
    """Two experts for each row; their outputs are summed element by element, or by rows."""

    def __init__(self, *, by_element: bool) -> None:
        super().__init__()
        self.gate = nn.Linear(_WIDTH, 4)
        self.experts = nn.ModuleList(nn.Linear(_WIDTH, _WIDTH) for _ in range(4))
        self.by_element = by_element

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        weight, chosen = self.gate(rows).softmax(-1).topk(2)
        out = torch.zeros_like(rows)
        for number, expert in enumerate(self.experts):
            row, place = (chosen == number).nonzero(as_tuple=True)
            result = expert(rows.index_select(0, row)) * weight[row, place, None]
            if self.by_element:
                column = torch.arange(_WIDTH).expand(len(row), -1).flatten()
                at = row[:, None].expand(-1, _WIDTH).flatten(), column
                out = out.index_put(at, result.flatten(), accumulate=True)
            else:
                out = out.index_add(0, row, result)
        return out


def _combined(setting: Setting, *, wrong: bool) -> Training:
    model = nn.Sequential(_Experts(by_element=wrong), nn.Linear(_WIDTH, 16))
    return _training(model, models.vectors(setting, 512, _WIDTH, 16))


def _double(setting: Setting, *, wrong: bool) -> Training:
    model, (rows, labels) = _perceptron(setting)
    kind = torch.float64 if wrong else torch.float32
    return _training(model.to(kind), (rows.to(kind), labels))


class _Attention(nn.Module):
    """Attention of one head by its parts, or by torch's operator."""

    def __init__(self, *, by_parts: bool) -> None:
        super().__init__()
        self.qkv = nn.Linear(_WIDTH, 3 * _WIDTH)
        self.by_parts = by_parts

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        split = self.qkv(tokens).unflatten(2, (3, 2, -1)).permute(2, 0, 3, 1, 4)
        query, key, value = split.unbind(0)
        if self.by_parts:
            scores = query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5
            mixed = scores.softmax(-1) @ value
        else:
            mixed = F.scaled_dot_product_attention(query, key, value)
        return mixed.transpose(1, 2).flatten(2).mean(1)


def _attention(_: Setting, *, wrong: bool) -> Training:
    model = nn.Sequential(_Attention(by_parts=wrong), nn.Linear(_WIDTH, 16))
    return _training(model, (torch.randn(4, 256, _WIDTH), torch.randint(16, (4,))))


def _zeros(setting: Setting, *, wrong: bool) -> Training:
    model = models.Perceptron(_WIDTH, 512, 2, 16)
    rows, labels = models.vectors(setting, 16, _WIDTH, 16)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=not wrong)
        loss = F.cross_entropy(model(rows), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Training(step, model)


class _Unet(nn.Module):
    """Pixels mixed at two sizes: one pooling down, one resizing up."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Conv2d(3, width, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.deep = nn.Conv2d(width, width, 1)
        self.up = nn.Upsample(scale_factor=2, mode="bilinear")
        self.outer = nn.Conv2d(2 * width, 16, 1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        fine = F.relu(self.inner(images))
        coarse = F.relu(self.deep(self.pool(fine)))
        out: torch.Tensor = self.outer(torch.cat([fine, self.up(coarse)], 1))
        return out.mean((2, 3))


def _images(_: Setting, *, wrong: bool) -> Training:
    model, images = _Unet(32), torch.randn(4, 3, 48, 48)
    if not wrong:
        model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        images = images.to(memory_format=torch.channels_last)
    return _training(model, (images, torch.randint(16, (4,))))


def _threads(wrong: int) -> Callable[[Setting], Any]:
    @contextmanager
    def chosen(_: Setting) -> Iterator[None]:
        before = torch.get_num_threads()
        torch.set_num_threads(_TOO_MANY if wrong else 1)
        try:
            yield
        finally:
            torch.set_num_threads(before)

    return chosen


def _wide(setting: Setting, *, wrong: bool) -> Training:
    del wrong
    model = models.Perceptron(_WIDTH, 256, 2, 16)
    return _training(model, models.vectors(setting, 512, _WIDTH, 16))


def _asked(setting: Setting, *, wrong: bool) -> Training:
    """A perceptron whose gradients are asked for one by one, or all at once."""
    model, (rows, classes) = _perceptron(setting, depth=6)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    parameters = list(model.parameters())

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(rows), classes)
        for some in [[each] for each in parameters] if wrong else [parameters]:
            loss.backward(inputs=some, retain_graph=wrong)
        optimizer.step()
        return loss.detach()

    return Training(step, model)


class _Recurrent(nn.Module):
    """A recurrent layer with a normalized weight, computed for each token or once."""

    def __init__(self, *, for_each_token: bool) -> None:
        super().__init__()
        self.cell = nn.utils.parametrizations.weight_norm(nn.Linear(2 * _WIDTH, _WIDTH))
        self.for_each_token = for_each_token

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        state = torch.zeros_like(tokens[:, 0])
        with nullcontext() if self.for_each_token else nn.utils.parametrize.cached():
            for token in tokens.unbind(1):
                state = torch.tanh(self.cell(torch.cat([token, state], 1)))
        return state


def _recurrent(_: Setting, *, wrong: bool) -> Training:
    model = nn.Sequential(_Recurrent(for_each_token=wrong), nn.Linear(_WIDTH, 16))
    return _training(model, (torch.randn(32, 16, _WIDTH), torch.randint(16, (32,))))


class _Members(nn.Module):
    """Mean of eight perceptrons on one batch, each by itself or all by batched products."""

    def __init__(self, *, one_by_one: bool) -> None:
        super().__init__()
        self.one_by_one = one_by_one
        members = [_member() for _ in range(8)]
        if one_by_one:
            self.members = nn.ModuleList(members)
        else:
            stacked, _ = torch.func.stack_module_state(members)
            self.weights = nn.ParameterList(each.detach() for each in stacked.values())

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        if self.one_by_one:
            return torch.stack([member(rows) for member in self.members]).mean(0)
        inner, inner_bias, outer, outer_bias = self.weights
        rows = rows.expand(len(inner), -1, -1)
        rows = F.relu(torch.baddbmm(inner_bias[:, None], rows, inner.mT))
        return torch.baddbmm(outer_bias[:, None], rows, outer.mT).mean(0)


def _member() -> nn.Module:
    return nn.Sequential(nn.Linear(_WIDTH, _WIDTH), nn.ReLU(), nn.Linear(_WIDTH, 16))


def _ensemble(setting: Setting, *, wrong: bool) -> Training:
    return _training(_Members(one_by_one=wrong), models.vectors(setting, 64, _WIDTH, 16))


def _checked(setting: Setting, *, wrong: bool) -> Training:
    del wrong
    return _training(*_perceptron(setting, depth=6))


def _anomalies(wrong: int) -> Callable[[Setting], Any]:
    return lambda _: torch.autograd.set_detect_anomaly(bool(wrong))


SCENARIOS = (
    _scenario(
        "slow_sibling",
        "one of five layers compares all rows of the batch, against none",
        "slow-sibling",
        _layers,
        ("compares", "even"),
        "The finding names layer `2` and the operators that its siblings do not run.",
        module="2",
    ),
    _scenario(
        "python_time",
        "a statistic of the weights by a loop in Python, against operators",
        "python-time",
        _reports,
        ("by_python", "by_operators"),
        "No operator runs for some milliseconds of each forward.",
        module="",
    ),
    _scenario(
        "operator_loop",
        "windows of a row one by one, against all at once",
        "operator-loop",
        _windows,
        ("one_by_one", "at_once"),
        "36 windows of four values each; the nodes of the loop are in its cost.",
        module="1",
        steps=3,
    ),
    _scenario(
        "custom_operator",
        "a custom operator that goes through the elements in Python, against torch's",
        "custom-operator",
        _hinges,
        ("in_python", "of_torch"),
        "An operator of `torch.library`: no operator of torch runs in most of its time.",
        module="1",
    ),
    _scenario(
        "garbage_collection",
        "gc.collect() after each step, against none",
        "garbage-collection",
        _collects,
        ("each_step", "none"),
        "The recorder marks collections; each goes through all objects of the process.",
    ),
    _scenario(
        "threads",
        "64 threads on the cores of this machine, against one",
        "threads-oversubscribed",
        _wide,
        ("oversubscribed", "one"),
        "The manifest has the threads and the cores. What it costs cannot be predicted from a "
        "trace.",
        conditions=_threads,
        # Threads that spin while they wait would keep other processes from the cores.
        environment={"OMP_WAIT_POLICY": "passive"},
        tolerance=1e-3,
    ),
    _scenario(
        "embedding_gradient",
        "dense gradients of 40,000 rows of which 256 are used, against sparse ones",
        "dense-embedding-gradient",
        _dense,
        ("dense", "sparse"),
        "The gradient is filled with zeros, and SGD then updates every row.",
        module="0",
    ),
    _scenario(
        "densified",
        "a sparse gradient made dense before the update, against left sparse",
        "dense-embedding-gradient",
        _densified,
        ("to_dense", "sparse"),
        "aten::to_dense fills 40,000 rows of which 256 are used, and SGD updates all of them.",
    ),
    _scenario(
        "index_put",
        "outputs of experts summed by index_put_ with accumulate=True, against index_add",
        "index-put-sort-kernels",
        _combined,
        ("by_element", "by_row"),
        "An index for each element, of which many repeat, and its backward.",
        module="0",
    ),
    _scenario(
        "double",
        "a perceptron in float64, against float32",
        "fp64-kernels",
        _double,
        ("float64", "float32"),
        "Operators with inputs of type double, which shapes of inputs show.",
        tolerance=1e-3,
    ),
    _scenario(
        "attention",
        "attention by its parts, against scaled_dot_product_attention",
        "attention-unfused",
        _attention,
        ("by_parts", "fused"),
        "A product, a softmax and a product, with their backward.",
        tolerance=1e-3,
    ),
    _scenario(
        "zero_grad",
        "gradients filled with zeros, against set to None",
        "zero-grad-fill",
        _zeros,
        ("zeros", "none"),
        "Each gradient is filled, and then added to in the backward.",
    ),
    _scenario(
        "channels_last",
        "max pooling and bilinear resizing in NCHW, against channels-last",
        "channels-last-on-cpu",
        _images,
        ("nchw", "channels_last"),
        "A small U-Net. The manifest has the layout of the weights; its convolutions take about as "
        "long in either.",
        tolerance=1e-3,
    ),
    _scenario(
        "repeated_backward",
        "gradients of parameters asked for one by one, against all at once",
        "repeated-backward",
        _asked,
        ("one_by_one", "at_once"),
        "The nodes of the last layer are evaluated 16 times, those of the first twice.",
    ),
    _scenario(
        "parametrized",
        "a normalized weight computed for each of 16 tokens, against once per step",
        "parametrization-repeated",
        _recurrent,
        ("for_each_token", "cached"),
        "The weight is a module of its own, called 16 times per step, or once.",
        module="0.cell.parametrizations.weight",
    ),
    _scenario(
        "ensemble",
        "eight equal modules on one batch one after another, against batched products",
        "ensemble-loop",
        _ensemble,
        ("one_by_one", "stacked"),
        "The backward of each member's first layer computes no gradient of its input.",
    ),
    _scenario(
        "anomaly",
        "anomaly detection, against none",
        "debug-apis-on",
        _checked,
        ("on", "off"),
        "Each gradient is tested for NaN; the forward stores a traceback for each node.",
        conditions=_anomalies,
    ),
)
