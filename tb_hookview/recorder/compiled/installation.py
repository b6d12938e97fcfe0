"""Wraps the places of torch's compiler that tell which kernel is made from what."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any

import torch

from tb_hookview.after_import import after_import
from tb_hookview.recorder.compiled import compilation, inlined, registry
from tb_hookview.recorder.compiled.compilation import guarded

OLDEST = (2, 10)
"""Version of torch from which on all places exist."""

_COMPILER = "torch._inductor.compile_fx"
_DEBUG = "torch._inductor.debug"
_OUTPUT = "torch._inductor.output_code"
_CALL = "set_kernel_post_grad_provenance_tracing"

_PARAMETERS = {
    (_DEBUG, _CALL): ["node_schedule", "kernel_name", "is_extern"],
    (_COMPILER, "compile_fx"): ["model_", "example_inputs_"],
    (_COMPILER, "_compile_fx_inner"): ["gm", "example_inputs"],
    (_OUTPUT, "CompiledFxGraph.__init__"): ["self", "current_callable", "graph", "gm"],
    (_OUTPUT, "CompiledFxGraph.post_compile"): [
        "self",
        "example_inputs",
        "constants",
        "graph_kwargs",
    ],
}
"""The first parameters that each of them must have."""

_installed = False


def install(report: Callable[[str, Exception, str], None]) -> None:
    """Note what is compiled from now on, or from when torch's compiler is loaded on.

    torch's options, its cache keys and what it makes stay as they are.

    Args:
        report: called with what was done, a fault of ours, and its consequence.
    """
    global _installed
    if _installed:
        return
    _installed = True
    compilation.report = report
    inlined.watch()
    if not is_supported():
        registry.off = f"modules inside compiled regions need torch {OLDEST[0]}.{OLDEST[1]}"
    else:
        after_import(_COMPILER, lambda: guarded(_wrap_all))


def is_supported() -> bool:
    """Return whether this torch is recent enough."""
    numbers = torch.__version__.split(".")[:2]
    return tuple(int(number) for number in numbers if number.isdecimal()) >= OLDEST


def _wrap_all() -> None:
    """Wrap every place, or none."""
    for (module, name), parameters in _PARAMETERS.items():
        function: Any = functools.reduce(getattr, name.split("."), sys.modules.get(module))
        found = list(inspect.signature(function).parameters)[: len(parameters)]
        if found != parameters:
            registry.off = f"this torch has another {name}"
            return
    compiler, debug = sys.modules[_COMPILER], sys.modules[_DEBUG]
    graph = sys.modules[_OUTPUT].CompiledFxGraph
    _wrap_calls(getattr(debug, _CALL))
    graph.__init__ = _noting_graph(graph.__init__)
    graph.post_compile = _registering(graph.post_compile)
    compiler._compile_fx_inner = _around(  # type: ignore[attr-defined]
        compiler._compile_fx_inner, compilation.begin, compilation.end
    )
    _replace(
        compiler.compile_fx,
        _around(compiler.compile_fx, compilation.begin_region, compilation.end_region),
    )


def _wrap_calls(original: Callable[..., Any]) -> None:
    @functools.wraps(original)
    def noting(node_schedule: Any, kernel_name: str, is_extern: bool = False) -> Any:
        guarded(compilation.note_call, node_schedule, kernel_name, extern=is_extern)
        return original(node_schedule, kernel_name, is_extern)

    _replace(original, noting)


def _replace(original: object, replacement: object) -> None:
    """Put a function in the place of another one, in every module of Inductor that has it."""
    name = original.__name__  # type: ignore[attr-defined]
    for module in list(sys.modules.values()):
        is_inductor = getattr(module, "__name__", "").startswith("torch._inductor")
        if is_inductor and vars(module).get(name) is original:
            setattr(module, name, replacement)


def _around(
    original: Callable[..., Any], begin: Callable[[Any], None], end: Callable[[], None]
) -> Callable[..., Any]:
    """Return a function that runs between two of ours; the first gets its first argument."""

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        guarded(begin, *args[:1], *list(kwargs.values())[: not args])
        try:
            return original(*args, **kwargs)
        finally:
            guarded(end)

    return wrapped


def _noting_graph(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def init(
        self: Any, current_callable: Any, graph: Any, gm: Any, *rest: Any, **more: Any
    ) -> None:
        original(self, current_callable, graph, gm, *rest, **more)
        guarded(compilation.make, self, graph, gm)

    return init


def _registering(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def post_compile(self: Any, example_inputs: Any, constants: Any, graph_kwargs: Any) -> None:
        original(self, example_inputs, constants, graph_kwargs)
        backward = bool(graph_kwargs.get("is_backward"))
        guarded(compilation.finish, self, backward=backward)

    return post_compile
