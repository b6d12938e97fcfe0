"""Drawn models, ways to compile and to call them, and what Dynamo made of each."""

from __future__ import annotations

import gc
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from random import Random
from typing import Any, NamedTuple

import torch
import torch._dynamo
from torch import nn
from torch.utils.hooks import RemovableHandle

import tb_hookview as hookview

SIZE = 4
Call = Callable[..., torch.Tensor]


class Residual(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.inner(x)


class Listed(nn.Module):
    def __init__(self, parts: list[nn.Module]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for part in self.parts:
            x = part(x)
        return x


class Broken(nn.Module):
    """Its graph breaks in the middle."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner, self.after = inner, nn.Linear(SIZE, SIZE)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.inner(x).relu()
        torch._dynamo.graph_break()
        return self.after(x)


class Item(nn.Module):
    """Dynamo cannot trace a branch on a value."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x) if x.sum().item() > -1e9 else x


class Called(nn.Module):
    """Has a `__call__` of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(SIZE, SIZE)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return super().__call__(x)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(x).tanh()


class Subclass(nn.Sequential):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x) * 2


def replaced_forward() -> nn.Module:
    module = nn.Linear(SIZE, SIZE)
    own = module.forward
    module.forward = lambda x: own(x) + 1
    return module


def _linear(_: Random) -> nn.Module:
    return nn.Linear(SIZE, SIZE)


LEAVES: list[Callable[[Random], nn.Module]] = [
    _linear,
    _linear,
    lambda _: nn.ReLU(),
    lambda _: nn.Identity(),
    lambda _: nn.LayerNorm(SIZE),
    lambda _: nn.Dropout(0.0),
    lambda _: Called(),
    lambda _: replaced_forward(),
]


def draw(random: Random, depth: int) -> nn.Module:
    """A module of at most some levels."""
    if depth == 0 or random.random() < 0.2:
        return random.choice(LEAVES)(random)
    parts = [draw(random, depth - 1) for _ in range(random.randint(1, 3))]
    if random.random() < 0.2:
        parts.append(parts[0])  # called twice
    whole = random.choice([nn.Sequential, Subclass, lambda *each: Listed(list(each))])(*parts)
    around = random.choice([None, None, Residual, Broken, Item])
    return whole if around is None else around(whole)


def add_hooks(random: Random, model: nn.Module) -> None:
    """Hooks of the user's on some of the modules."""
    for module in model.modules():
        choice = random.random()
        if choice < 0.06:
            module.register_forward_hook(lambda _, __, out: out * 1)
        elif choice < 0.12:
            module.register_forward_pre_hook(lambda _, args: (args[0] * 1,))
        elif choice < 0.15:
            module.register_full_backward_hook(lambda *_: None)


def whole(model: nn.Module, backend: Call) -> tuple[nn.Module, Call]:
    made = torch.compile(model, backend=backend)
    return made, made


def within(model: nn.Module, backend: Call) -> tuple[nn.Module, Call]:
    """`torch.compile`, where the user wraps the model and calls what was returned."""
    return model, torch.compile(model, backend=backend)


def in_place(model: nn.Module, backend: Call) -> tuple[nn.Module, Call]:
    model.compile(backend=backend)
    return model, model


def parts(model: nn.Module, backend: Call) -> tuple[nn.Module, Call]:
    for name, child in list(model.named_children()):
        if not isinstance(child, nn.ModuleList):
            setattr(model, name, torch.compile(child, backend=backend))
    return model, model


def parts_in_place(model: nn.Module, backend: Call) -> tuple[nn.Module, Call]:
    for module in list(model.modules())[1::2]:
        module.compile(backend=backend)
    return model, model


def function(model: nn.Module, backend: Call) -> tuple[nn.Module, Call]:
    return model, torch.compile(lambda x: model(x) * 2, backend=backend)


def method(model: nn.Module, backend: Call) -> tuple[nn.Module, Call]:
    model.forward = torch.compile(model.forward, backend=backend)
    return model, model


def nested(model: nn.Module, backend: Call) -> tuple[nn.Module, Call]:
    parts_in_place(model, backend)
    return whole(model, backend)


STYLES = [whole, within, in_place, parts, parts_in_place, function, method, nested]
ORDERS = ["wrap, compile", "compile, wrap", "compile, call, wrap"]
RECORDERS = ["nothing", "profile", "torch"]


class Case(NamedTuple):
    seed: int
    style: str
    order: str
    recorder: str
    backend: str
    hooked: bool
    warm: bool


_graphs: list[str] = []


@cache
def noting(name: str) -> Call:
    """A backend that notes each graph it gets: what the keys of caches are made of."""
    compile_graph = torch._dynamo.lookup_backend(name)

    def backend(graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        about = [(each.shape, each.dtype, each.requires_grad) for each in inputs]
        _graphs.append(f"{unnumbered(graph.code)} {about}")
        return compile_graph(graph, inputs)

    return backend


def case(seed: int) -> Case:
    """A drawn case; every style, order and recorder occurs as often."""
    random = Random(seed)
    return Case(
        seed,
        STYLES[seed % len(STYLES)].__name__,
        random.choice(ORDERS),
        random.choice([*RECORDERS, "profile"]),
        "aot_eager" if seed % 5 == 0 else "eager",
        hooked=random.random() < 0.5,
        warm=random.random() < 0.5,
    )


def check(seed: int) -> None:
    """Raise AssertionError where a case makes something else with us than without."""
    each = case(seed)
    without, with_us = (run(each, ours=ours) for ours in (False, True))
    expected, results = without.pop("results"), with_us.pop("results")
    for name, value in without.items():
        assert with_us[name] == value, f"{name} of {each}: {with_us[name]} with us, {value} without"
    assert len(results) == len(expected)
    assert all(map(torch.equal, results, expected))


def run(each: Case, *, ours: bool) -> dict[str, Any]:
    """Compile, call, record and call again; return what Dynamo made and what came out.

    Without garbage collections: callbacks of theirs (hypothesis has one) are frames to Dynamo.
    """
    gc.collect()
    gc.disable()
    try:
        return _run(each, ours=ours)
    finally:
        gc.enable()


def _run(each: Case, *, ours: bool) -> dict[str, Any]:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    _graphs.clear()
    RemovableHandle.next_id = 0  # the numbers of hooks are in guards
    torch.manual_seed(each.seed)
    random = Random(each.seed)
    model = draw(random, random.randint(1, 3))
    if each.hooked:
        add_hooks(random, model)
    results: list[torch.Tensor] = []
    style = next(style for style in STYLES if style.__name__ == each.style)
    wraps = each.recorder != "nothing" or each.seed % 2 == 0
    wrapped = model
    if ours and wraps and each.order == "wrap, compile":
        hookview.wrap(wrapped)
    target, call = style(model, noting(each.backend))
    if each.order == "compile, call, wrap":
        results += train(call, model)
    if ours and wraps and each.order != "wrap, compile":
        wrapped = hookview.wrap(target)
    try:
        if each.warm:
            results += train(call, model)
        with recording(each.recorder, ours=ours):
            results += train(call, model)
            results += train(call, model)
        results += train(call, model)
        return {**made(), "results": [each.detach().clone() for each in results]}
    finally:
        hookview.unwrap(wrapped)


def train(call: Call, model: nn.Module) -> Iterator[torch.Tensor]:
    """Output and gradients of one step."""
    model.zero_grad()
    x = torch.linspace(-1, 1, 2 * SIZE).reshape(2, SIZE).requires_grad_()
    out = call(x)
    out.sum().backward()
    return iter([out, x.grad, *(p.grad for p in model.parameters() if p.grad is not None)])


@contextmanager
def recording(recorder: str, *, ours: bool) -> Iterator[None]:
    """Record as the case says; without us by torch's own profiler."""
    with tempfile.TemporaryDirectory() as folder:
        if recorder == "nothing":
            manager: Any = nullcontext()
        elif recorder == "profile" and ours:
            manager = hookview.profile(folder)
        else:
            manager = torch.profiler.profile()
        with manager:
            yield


_NOT_LOOKED_AT = ("torch/_dynamo/", "torch/fx/", "profiler", "/contextlib.py")
"""Files whose frames are another's matter: of torch's compiler and of its profilers."""


def made() -> dict[str, Any]:
    """Graphs, breaks, guards and frames of all that Dynamo looked at since its reset."""
    counters = torch._dynamo.utils.counters
    frames: Counter[str] = Counter()
    guards: list[tuple[str, int, str]] = []
    for reference in torch._dynamo.convert_frame.input_codes.seen:
        code = reference()
        if code is None or any(part in code.co_filename for part in _NOT_LOOKED_AT):
            continue
        frames[plain(f"{code.co_filename}:{code.co_qualname}")] += 1
        entries = torch._C._dynamo.eval_frame._debug_get_cache_entry_list(code)
        guards += [
            (code.co_qualname, number, plain(str(entry.guard_manager)))
            for number, entry in enumerate(entries)
        ]
    return {
        "graphs": list(_graphs),
        "stats": dict(counters["stats"]),
        "breaks": dict(counters["graph_break"]),
        "frames": {name: dict(counters[name]) for name in ("frames", "inline_call")},
        "seen": dict(frames),
        "guards": sorted(guards),
    }


_NUMBERED = (
    r"\b\d{6,}\b",
    "0x[0-9a-f]+",
    r"\[\d+/\d+\]",
    r"___\w+_\d+_c\d+",
    r"__builtins_dict___\d+",
    r"__compiled_fn_\w+",
    r"__optimizer_\w+",
    r"(?<=<eval_with_key>\.)\d+",
)


_SOURCE_LINE = re.compile(r"  # .*")


def plain(text: str) -> str:
    """Guards without addresses and numbers that count up, in an order that is always the same.

    And without the source line behind each: torch 2.9 names another one from run to run.
    """
    return "\n".join(sorted(unnumbered(_SOURCE_LINE.sub("", text)).splitlines()))


def unnumbered(text: str) -> str:
    """Text without addresses and numbers that count up."""
    return re.sub("|".join(_NUMBERED), "#", text)
